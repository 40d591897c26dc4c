import Glibc

extension OperationsError {
  /// An error of the call just made: `doing` stands before the system's words.
  static func lastCall(_ code: Code, _ doing: String, path: String? = nil) -> OperationsError {
    let number = Glibc.errno
    return OperationsError(
      code, "\(doing): \(String(cString: strerror(number)))", path: path, errno: number)
  }
}
