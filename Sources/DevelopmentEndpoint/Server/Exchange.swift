import Cmicrohttpd

/// One request from its first line to its end. Used by the thread that serves its connection only.
final class Exchange {
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

  init(route: Route, connection: OpaquePointer, buffers: ImageBuffers) {
    self.route = route
    let authorization = mhd_header(connection, "Authorization").map { String(cString: $0) }
    token = authorization.map { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : "" }
    idempotencyKey = mhd_header(connection, "Idempotency-Key").map { String(cString: $0) }
    let contentType = mhd_header(connection, "Content-Type").map { String(cString: $0) } ?? ""
    upload =
      route == .analyze ? MultipartUpload(contentType: contentType, buffer: buffers.take()) : nil
  }

  /// Takes the next bytes of the body.
  func receive(_ bytes: UnsafePointer<CChar>, _ count: Int) {
    let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
    if let upload { return upload.receive(bytes) }
    if body.count + count > Self.bodyLimit {
      bodyTooLarge = true
    } else {
      body.append(contentsOf: bytes)
    }
  }
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
