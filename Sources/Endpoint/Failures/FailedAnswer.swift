internal import HTTPTransfer
import Support

/// An answer that is a failure, by its status or its body.
struct FailedAnswer {
  let status: Int
  let headers: Headers
  let body: [UInt8]
  /// The body's JSON; nil when it has none.
  let value: JSONPart?

  var report: ReportedFailure {
    guard let value else { return ReportedFailure(body: .null) }
    return ReportedFailure(answer: value) ?? ReportedFailure(body: value)
  }

  /// Whether its words may be shown. One of status 2xx may hold what was found in somebody's picture, also where it is
  /// cut off or reports a failure, and so may any other that has conditions.
  var mayBeQuoted: Bool {
    guard !(200...299).contains(status) else { return false }
    return value?["conditions"] == nil
  }

  /// What may be told of it beside the failure; nil where there is nothing.
  var evidence: String? {
    guard !body.isEmpty else { return nil }
    return mayBeQuoted ? Redaction.excerpt(body).map { "It began: \($0)" } : shape
  }
}

// MARK: - The shape

extension FailedAnswer {
  /// The members that an answer of the API may have. No other is named: whoever runs the endpoint chooses the names.
  private static let members = [
    "id", "type", "conditions", "timestamp", "created_at", "user", "user_id", "debug_info", "analysis",
    "analyses",
    "subscription", "token", "success", "error", "error_id", "error_note", "code", "message",
  ]

  private static let contentTypes: Set<String> = [
    "application/json", "application/problem+json", "application/octet-stream", "text/html", "text/plain",
  ]

  /// Status, type and length of an answer, and which members of the API it has.
  private var shape: String {
    "It had status \(status), \(contentType) and \(body.count) bytes\(memberNames)."
  }

  private var contentType: String {
    guard let field = headers["Content-Type"] else { return "no content type" }
    let type = field.prefix { $0 != ";" && $0 != " " }.lowercased()
    return Self.contentTypes.contains(type) ? "the content type \(type)" : "an unusual content type"
  }

  private var memberNames: String {
    guard let value, let count = value.memberCount else { return "" }
    let known = Self.members.filter(value.has)
    let others = count - known.count
    let names = known + (others > 0 ? ["\(others) other\(others == 1 ? "" : "s")"] : [])
    return "; its members: \(names.isEmpty ? "none" : names.joined(separator: ", "))"
  }
}
