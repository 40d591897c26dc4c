import FoundationEssentials
import Support

/// What goes back to a client, and how.
struct Answer: Sendable {
  /// How the body is brought to the client.
  enum Delivery: Sendable {
    case whole
    /// The announced length is this many bytes more than there are.
    case truncated(missing: Int)
    /// So many bytes at a time, with a pause before each piece but the first.
    case dripped(piece: Int, pause: Duration)
    /// The connection is reset; nothing is sent.
    case reset
    /// Nothing is sent until the given time is over, then the connection is closed.
    case never(Duration)
  }

  var status: Int
  var headers: [(name: String, value: String)]
  var body: [UInt8]
  var delivery = Delivery.whole
  /// What statistics and log call it; nil takes the status.
  var outcome: String?

  init(status: Int = 200, contentType: String? = "application/json", body: [UInt8]) {
    self.status = status
    self.body = body
    headers = contentType.map { [("Content-Type", $0)] } ?? []
  }
}

extension Answer {
  /// An answer whose body is the JSON of a value.
  static func json(_ value: some Encodable, status: Int = 200) -> Answer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      return failure(500, "The answer could not be written.", code: "SERVER_ERROR")
    }
    return Answer(status: status, body: [UInt8](data))
  }

  /// The error body of the API: `{error: true, message, code?}`.
  static func failure(
    _ status: Int, _ message: String, code: String? = nil, extra: (inout JSONWriter) -> Void = { _ in }
  ) -> Answer {
    var text = JSONWriter()
    text.raw("{\"error\":true,\"message\":")
    text.string(message)
    if let code {
      text.raw(",\"code\":")
      text.string(code)
    }
    extra(&text)
    text.raw("}")
    return Answer(status: status, body: text.bytes)
  }

  /// A page of HTML.
  static func page(_ status: Int, _ title: String) -> Answer {
    let html =
      "<!DOCTYPE html><html><head><title>\(title)</title></head><body><h1>\(title)</h1></body></html>\n"
    return Answer(status: status, contentType: "text/html", body: Array(html.utf8))
  }

  /// 413 as the upload limit answers it.
  static var imageTooLarge: Answer {
    failure(413, "The image is too large. The limit is 5 MB.", code: "LIMIT_FILE_SIZE") {
      $0.raw(",\"success\":false")
    }
  }

  /// 401 as for a missing, unknown or expired token: it has no code.
  static var unauthorized: Answer { failure(401, "Invalid or expired token.") }

  /// The monthly limit.
  static func limitExceeded(_ status: Int) -> Answer {
    failure(
      status, "You've reached your analysis limit for this month.", code: "ANALYSIS_LIMIT_EXCEEDED")
  }
}
