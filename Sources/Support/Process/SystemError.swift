import Glibc

/// What went wrong with a file, a setting or a call of the system. It never carries a secret or its text.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Sendable {
    /// A file cannot be opened or read.
    case unreadable
    /// A file cannot be made, written, synced or renamed.
    case unwritable
    /// A line of a file is not of the form it should be.
    case syntax
    /// A configuration file has a key that the program does not know.
    case unknownKey
    /// A file with a secret can be read by others.
    case notPrivate
    /// A value is not what it should be.
    case invalid
    /// A call of the system failed.
    case system

  }

  /// The kind of failure.
  public let code: Code
  /// What happened and what to do, without the file and line.
  public let message: String
  /// The file it happened to.
  public let path: String?
  /// The line in that file, from 1.
  public let line: Int?
  /// The system's error number.
  let errno: Int32?

  package init(_ code: Code, _ message: String, path: String? = nil, line: Int? = nil, errno: Int32? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.line = line
    self.errno = errno
  }

  /// The file and line, then what happened there: `worker.conf:3: unknown key …`.
  public var description: String {
    switch (path, line) {
    case (let path?, let line?): "\(printable(path)):\(line): \(message)"
    case (let path?, nil): "\(printable(path)): \(message)"
    default: message
    }
  }
}

extension SystemError {
  /// Whether a disk, or somebody's share of it, is full: there may be room again later.
  public var isFullDisk: Bool { errno == ENOSPC || errno == EDQUOT }

  /// Whether the folder of what was to be written is not there.
  public var isMissingFolder: Bool { errno == ENOENT || errno == ENOTDIR }

  /// An error of the call just made: `doing` stands before the system's message.
  public static func lastCall(_ code: Code, _ doing: String, path: String? = nil) -> SystemError {
    failedCall(code, doing, number: Glibc.errno, path: path)
  }

  /// An error of a call that answers the system's number itself.
  public static func failedCall(
    _ code: Code, _ doing: String, number: Int32, path: String? = nil
  ) -> SystemError {
    SystemError(code, "\(doing): \(String(cString: strerror(number)))", path: path, errno: number)
  }
}
