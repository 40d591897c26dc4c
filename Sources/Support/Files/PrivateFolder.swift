import Glibc

/// Folders that only their owner may look into.
public enum PrivateFolder {
  /// Makes a folder of mode 0700, or makes sure that the one that is there is a folder of this user and closed to
  /// all others. The folder above must be there.
  ///
  /// Throws `unwritable`, `invalid` or `notPrivate`.
  public static func prepare(_ path: String) throws(SystemError) {
    let path = withoutSlash(path)
    if mkdir(path, 0o700) == 0 {
      // The umask may have taken more than it should.
      guard chmod(path, 0o700) == 0 else {
        throw .lastCall(.unwritable, "its permissions cannot be set", path: path)
      }
      return
    }
    guard errno == EEXIST else { throw .lastCall(.unwritable, "the folder cannot be made", path: path) }
    var status = stat()
    guard lstat(path, &status) == 0 else { throw .lastCall(.unwritable, "cannot be looked at", path: path) }
    try check(status, path)
  }

  /// Whether a folder is there; then it is one of this user and closed to all others. Nothing is made.
  ///
  /// Throws `unreadable`, `invalid` or `notPrivate`.
  public static func isThere(_ path: String) throws(SystemError) -> Bool {
    let path = withoutSlash(path)
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw .lastCall(.unreadable, "cannot be looked at", path: path)
    }
    try check(status, path)
    return true
  }

  /// With a slash behind it, a link would be followed: whoever may place one could lead elsewhere what is kept here.
  private static func withoutSlash(_ path: String) -> String {
    var path = path
    while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  private static func check(_ status: stat, _ path: String) throws(SystemError) {
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw SystemError(.invalid, "is not a folder", path: path)
    }
    guard status.st_uid == geteuid() else {
      throw SystemError(
        .notPrivate, "belongs to user \(status.st_uid); it must belong to the user that runs this", path: path
      )
    }
    guard status.st_mode & 0o077 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw SystemError(
        .notPrivate, "keeps private data but has mode 0\(mode); run 'chmod 700' on it", path: path)
    }
  }
}
