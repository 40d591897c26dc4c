/// A JSON value to be written, whose members stay in the order in which they were given. What is read is a `JSONPart`.
public enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A whole number, to its last digit; a number that was read is a `number`.
  case integer(Int64)
  /// A number; one that is not finite is written as null.
  case number(Double)
  case string(String)
  case array([JSONValue])
  /// Names and their values. Names are unique within an object: the reader refuses others.
  case object([Member])
  /// What is JSON already, on one line.
  case raw(String)

  /// A name and its value.
  public struct Member: Equatable, Sendable {
    /// The name.
    public let name: String
    /// The value.
    public let value: JSONValue

    /// A name and its value.
    public init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// A text, or null.
  public static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

  /// Yes, no, or null.
  public static func flag(_ value: Bool?) -> JSONValue { value.map(JSONValue.bool) ?? .null }

  /// A whole number, or null.
  public static func count(_ number: (some BinaryInteger)?) -> JSONValue {
    number.map { .integer(Int64($0)) } ?? .null
  }

  /// The value of a name; nil when this is no object or has no such name, or the value is `null`.
  public subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.name == name {
      if case .null = member.value { return nil }
      return member.value
    }
    return nil
  }

  /// The text; nil for any other value.
  public var text: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The number; nil for any other value.
  public var number: Double? {
    guard case .number(let number) = self else { return nil }
    return number
  }

  /// The JSON on one line; in it every character is printable.
  public var json: String { String(decoding: bytes, as: UTF8.self) }

  /// The JSON on one line, as UTF-8.
  public var bytes: [UInt8] {
    var json = JSONWriter()
    json.value(self)
    return json.bytes
  }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
  /// An object with the names of a literal, which must be unique.
  public init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(members.map { Member(name: $0.0, value: $0.1) })
  }

  /// An array.
  public init(arrayLiteral values: JSONValue...) { self = .array(values) }

  /// A text.
  public init(stringLiteral text: String) { self = .string(text) }

  /// Yes or no.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
}
