import Glibc

extension OperationsError {
  /// Whether a disk, or somebody's share of it, is full: there may be room again later.
  public var isFullDisk: Bool { errno == ENOSPC || errno == EDQUOT }

  /// Whether the folder of what was to be written is not there.
  public var isMissingFolder: Bool { errno == ENOENT || errno == ENOTDIR }

  /// An error of the call just made: `doing` stands before the system's words.
  public static func lastCall(_ code: Code, _ doing: String, path: String? = nil) -> OperationsError {
    let number = Glibc.errno
    return OperationsError(
      code, "\(doing): \(String(cString: strerror(number)))", path: path, errno: number)
  }
}
