/// How a text on the command line, in the environment or in a configuration file becomes a value.
public struct ValueFormat<Value: Sendable>: Sendable {
  /// What stands for the value in help: `N`, `DURATION`.
  public let name: String
  /// What a shell may offer while the value is typed.
  public let completion: CompletionHint
  /// Reads a text; the error says what is wrong with it.
  public let parse: @Sendable (String) throws(ValueError) -> Value
  /// Writes a value the way it would be typed; shown in help as the default.
  public let text: @Sendable (Value) -> String

  /// Makes a format of your own.
  public init(
    name: String,
    completion: CompletionHint = .none,
    parse: @escaping @Sendable (String) throws(ValueError) -> Value,
    text: @escaping @Sendable (Value) -> String
  ) {
    self.name = name
    self.completion = completion
    self.parse = parse
    self.text = text
  }

  /// Makes the format of a type that parses its own text.
  ///
  /// - Parameters:
  ///   - read: Reads a text; nil if the text is not valid.
  ///   - complaint: What is wrong with such a text: "is not a batch's number, such as B17".
  public init(
    name: String, completion: CompletionHint = .none, read: @escaping @Sendable (String) -> Value?,
    else complaint: String, text: @escaping @Sendable (Value) -> String
  ) {
    self.init(
      name: name, completion: completion,
      parse: { (given: String) throws(ValueError) -> Value in
        guard let value = read(given) else { throw ValueError(complaint) }
        return value
      },
      text: text)
  }

  /// The same format with one more condition; `check` returns nil for a fine value, else what is wrong with it.
  public func refined(_ check: @escaping @Sendable (Value) -> String?) -> Self {
    let inner = parse
    return ValueFormat(
      name: name,
      completion: completion,
      parse: { (given: String) throws(ValueError) -> Value in
        let value = try inner(given)
        if let complaint = check(value) { throw ValueError(complaint) }
        return value
      },
      text: text)
  }
}

/// What a shell may offer while a value is being typed.
public enum CompletionHint: Sendable, Equatable {
  /// Nothing can be offered.
  case none
  /// Files and folders.
  case files
  /// Folders only.
  case folders
  /// These words.
  case words([String])
}

/// Why a text is not a value of the wanted kind, as a message for the person who typed it.
public struct ValueError: Error, Sendable, Equatable {
  /// What is wrong and what is accepted, to stand after the text itself: "is not a whole number".
  public let reason: String

  /// Makes an error with its reason.
  public init(_ reason: String) {
    self.reason = reason
  }
}
