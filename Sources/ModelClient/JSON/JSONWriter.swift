/// Writes JSON without blanks, names in the order given.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []

  /// The bytes of a value.
  static func write(_ value: JSONValue) -> [UInt8] {
    var writer = JSONWriter()
    writer.add(value)
    return writer.bytes
  }

  private mutating func add(_ value: JSONValue) {
    switch value {
    case .null: bytes += "null".utf8
    case .bool(let bool): bytes += (bool ? "true" : "false").utf8
    case .number(let number):
      // Doubles print with the fewest digits that read back the same; whole ones lose their ".0".
      if let whole = Int64(exactly: number) { bytes += String(whole).utf8 } else { bytes += "\(number)".utf8 }
    case .string(let text): add(text)
    case .array(let values):
      addList("[", values, "]") { writer, value in writer.add(value) }
    case .object(let members):
      addList("{", members, "}") { writer, member in
        writer.add(member.name)
        writer.bytes.append(UInt8(ascii: ":"))
        writer.add(member.value)
      }
    }
  }

  private mutating func addList<Element>(
    _ open: Unicode.Scalar, _ elements: [Element], _ close: Unicode.Scalar,
    _ add: (inout JSONWriter, Element) -> Void
  ) {
    bytes.append(UInt8(ascii: open))
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      add(&self, element)
    }
    bytes.append(UInt8(ascii: close))
  }

  private mutating func add(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        bytes += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
  /// An object with the names of a literal, which must be unique.
  init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member(name: $0, value: $1) })
  }
}
