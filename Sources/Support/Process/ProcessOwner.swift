import Glibc

/// Under whose account this process runs, and on which machine.
public struct ProcessOwner: Sendable, Equatable {
  /// The name of the effective user; `uid 1000` where the system has none for it.
  public let user: String
  /// The machine's name.
  public let host: String

  /// An owner with its parts.
  public init(user: String, host: String) {
    self.user = user
    self.host = host
  }

  /// This process's own.
  public static func current() -> ProcessOwner {
    ProcessOwner(user: userName(geteuid()), host: hostName())
  }

  /// The number of a user of the system, given by name or as a number; nil where there is none of that name.
  public static func number(ofUser name: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    var record = passwd()
    var buffer = [CChar](repeating: 0, count: 16_384)
    var found: UnsafeMutablePointer<passwd>?
    guard getpwnam_r(name, &record, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return record.pw_uid
  }

  private static func userName(_ id: uid_t) -> String {
    var record = passwd()
    var buffer = [CChar](repeating: 0, count: 16_384)
    var found: UnsafeMutablePointer<passwd>?
    guard getpwuid_r(id, &record, &buffer, buffer.count, &found) == 0, found != nil, let name = record.pw_name
    else { return "uid \(id)" }
    return String(cString: name)
  }

  private static func hostName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
