/// Header fields in their order, with names that are compared without regard to case.
public struct Headers: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// One field.
  public struct Field: Sendable, Equatable {
    /// The name as it was written.
    public let name: String
    /// The value without surrounding blanks.
    public let value: String
  }

  /// The fields in their order.
  public private(set) var fields: [Field] = []

  /// No field.
  public init() {}

  /// The fields of a literal, in its order; a name may come twice.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }

  /// Adds a field behind the others, of the same name too.
  public mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// The value of the last field of a name.
  public subscript(_ name: String) -> String? {
    fields.last { Self.equal($0.name, name) }?.value
  }

  /// The values of all fields of a name, in their order.
  public func all(_ name: String) -> [String] {
    fields.filter { Self.equal($0.name, name) }.map(\.value)
  }

  /// Adds a line's continuation to the last field.
  mutating func continueLast(with text: String) {
    guard let last = fields.popLast() else { return }
    fields.append(Field(name: last.name, value: last.value.isEmpty ? text : last.value + " " + text))
  }

  private static func equal(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
