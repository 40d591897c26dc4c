/// A `multipart/form-data` body (RFC 7578) whose files are sent from where they lie.
public struct Multipart: Sendable {
  private struct Part: Sendable {
    let name: String
    let fileName: String?
    let contentType: String?
    let content: any BodyBytes
  }

  private var parts: [Part] = []
  private let fixedBoundary: String?

  /// An empty form.
  ///
  /// - Parameter boundary: The line between parts, for reproducible bytes; by default one that is drawn at random for all
  ///   forms of the process.
  public init(boundary: String? = nil) {
    fixedBoundary = boundary
  }

  /// Adds a text field.
  public mutating func addText(_ name: String, _ value: String) {
    parts.append(Part(name: name, fileName: nil, contentType: nil, content: Array(value.utf8)))
  }

  /// Adds a file, whose bytes are read while they are sent.
  public mutating func addFile(
    _ name: String, fileName: String, contentType: String, _ bytes: any BodyBytes
  ) {
    parts.append(Part(name: name, fileName: fileName, contentType: contentType, content: bytes))
  }

  /// The form's content type and bytes: alternately text of its own and the files.
  ///
  /// - Throws: `invalidRequest` when there is no part, a content type has a control character, or a given
  ///   boundary is malformed or occurs in a part.
  func encoded() throws(TransferError) -> (contentType: String, segments: [any BodyBytes]) {
    guard !parts.isEmpty else { throw .invalidRequest("the form has no field") }
    let boundary = try checkedBoundary()
    var segments: [any BodyBytes] = []
    segments.reserveCapacity(parts.count * 2 + 1)
    var text: [UInt8] = []
    // What is written round a few short fields fits in; more makes room for itself.
    text.reserveCapacity(512)
    for part in parts {
      Self.append("--", boundary, "\r\nContent-Disposition: form-data; name=\"", to: &text)
      Self.append(Self.escaped(part.name), "\"", to: &text)
      if let fileName = part.fileName {
        Self.append("; filename=\"", Self.escaped(fileName), "\"", to: &text)
      }
      if let contentType = part.contentType {
        guard FieldRules.isValue(contentType), !contentType.isEmpty else {
          throw .invalidRequest("a part's content type has a control character or is empty")
        }
        Self.append("\r\nContent-Type: ", contentType, to: &text)
      }
      Self.append("\r\n\r\n", to: &text)
      if let own = part.content as? [UInt8], part.fileName == nil {
        text += own
      } else {
        segments.append(text)
        segments.append(part.content)
        text = []
      }
      Self.append("\r\n", to: &text)
    }
    Self.append("--", boundary, "--\r\n", to: &text)
    segments.append(text)
    return ("multipart/form-data; boundary=\(boundary)", segments)
  }

  /// Quotes, carriage returns and line feeds are the only characters that could end a name early; they
  /// are written as browsers write them (the WHATWG form encoding), which is what servers expect.
  private static func escaped(_ name: String) -> String {
    guard name.utf8.contains(where: { special.contains($0) }) else { return name }
    var result = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "\"": result += "%22"
      case "\r": result += "%0D"
      case "\n": result += "%0A"
      case "\0": result += "%00"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static let special = Array("\"\r\n\0".utf8)

  /// Appends texts one after the other, without joining them first.
  private static func append(_ texts: String..., to bytes: inout [UInt8]) {
    for text in texts { bytes.append(contentsOf: text.utf8) }
  }
}

// MARK: - Boundary

extension Multipart {
  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  private func checkedBoundary() throws(TransferError) -> String {
    if let fixedBoundary {
      guard Self.isWellFormed(fixedBoundary) else {
        throw .invalidRequest("the boundary must be 1 to 70 letters, digits, '-' or '_'")
      }
      guard !parts.contains(where: { Self.contains($0.content, "--" + fixedBoundary) }) else {
        throw .invalidRequest("the boundary occurs in a part")
      }
      return fixedBoundary
    }
    // With 128 random bits no search through a large file makes a meeting less likely. Texts are short, and
    // so are looked through all the same.
    var boundary = Self.usualBoundary
    while parts.contains(where: { $0.fileName == nil && Self.contains($0.content, boundary) }) {
      boundary = Self.randomBoundary()
    }
    return boundary
  }

  private static let usualBoundary = randomBoundary()

  /// Two calls of the system's generator, each of which is a system call.
  private static func randomBoundary() -> String {
    var generator = SystemRandomNumberGenerator()
    let numbers = [generator.next(), generator.next()]
    return "form-" + numbers.map { String($0, radix: 36) }.joined(separator: "-")
  }

  private static func isWellFormed(_ boundary: String) -> Bool {
    (1...70).contains(boundary.utf8.count)
      && boundary.utf8.allSatisfy {
        alphabet.contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
      }
  }

  private static func contains(_ content: any BodyBytes, _ text: String) -> Bool {
    let needle = Array(text.utf8)
    return content.withUnsafeBytes { bytes in
      guard bytes.count >= needle.count else { return false }
      return (0...(bytes.count - needle.count)).contains { start in
        bytes[start] == needle[0] && bytes[start..<start + needle.count].elementsEqual(needle)
      }
    }
  }
}
