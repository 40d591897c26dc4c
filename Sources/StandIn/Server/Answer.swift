import FoundationEssentials
import Glibc
import HTTPServing
import Support
import Synchronization

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

  static func limitExceeded(_ status: Int) -> Answer {
    failure(
      status, "You've reached your analysis limit for this month.", code: "ANALYSIS_LIMIT_EXCEEDED")
  }
}

/// One request from its first line to its end. Used by the thread that serves its connection only.
final class Exchange: HTTPExchange {
  /// How far the request has come.
  enum Stage {
    case reading
    /// The answer is made and waits for the delay to pass.
    case delayed(Answer)
    /// Nothing will be answered.
    case hung
  }

  /// Uploads whose image has more bytes are refused: the real server's limit begins at 5,242,880.
  static let form = UploadForm(file: "image", field: "type", fileLimit: 5_242_879)
  /// Bytes of a JSON body that are accepted.
  static let bodyLimit = 1 << 20

  let route: Route
  /// The bearer token, if the request has an Authorization header; empty if it is of another kind.
  let token: String?
  let idempotencyKey: String?
  let startedAt = ContinuousClock.now
  let upload: MultipartUpload?
  private(set) var body: [UInt8] = []
  private(set) var bodyTooLarge = false
  var stage = Stage.reading
  /// Uploads that were open when this one began, itself included.
  var inFlight = 0
  private let handler: RequestHandler

  init(route: Route, connection: HTTPConnection, handler: RequestHandler) {
    self.route = route
    self.handler = handler
    let authorization = connection.header("Authorization")
    token = authorization.map { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : "" }
    idempotencyKey = connection.header("Idempotency-Key")
    let contentType = connection.header("Content-Type") ?? ""
    upload =
      route == .analyze
      ? MultipartUpload(Self.form, contentType: contentType, buffer: handler.core.buffers.take()) : nil
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if let upload {
      upload.receive(bytes)
    } else if body.count + bytes.count > Self.bodyLimit {
      bodyTooLarge = true
    } else {
      body.append(contentsOf: bytes)
    }
    return true
  }

  override func advance(_ connection: HTTPConnection) -> Bool { handler.advance(self, connection) }

  override func end() { handler.end(self) }
}

/// A body that is sent in pieces, or not to its end. Used by the thread that serves its connection only.
final class PartialBody: HTTPBodyReader {
  private let bytes: [UInt8]
  /// Bytes for each piece, and the pause before each but the first; nil sends without pauses.
  private let drip: (piece: Int, pause: Duration)?
  private let connection: HTTPConnection
  private let held: HeldConnections
  private var isDue = true

  init(
    _ bytes: [UInt8], drip: (piece: Int, pause: Duration)?, connection: HTTPConnection, held: HeldConnections
  ) {
    self.bytes = bytes
    self.drip = drip
    self.connection = connection
    self.held = held
  }

  override func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Step {
    guard position < bytes.count else { return .broken }
    var count = min(buffer.count, bytes.count - position)
    if let drip {
      if !isDue {
        isDue = true
        // Zero bytes from a suspended connection: the library asks again when it goes on.
        if held.hold(connection, for: drip.pause) { return .bytes(0) }
      }
      isDue = false
      count = min(count, drip.piece)
    }
    bytes.withUnsafeBytes { source in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[position..<position + count]))
    }
    return .bytes(count)
  }
}

/// Storage of images that have been answered, kept for the next ones: fresh memory for each upload would
/// cost a page fault for every 4 KiB of it.
final class ImageBuffers: Sendable {
  private let free = Mutex<[[UInt8]]>([])
  private let most = 64
  private let largest = 1 << 20

  func take() -> [UInt8] {
    free.withLock { $0.popLast() } ?? []
  }

  func giveBack(_ buffer: consuming [UInt8]) {
    var buffer = buffer
    guard buffer.capacity > 0, buffer.capacity <= largest else { return }
    buffer.removeAll(keepingCapacity: true)
    let emptied = buffer
    free.withLock { free in
      if free.count < most { free.append(emptied) }
    }
  }
}
