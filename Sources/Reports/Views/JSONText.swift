/// The little of JSON that reports write.
enum JSONText {
  /// A value of a flat object.
  enum Value: Equatable, Sendable {
    /// Words.
    case text(String)
    /// A whole number.
    case number(Int64)
  }

  /// Appends a flat object on one line.
  static func append(_ fields: [(String, Value)], to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "{"))
    for (index, (key, value)) in fields.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      append(key, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      switch value {
      case .text(let text): append(text, to: &bytes)
      case .number(let number): bytes.append(contentsOf: String(number).utf8)
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends a text in quotation marks, with escapes for what JSON does not let stand.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    append(utf8: text.utf8, to: &bytes)
  }

  /// Appends a text in quotation marks, with escapes for what JSON does not let stand.
  static func append(utf8 text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(0x22)
    for byte in text {
      switch byte {
      case 0x22: bytes.append(contentsOf: [0x5C, 0x22])
      case 0x5C: bytes.append(contentsOf: [0x5C, 0x5C])
      case 0x0A: bytes.append(contentsOf: "\\n".utf8)
      case 0x0D: bytes.append(contentsOf: "\\r".utf8)
      case 0x09: bytes.append(contentsOf: "\\t".utf8)
      case 0x00..<0x20, 0x7F:
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(hexadecimal(byte >> 4))
        bytes.append(hexadecimal(byte & 15))
      default: bytes.append(byte)
      }
    }
    bytes.append(0x22)
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8 {
    digit < 10 ? 0x30 + digit : 0x57 + digit
  }
}
