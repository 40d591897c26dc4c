import Glibc

/// A password or key. It shows itself nowhere; what needs the text asks for it with `reveal()`.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The bytes as they were read.
  public let bytes: [UInt8]

  /// Makes a secret of a text.
  public init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// Makes a secret of bytes, such as a key.
  public init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The secret as text, without the line break that editors put at a file's end.
  public func reveal() -> String {
    var kept = bytes[...]
    if kept.last == UInt8(ascii: "\n") { kept.removeLast() }
    if kept.last == UInt8(ascii: "\r") { kept.removeLast() }
    return String(decoding: kept, as: UTF8.self)
  }

  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Reads files that hold a secret, and refuses those that others could read.
public enum SecretFile {
  private static let largest = 65536

  /// Reads a secret. The file must be a regular one, owned by this user or root, and readable by its owner
  /// alone (mode 0600 or 0400). A bare name is looked for first in the folder that systemd names in
  /// `CREDENTIALS_DIRECTORY`, where the service manager alone decides who may read.
  /// Throws `unreadable`, `notPrivate`, or `invalid` for an empty or over-long file.
  public static func read(
    _ path: String, environment: [String: String] = [:]
  ) throws(SystemError) -> Secret {
    let location = locate(path, environment)
    let bytes = try FileContent.read(location.path, limit: largest) { facts throws(SystemError) in
      try check(facts, location.path, isManaged: location.isManaged)
    }.withoutByteOrderMark
    guard !bytes.isEmpty else { throw SystemError(.invalid, "is empty", path: location.path) }
    return Secret(bytes: bytes)
  }

  private static func locate(
    _ path: String, _ environment: [String: String]
  ) -> (path: String, isManaged: Bool) {
    guard !path.contains("/"), let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty else {
      return (path, false)
    }
    let managed = "\(folder)/\(path)"
    return access(managed, F_OK) == 0 ? (managed, true) : (path, false)
  }

  private static func check(
    _ facts: FileContent.Facts, _ path: String, isManaged: Bool
  ) throws(SystemError) {
    guard facts.isRegular else { throw SystemError(.invalid, "is not a regular file", path: path) }
    // systemd grants the service's user by an access list, whose mask shows as the group's bits.
    let forbidden: UInt32 = isManaged ? 0o037 : 0o077
    guard facts.permissions & forbidden == 0 else {
      let mode = String(facts.permissions & 0o777, radix: 8)
      throw SystemError(
        .notPrivate, "holds a secret but has mode 0\(mode); run 'chmod 600' on it", path: path)
    }
    guard facts.owner == geteuid() || facts.owner == 0 else {
      throw SystemError(
        .notPrivate,
        "holds a secret but belongs to user \(facts.owner); it must belong to the user that runs this",
        path: path)
    }
  }
}
