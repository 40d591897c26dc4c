import Formatting

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
      JSONWriter.append(key, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      switch value {
      case .text(let text): JSONWriter.append(text, to: &bytes)
      case .number(let number): bytes.append(contentsOf: String(number).utf8)
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }
}
