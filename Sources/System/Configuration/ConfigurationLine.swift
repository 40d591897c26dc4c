/// One line of a configuration file.
enum ConfigurationLine {
  struct Fault: Error {
    let code: SystemError.Code
    let message: String

    init(_ code: SystemError.Code, _ message: String) {
      self.code = code
      self.message = message
    }
  }

  /// The key and value of a line; nil for a comment or an empty line.
  static func parse(_ line: Substring) throws(Fault) -> (key: String, value: String)? {
    let content = trimmed(line)
    guard let first = content.first, first != "#" else { return nil }
    guard let equals = content.firstIndex(of: "=") else {
      throw Fault(.syntax, "is not of the form 'key = value'")
    }
    let key = trimmed(content[..<equals])
    let isKey =
      !key.isEmpty && key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    guard isKey else {
      throw Fault(.syntax, "a key consists of letters, digits, '.', '_' and '-'")
    }
    return (String(key), try value(trimmed(content[content.index(after: equals)...])))
  }

  private static func value(_ text: Substring) throws(Fault) -> String {
    if text.first == "\"" { return try quoted(text.dropFirst()) }
    var kept = text
    // A "#" within a word, as in a colour or a URL's fragment, is part of the value.
    if let comment = commentStart(text) { kept = trimmed(text[..<comment]) }
    return String(kept)
  }

  private static func commentStart(_ text: Substring) -> Substring.Index? {
    if text.first == "#" { return text.startIndex }
    return text.indices.first { index in
      text[index] == "#" && index > text.startIndex && isSpace(text[text.index(before: index)])
    }
  }

  private static func quoted(_ text: Substring) throws(Fault) -> String {
    var value = ""
    var rest = text
    while let character = rest.popFirst() {
      switch character {
      case "\"":
        let after = trimmed(rest)
        guard after.isEmpty || after.first == "#" else {
          throw Fault(.syntax, "something stands after the closing quote")
        }
        return value
      case "\\":
        guard let escaped = rest.popFirst(), let meant = escapes[escaped] else {
          throw Fault(.syntax, "after a backslash only \\, \", n and t may stand")
        }
        value.append(meant)
      default: value.append(character)
      }
    }
    throw Fault(.syntax, "the closing quote is missing")
  }

  private static let escapes: [Character: Character] = ["\\": "\\", "\"": "\"", "n": "\n", "t": "\t"]

  static func trimmed(_ text: Substring) -> Substring {
    var rest = text.drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    return rest
  }

  private static func isSpace(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }
}
