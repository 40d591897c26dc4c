import Clinux
import FoundationEssentials
import Support

/// What must never be in a log.
struct SecretSearch: Sendable {
  /// Something to look for.
  struct Secret: Sendable {
    /// What it is, for the report; the secret itself is never told.
    let name: String
    let bytes: [UInt8]

    init(_ name: String, _ text: String) {
      self.init(name, bytes: Array(text.utf8))
    }

    init(_ name: String, bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes
    }
  }

  let secrets: [Secret]

  /// A token of the endpoint is a JSON Web Token: whatever it says, it begins so.
  static let token = Secret("a token", "eyJ")

  /// A piece of an image in the forms in which a log could hold it.
  static func image(_ bytes: [UInt8], at offset: Int) -> [Secret] {
    // Of 24 bytes, whole groups of three: their base64 is the same wherever a base64 text of all begins.
    let place = offset / 3 * 3
    let piece = Array(bytes.dropFirst(place).prefix(24))
    guard piece.count == 24 else { return [] }
    return [
      Secret("image bytes", bytes: piece),
      Secret("image bytes in hexadecimal", Hexadecimal.text(of: piece)),
      Secret("image bytes in base64", Data(piece).base64EncodedString()),
    ]
  }

  /// What is found in a log, one line for each secret.
  func found(in log: [UInt8], of name: String) -> [String] {
    secrets.filter { Self.contains(log, $0.bytes) }.map { "\(name) holds \($0.name)" }
  }

  private static func contains(_ log: [UInt8], _ piece: [UInt8]) -> Bool {
    log.withUnsafeBytes { log in
      piece.withUnsafeBytes { piece in
        guard let text = log.baseAddress, let wanted = piece.baseAddress else { return false }
        return linux_contains(text, log.count, wanted, piece.count)
      }
    }
  }
}
