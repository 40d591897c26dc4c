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
      ? MultipartUpload(contentType: contentType, buffer: handler.core.buffers.take()) : nil
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

/// A header's value with its parameters: `form-data; name="image"; filename="a.jpg"`.
struct HeaderField {
  /// What stands before the parameters, in small letters.
  let value: String
  /// By their names in small letters.
  let parameters: [String: String]

  init(_ text: some StringProtocol) {
    var parts: [String] = [""]
    var isQuoted = false
    var isEscaped = false
    for character in text {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
        continue
      } else if character == "\"" {
        isQuoted.toggle()
        continue
      } else if character == ";", !isQuoted {
        parts.append("")
        continue
      }
      parts[parts.count - 1].append(character)
    }
    value = Self.trimmed(parts[0]).lowercased()
    var parameters: [String: String] = [:]
    for part in parts.dropFirst() {
      guard let equals = part.firstIndex(of: "=") else { continue }
      parameters[Self.trimmed(part[..<equals]).lowercased()] = Self.trimmed(
        part[part.index(after: equals)...])
    }
    self.parameters = parameters
  }

  static func trimmed(_ text: some StringProtocol) -> String {
    let start = text.drop { $0 == " " || $0 == "\t" }
    guard let end = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return String(start[...end])
  }
}
