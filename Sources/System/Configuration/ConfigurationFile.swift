import Formatting

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
    let bytes = try FileContent.read(path, limit: largest)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SystemError(.syntax, "is not UTF-8 text", path: path)
    }
    return try parse(text, path: path, keys: keys)
  }

  /// Reads a text; `path` is for messages.
  public static func parse(
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
    guard let near = nearestKey(to: key, among: keys) else {
      return .init(.unknownKey, "unknown key '\(shown)'")
    }
    return .init(.unknownKey, "unknown key '\(shown)'; did you mean '\(near)'?")
  }
}
