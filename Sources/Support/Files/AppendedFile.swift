import Clinux
import Glibc

/// A file of lines that only grows. Whoever appends need not own it and need not be able to read it: an administrator
/// makes it, best with the attribute that lets nobody shorten it (`chattr +a`).
public enum AppendedFile {
  /// The most bytes of it that are read.
  private static let limit = 1 << 30

  /// Appends a line in one write, so that the lines of several who append at once do not mix. The file is not made.
  ///
  /// Throws `unwritable`, and `notPrivate` where every user of the machine could write it.
  public static func append(_ line: String, to path: String) throws(SystemError) {
    // A link is not followed, and a pipe without a reader is not waited for.
    let descriptor = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw .lastCall(.unwritable, "cannot be opened to append to it", path: path)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw .lastCall(.unwritable, "cannot be looked at", path: path)
    }
    try check(FileContent.Facts(status, descriptor), path)
    let bytes = Array((line + "\n").utf8)
    var count = write(descriptor, bytes, bytes.count)
    while count < 0, errno == EINTR { count = write(descriptor, bytes, bytes.count) }
    guard count >= 0 else { throw .lastCall(.unwritable, "cannot be appended to", path: path) }
    guard count == bytes.count else {
      throw .failedCall(.unwritable, "took a part of a line only", number: ENOSPC, path: path)
    }
  }

  /// Its lines, if it belongs to a user and nobody else could have taken one out.
  ///
  /// Throws `unreadable`, `invalid` where it is too large, and `notPrivate` where others than `owner` could have
  /// changed it: it belongs to another, every user may write it, or a group may that could shorten it.
  public static func lines(of path: String, owner: UInt32) throws(SystemError) -> [String] {
    let bytes = try FileContent.read(path, limit: limit) { (facts) throws(SystemError) in
      try check(facts, path)
      guard facts.owner == owner else {
        throw SystemError(
          .notPrivate, "belongs to user \(facts.owner), and only what user \(owner) keeps counts", path: path)
      }
      guard facts.permissions & 0o020 == 0 || facts.isAppendOnly else {
        throw SystemError(
          .notPrivate, "can be shortened by its group; run 'chattr +a' on it, or 'chmod g-w'", path: path)
      }
    }
    return bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func check(_ facts: FileContent.Facts, _ path: String) throws(SystemError) {
    guard facts.isRegular else { throw SystemError(.unwritable, "is not a file", path: path) }
    guard facts.permissions & 0o002 == 0 else {
      throw SystemError(.notPrivate, "can be written by every user; run 'chmod o-w' on it", path: path)
    }
  }
}

extension FileContent.Facts {
  init(_ status: stat, _ descriptor: Int32) {
    self.init(
      isRegular: status.st_mode & S_IFMT == S_IFREG, permissions: status.st_mode & 0o7777,
      owner: status.st_uid, isAppendOnly: linux_is_append_only(descriptor))
  }
}
