import FoundationEssentials

/// The account by which the worker calls the endpoint's API. Nothing of it shows in a description.
public struct Credentials: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The account's e-mail address.
  public let email: String
  /// The account's password.
  public let password: Secret
  /// The name to register under, where the account may have to be made first.
  public let name: String?

  /// Makes credentials.
  public init(email: String, password: Secret, name: String? = nil) {
    self.email = email
    self.password = password
    self.name = name
  }

  /// Reads a private file (see `SecretFile`) of either JSON, `{"email": …, "password": …}`, or lines
  /// `email = …`, `password = …`; `name` may be added. Throws as `SecretFile.read`, and `syntax`,
  /// `unknownKey` or `invalid` without a word of the content.
  public static func read(
    _ path: String, environment: [String: String] = [:]
  ) throws(SystemError) -> Credentials {
    let text = try SecretFile.read(path, environment: environment).reveal()
    let isObject = text.first { !$0.isWhitespace } == "{"
    return isObject ? try parse(json: text, path) : try parse(lines: text, path)
  }

  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  private struct Object: Decodable {
    let email: String?
    let password: String?
    let name: String?
  }

  private static func parse(json text: String, _ path: String) throws(SystemError) -> Credentials {
    let object: Object
    do {
      object = try JSONDecoder().decode(Object.self, from: Data(text.utf8))
    } catch {
      // The decoder's own message may quote the file.
      throw SystemError(.syntax, "is not a JSON object with the texts email and password", path: path)
    }
    return try make(object.email, object.password, object.name, path)
  }

  private static func parse(lines text: String, _ path: String) throws(SystemError) -> Credentials {
    let file: ConfigurationFile
    do {
      file = try ConfigurationFile.parse(text, path: path, keys: ["email", "password", "name"])
    } catch {
      guard error.code == .unknownKey else { throw error }
      // A line of a wrapped password may look like a key; it must not be shown.
      throw SystemError(
        .unknownKey, "has a key other than email, password and name", path: path, line: error.line)
    }
    let values = file.values
    return try make(values["email"], values["password"], values["name"], path)
  }

  private static func make(
    _ email: String?, _ password: String?, _ name: String?, _ path: String
  ) throws(SystemError) -> Credentials {
    guard let email, !email.isEmpty else { throw SystemError(.invalid, "has no email", path: path) }
    guard let password, !password.isEmpty else {
      throw SystemError(.invalid, "has no password", path: path)
    }
    return Credentials(email: email, password: Secret(password), name: name)
  }
}
