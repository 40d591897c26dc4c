import PostgreSQL
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

/// A reader of the dashboard: asks for pages and sends their forms, with its cookie.
struct PageClient {
  private let served: Served
  private let cookie: String

  init(_ served: Served) throws {
    self.served = served
    cookie = try served.form("/jobs").cookie
  }

  /// A page. Each has at most 100 kB.
  func get(_ path: String, live: Bool = false) throws -> RawClient.Response {
    let answer = try served.get(path, ["Cookie": cookie].merging(live ? ["X-Live": "1"] : [:]) { $1 })
    #expect(answer.body.count <= 100_000, "\(path) has \(answer.body.count) bytes")
    return answer
  }

  /// The values of a form's hidden fields.
  static func fields(_ form: String) -> [(String, String)] {
    form.matches(of: #/<input type="hidden" name="([^"]*)" value="([^"]*)">/#).map {
      (String($0.1), String($0.2))
    }
  }

  /// Whether a page begins with a refusal that is read out, and says what to do next.
  static func isRefusal(_ page: String) -> Bool {
    let notice = #/<div class="notice bad" role="alert">\n<p>[^<]+<\/p>\n<p>[^<]+<\/p>\n<\/div>/#
    guard let title = page.firstRange(of: "</h1>\n"), let found = page.firstMatch(of: notice) else {
      return false
    }
    // What stands between them is not shown.
    return !page[title.upperBound..<found.range.lowerBound].contains(#/<(?!p id="live-state"|\/p>)/#)
  }

  /// Sends the form of a page as it stands there, and reads the page that it leads to.
  func confirm(_ path: String, reason: String? = nil) throws -> RawClient.Response {
    let form = try get(path)
    guard form.status == 200 else { return form }
    let sent = try post(path, Self.fields(form.text) + (reason.map { [("reason", $0)] } ?? []))
    guard sent.status == 303, let location = sent.headers["location"] else { return sent }
    return try get(location)
  }

  /// Sends a form.
  func post(_ path: String, _ fields: [(String, String)]) throws -> RawClient.Response {
    let body = fields.map { "\(percentEncoded($0.0))=\(percentEncoded($0.1))" }.joined(separator: "&")
    return try served.request("POST", path, ["Cookie": cookie], form: body)
  }
}

/// Serves the dashboard of a login to a reader.
func withPages(
  _ database: ConnectionPool,
  openPicture: @escaping @Sendable (ExportedImage) async throws -> [UInt8] = { picture in
    picture.image.bytes.withUnsafeBytes { Array($0) }
  },
  _ body: (PageClient) async throws -> Void
) async throws {
  try await withDashboard(database, openPicture: openPicture) { served in
    try await body(try PageClient(served))
  }
}

/// Entries of the audit, those that are only drafted too, for a FROM clause.
let auditEntries = """
  (SELECT at, role, os_user, host, action, object, reason FROM analysis.audit
   UNION ALL SELECT at, role, os_user, host, action, object, reason FROM analysis.audit_draft) a
  """
