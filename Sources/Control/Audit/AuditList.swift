import CommandLineTool
import FoundationEssentials
import Support

/// `analysisctl audit list`.
enum AuditListCommand {
  static let since = Option<Date?>("since", .time, help: "From this time on.")
  static let until = Option<Date?>("until", .time, help: "Before this time.")
  static let action = Option<String?>(
    "action", .string,
    help: "What was done: report, read_result, cancel, retry, set_plan, rotate_keys, purge and so on.")
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
    help: "What it was done to, as the list names it: job:12, plan:free, key:0f3a5c7e9b1d2468.")
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

  var json: JSONValue {
    ["entries": .array(entries.map(Self.json(of:)))]
  }

  private static func json(of entry: AuditEntry) -> JSONValue {
    [
      "id": entry.id.map(JSONValue.integer) ?? .null, "at": .time(entry.at), "role": .string(entry.role),
      "os_user": .text(entry.user),
      "host": .text(entry.host), "address": .text(entry.address), "action": .string(entry.action),
      "object": .string(entry.object), "reason": .text(entry.reason),
      "detail": entry.detail.map(JSONValue.raw) ?? .null, "hash": .text(entry.hash),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !entries.isEmpty else { return "No entries.\n" }
    var table = Table([
      .init("ENTRY", alignment: .right), .init("AT"), .init("ROLE", shrinks: true),
      .init("USER AND HOST", shrinks: true, mayGo: true),
      .init("ADDRESS", shrinks: true, mayGo: true), .init("ACTION"),
      .init("OBJECT", shrinks: true), .init("REASON", shrinks: true),
    ])
    for entry in entries {
      let who = [entry.user, entry.host].compactMap { $0 }.joined(separator: "@")
      table.add([
        entry.id.map { Cell($0) } ?? Cell("not chained"), Cell(Moment.short(entry.at)), Cell(entry.role),
        Cell(who),
        Cell(entry.address ?? "local"),
        Cell(entry.action), Cell(entry.object), Cell(entry.reason ?? ""),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
