import Support

/// Reads the fields of one object of an answer, and knows the object's path for messages.
///
/// A field that must be there throws where it is missing or wrong. One that need not be there is nil where it is absent,
/// null or not what it should be.
struct AnswerFields {
  /// The longest id or name, in Unicode scalars.
  static let shortLimit = 200
  /// The longest description, advice or symptom.
  static let longLimit = 10_000

  let object: JSONPart
  private let parent: String
  private let index: Int?

  /// The reader of an object.
  ///
  /// - Parameters:
  ///   - path: The object's path, or its list's.
  ///   - index: Its index in the list.
  /// - Throws: `DecodingFailure` when the value is no object.
  init(_ value: JSONPart, path: String, at index: Int? = nil) throws(DecodingFailure) {
    object = value
    parent = path
    self.index = index
    guard value.isObject else { throw DecodingFailure(self.path, "is not an object") }
  }

  /// Written out only for a message: most fields are sound.
  private var path: String { index.map { "\(parent)[\($0)]" } ?? parent }

  subscript(_ name: String) -> JSONPart? { object[name] }

  func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  func missing(_ name: String) -> DecodingFailure { DecodingFailure(path(of: name), "is missing") }

  // MARK: Fields that must be there

  /// A text that must be there and not be blank.
  func requiredText(_ name: String) throws(DecodingFailure) -> String {
    guard let value = self[name] else { throw missing(name) }
    let text = try Self.text(value, path(of: name), limit: Self.shortLimit)
    guard Self.hasInk(text) else { throw DecodingFailure(path(of: name), "is empty") }
    return text
  }

  /// An id that must be there: a text that is not blank, or a whole number, which some databases give out.
  func requiredIdentifier(_ name: String) throws(DecodingFailure) -> String {
    guard let number = self[name]?.number else { return try requiredText(name) }
    // Beyond 2^53 a number of JSON has lost digits, and two ids could fall together.
    guard let whole = Int64(exactly: number), whole.magnitude <= 1 << 53 else {
      throw DecodingFailure(path(of: name), "is not a whole number")
    }
    return String(whole)
  }

  /// The elements of a list that must be there.
  func requiredList(_ name: String, limit: Int) throws(DecodingFailure) -> JSONPart.Elements {
    guard let value = self[name] else { throw missing(name) }
    guard let elements = value.elements else { throw DecodingFailure(path(of: name), "is not a list") }
    guard elements.count <= limit else {
      throw DecodingFailure(path(of: name), "has more than \(limit) entries")
    }
    return elements
  }

  // MARK: Fields that need not be there

  /// The reader of an object within this one.
  func optional(_ name: String) -> AnswerFields? {
    guard let value = self[name] else { return nil }
    return try? AnswerFields(value, path: path(of: name))
  }

  /// A text without control characters.
  func text(_ name: String, limit: Int = longLimit) -> String? {
    guard let value = self[name] else { return nil }
    return try? Self.text(value, path(of: name), limit: limit)
  }

  /// A list of texts: of all, or of none where one of them is odd, since a part of them could mislead.
  func texts(_ name: String, limit: Int) -> [String]? {
    guard let elements = self[name]?.elements, elements.count <= limit else { return nil }
    let texts = elements.compactMap { try? Self.text($0, "", limit: Self.longLimit) }
    return texts.count == elements.count ? texts : nil
  }

  func identifier(_ name: String) -> String? { try? requiredIdentifier(name) }

  func bool(_ name: String) -> Bool? {
    self[name]?.bool
  }

  /// A whole number from 0.
  func count(_ name: String) -> Int? {
    guard let number = self[name]?.number, let whole = Int(exactly: number), whole >= 0 else { return nil }
    return whole
  }

  /// The time under the first of some names that has one.
  func time(_ names: String...) -> Double? {
    for name in names {
      if let time = self[name].flatMap(AnswerTime.read) { return time }
    }
    return nil
  }

  // MARK: Texts

  /// A text without control characters.
  private static func text(
    _ value: JSONPart, _ path: @autoclosure () -> String, limit: Int
  ) throws(DecodingFailure) -> String {
    guard let text = value.text else { throw DecodingFailure(path(), "is not a text") }
    guard text.utf8.count <= limit || text.unicodeScalars.count <= limit else {
      throw DecodingFailure(path(), "is longer than \(limit) characters")
    }
    guard value.isPlainText || !hasControl(text) else {
      throw DecodingFailure(path(), "has a control character")
    }
    return text
  }

  /// Whether there is a control character. Unicode's category of them never changes: U+0000 to U+001F and U+007F to
  /// U+009F (the standard's section 23.1). In UTF-8 those from U+0080 are C2 and a byte up to 9F.
  private static func hasControl(_ text: String) -> Bool {
    var before: UInt8 = 0
    for byte in text.utf8 {
      if byte < 0x20 || byte == 0x7F || before == 0xC2 && byte < 0xA0 { return true }
      before = byte
    }
    return false
  }

  /// Whether there is anything but blanks; most texts begin with a letter, which needs no tables to be seen as one.
  private static func hasInk(_ text: String) -> Bool {
    if let first = text.utf8.first, (0x21...0x7E).contains(first) { return true }
    return text.contains { !$0.isWhitespace }
  }
}

/// Why an answer was not accepted. It is accepted whole or not at all.
public struct DecodingFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// Where in the answer, for instance `conditions[0].confidence`; empty for the answer itself.
  public let path: String
  /// What is wrong, without any of the answer's content.
  let problem: String

  init(_ path: String, _ problem: String) {
    self.path = path
    self.problem = problem
  }

  init(_ failure: JSONFailure) {
    self.init("", "is not JSON that can be used: it \(failure.reason.rawValue), at byte \(failure.offset)")
  }

  /// A sentence with path and problem.
  public var description: String {
    path.isEmpty ? "The answer \(problem)." : "The answer's \(path) \(problem)."
  }
}
