/// File names as texts and back. A name is bytes, which need not be UTF-8: for each byte that is not, a character of its
/// own stands in the text, so that the file is found again and no two names become one.
///
/// The stand-ins are U+EF80 to U+EFFF, of the area for private use. One that a name really has is written by the stand-ins
/// of its three bytes.
public enum FileName {
  private static let standIns: ClosedRange<UInt32> = 0xEF80...0xEFFF
  private static let standInOfZero: UInt32 = 0xEF00

  /// The text of a name.
  public static func text(_ name: some Collection<UInt8>) -> String {
    let bytes = Array(name)
    if let text = String(validating: bytes, as: UTF8.self), !hasStandIn(text) { return text }
    var text = String.UnicodeScalarView()
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var position = 0
    func standIn(for count: Int) {
      for byte in bytes[position..<position + count] {
        if let scalar = Unicode.Scalar(standInOfZero + UInt32(byte)) { text.append(scalar) }
      }
      position += count
    }
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        guard standIns.contains(scalar.value) else {
          text.append(scalar)
          position += encoded.count
          continue
        }
        standIn(for: encoded.count)
      case .error(let length): standIn(for: length)
      case .emptyInput: return String(text)
      }
    }
  }

  /// The name that a text stands for.
  public static func bytes(_ text: String) -> [UInt8] {
    guard hasStandIn(text) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap { scalar in
      standIns.contains(scalar.value)
        ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(String(Character(scalar)).utf8)
    }
  }

  /// The name as a C function takes it, with a zero at its end.
  public static func cString(_ text: String) -> [CChar] {
    bytes(text).map { CChar(bitPattern: $0) } + [0]
  }

  /// The name as it is shown and stored: with U+FFFD where it is not UTF-8.
  public static func shown(_ text: String) -> String {
    hasStandIn(text) ? String(decoding: bytes(text), as: UTF8.self) : text
  }

  private static func hasStandIn(_ text: String) -> Bool {
    text.unicodeScalars.contains { standIns.contains($0.value) }
  }
}
