import CommandLineTool
import FoundationEssentials
import HTTPServing
import Support

enum AuditListCommand {
  static let since = Option<Date?>("since", .time, help: "From this time on.")
  static let until = Option<Date?>("until", .time, help: "Before this time.")
  static let action = Option<String?>(
    "action", .string,
    help: "What was done, as --json names it: report, read_result, cancel, set_plan, purge and so on.")
  static let user = Option<String?>(
    "user", short: "u", .string,
    help: "About this user or their jobs; # and the internal number of one who was erased.")
  static let by = Option<String?>(
    "by", .string,
    help: "By this database role, or by this user of the operating system, which the client chooses.")
  static let role = Option<String?>(
    "by-role", .string, help: "By this database role, as the server saw it.")
  static let object = Option<String?>(
    "object", .string,
    help: "What it was done to, as --json names it: job:12, plan:free, key:0f3a5c7e9b1d2468.")
  static let before = Option<Int?>(
    "before", .int(in: 1...Int.max), help: "Go on before this entry, where the list before ended.")
  static let limit = Option("limit", .int(in: 1...100_000), default: 50, help: "How many at most.")

  static let command = ControlCommand(
    "list", abstract: "List who did what to what, when and why, the latest first.",
    discussion: """
      The role and the address are what the server saw; the user of the operating system and the machine are \
      what the client said. Users appear by their internal number only. An entry that is not in the chain yet has no \
      number.
      """,
    examples: [
      Example("analysisctl audit list", "What was done last."),
      Example("analysisctl audit list --object job:12 --json", "All about one job, for a program."),
      Example("analysisctl audit list --user '#7'", "A user who was erased."),
    ],
    inputs: [since, until, action, user, by, role, object, before, limit],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (filter, limit) = (try filter(context.values), try context[limit])
    return try await context.withSession { session in
      let entries = try await AuditLog(session.database).list(filter, limit: limit)
      try session.view.show(AuditListResponse(entries: entries))
      if entries.count == limit, let last = entries.last {
        if let id = last.id, id > 1 {
          session.view.sayUnlessJSON("There may be more: --before \(id)")
        } else if last.id == nil {
          session.view.sayUnlessJSON("There may be more: give a larger --limit.")
        }
      }
      return .done
    }
  }

  private static func filter(_ values: Values) throws -> AuditFilter {
    AuditFilter(
      since: try values[since]?.timeIntervalSince1970, until: try values[until]?.timeIntervalSince1970,
      action: try values[action], user: try values[user], by: try values[by], role: try values[role],
      object: try values[object],
      before: try values[before].map(Int64.init))
  }
}

/// Entries of the audit.
struct AuditListResponse: Presentable {
  let entries: [AuditEntry]

  private static let columns: [ListColumn<AuditEntry>] = [
    .init("ENTRY", alignment: .right) { Cell($0.id.map(String.init) ?? "not chained") }
      .json("id") { .count($0.id) },
    .init("AT") { Cell(Moment.short($0.at)) }.json("at") { .time($0.at) },
    .init("ROLE", shrinks: true) { Cell($0.role) }.json("role") { .string($0.role) },
    .init("USER AND HOST", shrinks: true, mayGo: true) {
      Cell([$0.user, $0.host].compactMap(\.self).joined(separator: "@"))
    }
    .json("os_user") { .text($0.user) }
    .json("host") { .text($0.host) },
    .init("ADDRESS", shrinks: true, mayGo: true) { Cell($0.address ?? "local") }
      .json("address") { .text($0.address) },
    .init("WHAT", wraps: true, least: 28) { Cell($0.words) }
      .json("action") { .string($0.action) }
      .json("object") { .string($0.object) },
    .init("REASON", shrinks: true) { Cell($0.reason ?? "") }.json("reason") { .text($0.reason) },
    .init(json: "detail") { $0.detail.map(JSONValue.raw) ?? .null },
    .init(json: "hash") { .text($0.hash) },
  ]

  var json: JSONValue { ["entries": entries.json(Self.columns)] }

  func text(width: Int?, paint: Paint) -> String {
    guard !entries.isEmpty else { return "No entries.\n" }
    return entries.table(Self.columns).render(width: width, paint: paint)
  }
}

/// What is searched for in the audit: the form, the query of its address, and a page of what was found.
struct AuditSearch {
  static let most = 25

  /// The fields of the form, by their names in the query.
  private static let fields: [(name: String, label: String, type: HTML)] = [
    ("by", "By login or person", "text"), ("action", "Action", "text"),
    ("object", "Object, as job:12", "text"),
    ("user", "About user", "text"), ("since", "From (UTC)", "datetime-local"),
    ("until", "Before (UTC)", "datetime-local"),
  ]

  private let values: [(name: String, value: String?)]
  let filter: AuditFilter

  /// Reads the query of the page's address.
  init(_ query: FormValues) throws(PageFailure) {
    func value(_ name: String) -> String? { query[name].flatMap { $0.isEmpty ? nil : $0 } }
    values = Self.fields.map { ($0.name, value($0.name)) }
    filter = AuditFilter(
      since: try Self.time(value("since")), until: try Self.time(value("until")), action: value("action"),
      user: value("user"), by: value("by"), object: value("object"), before: try Self.number(value("before")))
  }

  /// `2026-10-01T08:00`, as a browser's field gives it, is of UTC.
  private static func time(_ text: String?) throws(PageFailure) -> Double? {
    guard let text else { return nil }
    guard let time = WrittenTime(text)?.secondsSince1970 ?? WrittenTime(text + "Z")?.secondsSince1970 else {
      throw .invalid("The time is not one such as 2026-10-01T08:00.")
    }
    return time
  }

  private static func number(_ text: String?) throws(PageFailure) -> Int64? {
    guard let text else { return nil }
    guard let number = Int64(text), number > 0 else { throw .invalid("An entry has a number from 1 on.") }
    return number
  }

  var form: HTML {
    """
    <form class="filters" method="get" action="/audit">
    \(zip(Self.fields, values).map { field, value in Self.input(field, value.value) })\
    <p><button>Search</button> <a href="/audit">All</a></p>
    </form>
    """
  }

  private static func input(_ field: (name: String, label: String, type: HTML), _ value: String?) -> HTML {
    """
    <p><label for="\(field.name)">\(field.label)</label>
    <input id="\(field.name)" name="\(field.name)" type="\(field.type)" value="\(value ?? "")" maxlength="200"></p>

    """
  }

  /// A page of entries, the latest first.
  func table(_ entries: [AuditEntry]) -> HTML {
    var table = DataTable(
      "Entries, the latest first",
      [
        .init("Entry", isNumber: true), .init("At"), .init("Login"), .init("Person and machine"),
        .init("What"), .init("Reason"),
      ], empty: "No entry is like that.")
    for entry in entries {
      let who = [entry.user, entry.host].compactMap(\.self).joined(separator: "@")
      table.add([
        "\(entry.id.map(String.init) ?? "not chained")", .time(entry.at), "\(entry.role)", "\(who)",
        entry.html, "\(entry.reason ?? "")",
      ])
    }
    let isFull = entries.count == Self.most && entries.last?.id.map { $0 > 1 } ?? false
    let next = values + [("before", entries.last?.id.map { String($0) })]
    let paging: HTML = isFull ? "<p class=\"paging\">\(HTML.link("/audit", next, "Older entries"))</p>" : ""
    return "\(table.html)\(paging)"
  }
}

enum AuditCommand {
  static let command = ControlCommand(
    "audit", abstract: "Show who did what, and verify that nothing of it was changed.",
    examples: [
      Example("analysisctl audit list --user u1", "What was done to a user and their jobs."),
      Example("analysisctl audit list --action report --since 2026-11-01T00:00:00Z", "Who read diagnoses."),
      Example("analysisctl audit verify", "Whether the record is whole; prints its end."),
      Example("analysisctl audit keep --audit-ends journal", "Keep its end outside of the database."),
    ],
    subcommands: [AuditListCommand.command, AuditVerifyCommand.command, AuditKeepCommand.command])
}
