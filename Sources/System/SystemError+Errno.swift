import Glibc

extension SystemError {
  /// Whether a disk, or somebody's share of it, is full: there may be room again later.
  public var isFullDisk: Bool { errno == ENOSPC || errno == EDQUOT }

  /// Whether the folder of what was to be written is not there.
  public var isMissingFolder: Bool { errno == ENOENT || errno == ENOTDIR }

  /// An error of the call just made: `doing` stands before the system's words.
  public static func lastCall(_ code: Code, _ doing: String, path: String? = nil) -> SystemError {
    let number = Glibc.errno
    return SystemError(
      code, "\(doing): \(String(cString: strerror(number)))", path: path, errno: number)
  }
}
