/// Reads the fields of one object of an answer, each checked, and knows the object's place for messages.
struct FieldReader {
  /// The longest id or name, in Unicode scalars.
  static let shortLimit = 200
  /// The longest description, advice or symptom.
  static let longLimit = 10_000

  let object: JSONValue
  let path: String

  /// The reader of an object.
  ///
  /// - Throws: `DecodingFailure` when the value is no object.
  init(_ value: JSONValue, path: String) throws(DecodingFailure) {
    guard case .object = value else { throw DecodingFailure(path, "is not an object") }
    object = value
    self.path = path
  }

  subscript(_ name: String) -> JSONValue? { object[name] }

  func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  func missing(_ name: String) -> DecodingFailure { DecodingFailure(place(name), "is missing") }

  /// A text without control characters, or nil when it is absent or null.
  func text(_ name: String, limit: Int = longLimit) throws(DecodingFailure) -> String? {
    guard let value = self[name] else { return nil }
    return try Self.text(value, place(name), limit: limit)
  }

  /// A text under either of two names.
  func text(_ name: String, or other: String) throws(DecodingFailure) -> String? {
    self[name] == nil ? try text(other) : try text(name)
  }

  /// A text that must be there and not be blank.
  func requiredText(_ name: String) throws(DecodingFailure) -> String {
    guard let text = try text(name, limit: Self.shortLimit) else { throw missing(name) }
    guard text.contains(where: { !$0.isWhitespace }) else { throw DecodingFailure(place(name), "is empty") }
    return text
  }

  /// An id: a text that is not blank, or a whole number, which some databases give out.
  func identifier(_ name: String) throws(DecodingFailure) -> String? {
    guard let value = self[name] else { return nil }
    guard case .number(let number) = value else { return try requiredText(name) }
    // Beyond 2^53 a number of JSON has lost digits, and two ids could fall together.
    guard let whole = Int64(exactly: number), whole.magnitude <= 1 << 53 else {
      throw DecodingFailure(place(name), "is not a whole number")
    }
    return String(whole)
  }

  /// An id under either of two names.
  func identifier(_ name: String, or other: String) throws(DecodingFailure) -> String? {
    self[name] == nil ? try identifier(other) : try identifier(name)
  }

  /// An id that must be there.
  func requiredIdentifier(_ name: String) throws(DecodingFailure) -> String {
    guard let id = try identifier(name) else { throw missing(name) }
    return id
  }

  /// A truth value, or nil when it is absent or null.
  func bool(_ name: String) throws(DecodingFailure) -> Bool? {
    switch self[name] {
    case nil: return nil
    case .bool(let bool)?: return bool
    default: throw DecodingFailure(place(name), "is not true or false")
    }
  }

  /// A whole number from 0, or nil when it is absent or null.
  func count(_ name: String) throws(DecodingFailure) -> Int? {
    guard let value = self[name] else { return nil }
    guard let number = value.number, let whole = Int(exactly: number), whole >= 0 else {
      throw DecodingFailure(place(name), "is not a whole number from 0")
    }
    return whole
  }

  /// The time under the first of some names that is there, or nil.
  func time(_ names: String...) throws(DecodingFailure) -> Double? {
    for name in names {
      guard let value = self[name] else { continue }
      guard let time = Timestamp.read(value) else {
        throw DecodingFailure(place(name), "is not a time (ISO 8601 with its zone, or seconds since 1970)")
      }
      return time
    }
    return nil
  }

  /// The elements of a list, or nil when it is absent or null.
  func list(_ name: String, limit: Int) throws(DecodingFailure) -> [JSONValue]? {
    guard let value = self[name] else { return nil }
    guard case .array(let elements) = value else { throw DecodingFailure(place(name), "is not a list") }
    guard elements.count <= limit else {
      throw DecodingFailure(place(name), "has more than \(limit) entries")
    }
    return elements
  }

  /// A text without control characters.
  static func text(_ value: JSONValue, _ place: String, limit: Int) throws(DecodingFailure) -> String {
    guard let text = value.text else { throw DecodingFailure(place, "is not a text") }
    guard text.utf8.count <= limit || text.unicodeScalars.count <= limit else {
      throw DecodingFailure(place, "is longer than \(limit) characters")
    }
    guard !text.unicodeScalars.contains(where: isControl) else {
      throw DecodingFailure(place, "has a control character")
    }
    return text
  }

  /// Unicode's category of control characters never changes: these two ranges (the standard's section 23.1).
  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
  }
}
