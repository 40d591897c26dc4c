import HTTPServing

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
