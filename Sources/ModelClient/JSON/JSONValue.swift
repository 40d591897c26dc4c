/// A JSON value, read strictly.
enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// A name and its value. Names are unique within an object: the reader refuses others.
  struct Member: Equatable, Sendable {
    let name: String
    let value: JSONValue
  }

  /// The value of a name; nil when this is no object or has no such name, or the value is `null`.
  subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.name == name {
      if case .null = member.value { return nil }
      return member.value
    }
    return nil
  }

  /// The text; nil for any other value.
  var text: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The number; nil for any other value.
  var number: Double? {
    guard case .number(let number) = self else { return nil }
    return number
  }
}
