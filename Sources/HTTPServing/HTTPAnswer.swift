public import Support

/// What goes back to a client.
public struct HTTPAnswer: Sendable {
  /// The status.
  public var status: Int
  var contentType: String
  /// The body.
  public var body: [UInt8]
  /// What the answer may load and send where a browser shows it (`Content-Security-Policy`).
  public var policy = "default-src 'none'; frame-ancestors 'none'"
  /// Further headers. Whoever puts something of a request in here has looked at it: a value with a line break is left
  /// out.
  public var headers: [(name: String, value: String)] = []
  /// What is kept until the body was sent, or its client has gone: the place that it takes.
  public var kept: (any Sendable)?
  /// Where the body is events that come as they happen, and what is called when somebody listens; `body` is not sent then.
  var events: (source: HTTPEvents, topic: String, opened: @Sendable () -> Void, closed: @Sendable () -> Void)?

  /// An answer with its parts.
  public init(_ status: Int = 200, contentType: String, body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A line of text.
  public static func text(_ status: Int, _ line: String) -> HTTPAnswer {
    HTTPAnswer(status, contentType: "text/plain; charset=utf-8", body: Array((line + "\n").utf8))
  }

  /// A JSON value.
  public static func json(_ status: Int, _ value: JSONValue) -> HTTPAnswer {
    HTTPAnswer(status, contentType: "application/json", body: value.bytes + Array("\n".utf8))
  }

  /// Sends a browser to another page of this server, by GET, as after a form.
  public static func redirect(to path: String) -> HTTPAnswer {
    var answer = text(303, "The page is at \(path).")
    answer.headers.append(("Location", path))
    return answer
  }

  /// Events as they happen, until the client goes or the server stops.
  ///
  /// - Parameters:
  ///   - topic: What the client listens to.
  ///   - opened: Called when the client is among the listeners.
  ///   - closed: Called when it is not any more.
  public static func events(
    _ source: HTTPEvents, topic: String = "", opened: @escaping @Sendable () -> Void = {},
    closed: @escaping @Sendable () -> Void = {}
  ) -> HTTPAnswer {
    var answer = HTTPAnswer(contentType: "text/event-stream", body: [])
    answer.events = (source, topic, opened, closed)
    // A proxy that keeps an answer until it is whole would never pass this one on.
    answer.headers = [("X-Accel-Buffering", "no")]
    return answer
  }

  /// What statuses are called, of those that are sent so.
  private static let phrases = [
    400: "Bad Request", 408: "Request Timeout", 413: "Content Too Large",
    431: "Request Header Fields Too Large",
  ]

  /// The answer as it is sent where the library cannot be asked to send it.
  var wholeText: [UInt8] {
    let lines = allHeaders + [("Content-Length", String(body.count))]
    let head = lines.map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("HTTP/1.1 \(status) \(Self.phrases[status] ?? "Refused")\r\n\(head)\r\n".utf8) + body
  }

  var allHeaders: [(name: String, value: String)] {
    [
      ("Content-Type", contentType), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
      ("Content-Security-Policy", policy),
    ] + headers.filter { $0.value.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
  }
}

/// Why a server does not do what a client asks for, before anything has been done.
public struct HTTPRefusal: Sendable, Error {
  /// The status.
  public let status: Int
  /// What happened, in a sentence.
  public let sentence: String
  /// Further headers.
  public var headers: [(name: String, value: String)] = []

  init(_ status: Int, _ sentence: String, closes: Bool = false) {
    self.status = status
    self.sentence = sentence
    if closes { headers.append(("Connection", "close")) }
    if status == 503 { headers.append(("Retry-After", "1")) }
  }

  /// As a line of text.
  public static func text(_ refusal: HTTPRefusal) -> HTTPAnswer { .text(refusal.status, refusal.sentence) }
}
