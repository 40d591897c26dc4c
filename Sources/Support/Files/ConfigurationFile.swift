/// The settings of a program, read from a file of `key = value` lines.
///
/// ```
/// # a comment
/// concurrency = 64
/// endpoint = "https://analysis.example/api"   # quotes are needed around a " #" or outer spaces
/// ```
/// Within double quotes `\"`, `\\`, `\n` and `\t` mean what they usually do. A key that stands twice or that
/// the program does not know is an error: a misspelt limit must not go unnoticed.
public struct ConfigurationFile: Sendable, Equatable {
  /// A value and where it stands.
  public struct Entry: Sendable, Equatable {
    /// The value without quotes.
    public let value: String
    /// From 1.
    public let line: Int
  }

  /// The file's path.
  public let path: String
  /// Values by key.
  public let entries: [String: Entry]

  /// The values alone.
  public var values: [String: String] { entries.mapValues(\.value) }

  private static let largest = 1 << 20

  /// Reads a file; every key must be one of `keys`. Throws `unreadable`, `syntax` or `unknownKey`.
  public static func read(_ path: String, keys: Set<String>) throws(SystemError) -> ConfigurationFile {
    let bytes = try FileContent.read(path, limit: largest).withoutByteOrderMark
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SystemError(.syntax, "is not UTF-8 text", path: path)
    }
    return try parse(text, path: path, keys: keys)
  }

  /// Reads a text; `path` is for messages.
  package static func parse(
    _ text: String, path: String, keys: Set<String>
  ) throws(SystemError) -> ConfigurationFile {
    var entries: [String: Entry] = [:]
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, content) in lines.enumerated() {
      let line = index + 1
      do throws(ConfigurationLine.Fault) {
        guard let (key, value) = try ConfigurationLine.parse(content) else { continue }
        guard keys.contains(key) else { throw unknown(key, keys) }
        if let earlier = entries[key] {
          throw ConfigurationLine.Fault(.syntax, "'\(key)' already stands in line \(earlier.line)")
        }
        entries[key] = Entry(value: value, line: line)
      } catch {
        throw SystemError(error.code, error.message, path: path, line: line)
      }
    }
    return ConfigurationFile(path: path, entries: entries)
  }

  private static func unknown(_ key: String, _ keys: Set<String>) -> ConfigurationLine.Fault {
    let shown = printable(key, limit: 60)
    guard let near = nearest(to: key, among: keys.sorted()) else {
      return .init(.unknownKey, "unknown key '\(shown)'")
    }
    return .init(.unknownKey, "unknown key '\(shown)'; did you mean '\(near)'?")
  }
}

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
