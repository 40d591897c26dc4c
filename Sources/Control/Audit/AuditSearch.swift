import HTTPServing
import Support

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
        .init("Action"), .init("Object"), .init("Reason"),
      ], empty: "No entry is like that.")
    for entry in entries {
      let who = [entry.user, entry.host].compactMap(\.self).joined(separator: "@")
      table.add([
        "\(entry.id.map(String.init) ?? "not chained")", .time(entry.at), "\(entry.role)", "\(who)",
        "\(entry.action)", "\(entry.object)",
        "\(entry.reason ?? "")",
      ])
    }
    let isFull = entries.count == Self.most && entries.last?.id.map { $0 > 1 } ?? false
    let next = values + [("before", entries.last?.id.map { String($0) })]
    let paging: HTML = isFull ? "<p class=\"paging\">\(HTML.link("/audit", next, "Older entries"))</p>" : ""
    return "\(table.html)\(paging)"
  }
}
