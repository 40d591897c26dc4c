/// Appends JSON to bytes, piece by piece; whoever calls it is answerable for the order of the pieces.
public struct JSONWriter {
  /// What has been written.
  public private(set) var bytes: [UInt8]

  /// A writer that goes on after some bytes.
  public init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
  }

  /// Makes room for so many more bytes.
  public mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

  /// Appends what is JSON already.
  mutating func raw(_ json: StaticString) {
    json.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  /// Appends what is JSON already.
  public mutating func raw(_ json: String) { bytes.append(contentsOf: json.utf8) }

  /// Appends what is JSON already.
  public mutating func raw(_ json: [UInt8]) { bytes.append(contentsOf: json) }

  /// Appends a text in quotation marks.
  public mutating func string(_ text: String) { Self.append(text, to: &bytes) }

  /// Appends a truth value.
  public mutating func boolean(_ value: Bool) { raw(value ? "true" as StaticString : "false") }

  /// Appends an array, each of whose elements the caller writes.
  public mutating func array<Element>(_ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
    bytes.append(UInt8(ascii: "["))
    var isFirst = true
    for element in elements {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      write(&self, element)
    }
    bytes.append(UInt8(ascii: "]"))
  }
}

// MARK: - Values

extension JSONWriter {
  /// Appends a value.
  public mutating func value(_ value: JSONValue) {
    switch value {
    case .null: raw("null")
    case .bool(let bool): boolean(bool)
    case .integer(let number): raw(String(number))
    // Doubles print with the fewest digits that are read back as the same number.
    case .number(let number): raw(number.isFinite ? "\(number)" : "null")
    case .string(let text): string(text)
    case .array(let values): array(values) { $0.value($1) }
    case .object(let members):
      raw("{")
      for (index, member) in members.enumerated() {
        if index > 0 { raw(",") }
        string(member.name)
        raw(":")
        self.value(member.value)
      }
      raw("}")
    case .raw(let json): foreign(json)
    }
  }
}

// MARK: - Texts

extension JSONWriter {
  /// Appends a text in quotation marks. What JSON does not let stand, and every character that is not printable, is
  /// written by its number.
  public static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { append(utf8: $0, to: &bytes) }
  }

  /// Appends a text in quotation marks from its UTF-8; what is not UTF-8 becomes U+FFFD.
  public static func append(utf8 text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    append(text, to: &bytes) {
      (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends somebody else's JSON, with its white space; its texts show nothing but what is printable.
  mutating func foreign(_ json: String) {
    var json = json
    // A text of JSON holds no character below the space, so those are between its values.
    json.withUTF8 { Self.append($0, to: &bytes) { $0 != 0x7F } }
  }

  /// Copies what is printable, of ASCII what `isCopied` says, and escapes what is between.
  private static func append(
    _ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8], isCopied: (UInt8) -> Bool
  ) {
    var (start, index) = (0, 0)
    while index < text.count {
      if text[index] < 0x80, isCopied(text[index]) {
        index += 1
        continue
      }
      let (scalar, length) = character(of: text, at: index)
      if text[index] < 0x80 || scalar == nil || scalar?.isPrintable == false {
        bytes.append(contentsOf: text[start..<index])
        escape(scalar ?? "\u{FFFD}", to: &bytes)
        start = index + length
      }
      index += length
    }
    bytes.append(contentsOf: text[start...])
  }

  /// The character that begins at an index and how many bytes it has; nil for bytes that are no UTF-8.
  private static func character(
    of text: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (scalar: Unicode.Scalar?, length: Int) {
    var parser = Unicode.UTF8.ForwardParser()
    var rest = text[index...].makeIterator()
    return switch parser.parseScalar(from: &rest) {
    case .valid(let bytes): (Unicode.UTF8.decode(bytes), bytes.count)
    case .error(let length): (nil, length)
    case .emptyInput: (nil, 1)
    }
  }

  private static func escape(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar {
    case "\"": bytes += "\\\"".utf8
    case "\\": bytes += "\\\\".utf8
    case "\n": bytes += "\\n".utf8
    case "\r": bytes += "\\r".utf8
    case "\t": bytes += "\\t".utf8
    default:
      for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
        let digits = String(unit, radix: 16)
        bytes += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
      }
    }
  }
}
