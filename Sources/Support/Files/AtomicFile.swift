import Clinux
import Glibc

/// The one writer of what a user names as output. A file appears whole or not at all: it is written beside its place,
/// synced, renamed, and the folder is synced too. Dropped without `commit()`, it leaves nothing behind.
///
/// Of a link the target is replaced. A pipe, a terminal and any other device but a disk, and what the process has open
/// itself (`/dev/stdout`), is written to as the bytes come. Anything else is refused.
public struct AtomicFile: ~Copyable {
  /// As the user named it.
  private let path: String
  /// Where the file will be, and where it is until then; nil for what is written to as it is.
  private let place: (target: String, temporary: String)?
  private let descriptor: Int32
  private let isSynced: Bool
  private var buffer: [UInt8] = []
  private var hash = SHA256()
  private var isCommitted = false

  private static let bufferSize = 65536
  private static let ending = ".tmp"
  private static let radix = 36

  /// Whether a name is such as a file has that is not in its place yet, or that a program left when it was killed.
  public static func isUnfinished(_ name: String) -> Bool {
    guard name.hasPrefix("."), name.hasSuffix(ending), name.utf8.count > 1 + ending.utf8.count else {
      return false
    }
    let number = name.dropFirst().dropLast(ending.utf8.count)
    return number == number.lowercased() && UInt64(number, radix: radix) != nil
  }

  /// Starts a file that will be at `path`, with the given permissions whatever the umask is.
  ///
  /// With `isSynced` false it is not waited for until it is on the disk: after a crash of the machine it may be
  /// missing or damaged, which a cache can bear.
  /// Throws `unwritable`.
  public init(_ path: String, mode: UInt32 = 0o600, isSynced: Bool = true) throws(SystemError) {
    let target = try Self.target(of: path)
    let made =
      if let target { try Self.make(beside: target, mode, path) } else { (try Self.stream(path), "") }
    self.path = path
    descriptor = made.0
    place = target.map { ($0, made.1) }
    self.isSynced = isSynced && target != nil
  }

  /// Makes a file beside the place where it will be, and says what it is called.
  private static func make(
    beside target: String, _ mode: UInt32, _ path: String
  ) throws(SystemError) -> (Int32, String) {
    let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
    // Short and not made of the target's name, which may be as long as a name can be.
    let temporary = "\(folder).\(String(UInt64.random(in: .min ... .max), radix: radix))\(ending)"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .lastCall(.unwritable, "cannot be written", path: path) }
    guard fchmod(descriptor, mode) == 0 else {
      let error = SystemError.lastCall(.unwritable, "its permissions cannot be set", path: path)
      close(descriptor)
      unlink(temporary)
      throw error
    }
    return (descriptor, temporary)
  }

  deinit {
    close(descriptor)
    if !isCommitted, let place { unlink(place.temporary) }
  }

  /// Whether a file is made at the path, and not something written to that is there. Throws `unwritable`.
  public static func isFile(_ path: String) throws(SystemError) -> Bool { try target(of: path) != nil }

  /// Tries whether the path could be written, and leaves all as it is. A pipe or device stays open until the program
  /// ends, or the pipe's reader would see an end. Throws `unwritable`.
  public static func check(_ path: String) throws(SystemError) {
    if try isFile(path) { _ = try AtomicFile(path, isSynced: false) } else { _ = try stream(path) }
  }

  /// Appends a text in UTF-8. Throws `unwritable`.
  public mutating func write(_ text: String) throws(SystemError) {
    try write(Array(text.utf8))
  }

  /// Appends bytes. Throws `unwritable`.
  public mutating func write(_ bytes: [UInt8]) throws(SystemError) {
    try write(bytes.span.bytes)
  }

  /// Appends bytes. Throws `unwritable`.
  public mutating func write(_ bytes: RawSpan) throws(SystemError) {
    byteCount += bytes.byteCount
    hash.update(bytes)
    if buffer.isEmpty, bytes.byteCount >= Self.bufferSize {
      // Large enough as it is.
      try flush(bytes)
    } else {
      bytes.withUnsafeBytes { buffer.append(contentsOf: $0) }
      if buffer.count >= Self.bufferSize { try flush() }
    }
  }

  /// How many bytes were appended so far.
  public private(set) var byteCount = 0

  /// The SHA-256 of the bytes appended so far, in lower-case hexadecimal.
  public var sha256: String { Hexadecimal.text(of: hash.digest) }

  /// Puts the file in its place. Throws `unwritable`; then the place is as it was before, except where only
  /// the folder's sync failed.
  public consuming func commit() throws(SystemError) -> WrittenFile {
    try flush()
    guard !isSynced || fsync(descriptor) == 0 else {
      throw .lastCall(.unwritable, "cannot be synced to disk", path: path)
    }
    if let place {
      guard rename(place.temporary, place.target) == 0 else {
        throw .lastCall(.unwritable, "cannot be put in its place", path: path)
      }
      isCommitted = true
      if isSynced { try Self.syncFolder(of: place.target) }
    }
    return WrittenFile(path: path, byteCount: byteCount, sha256: sha256)
  }

  private mutating func flush() throws(SystemError) {
    try flush(buffer.span.bytes)
    buffer.removeAll(keepingCapacity: true)
  }

  private func flush(_ bytes: RawSpan) throws(SystemError) {
    var done = 0
    while done < bytes.byteCount {
      let count = bytes.withUnsafeBytes { bytes in
        Glibc.write(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .lastCall(.unwritable, "cannot be written", path: path) }
      done += count
    }
  }

  /// Where the file at a path will be, behind the links on its way; nil for what is written to as it is.
  private static func target(of path: String) throws(SystemError) -> String? {
    var status = stat()
    // The system follows no link that another user has put into a folder of everybody's.
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT || path.isEmpty else {
        throw .lastCall(.unwritable, "cannot be written", path: path)
      }
      return try end(of: path)
    }
    switch status.st_mode & S_IFMT {
    case S_IFCHR, S_IFIFO: return nil
    case S_IFREG: return isOpened(path) ? nil : try end(of: path)
    case S_IFDIR: throw SystemError(.unwritable, "is a folder; name a file", path: path)
    default: throw SystemError(.unwritable, "is no file and no pipe; name a file", path: path)
    }
  }

  /// What the links at a path lead to, whether it is there or not.
  private static func end(of path: String) throws(SystemError) -> String {
    var target = path
    for _ in 0..<40 {
      guard let name = target.split(separator: "/", omittingEmptySubsequences: false).last, !name.isEmpty
      else {
        throw SystemError(.unwritable, "is not a path of a file", path: path)
      }
      guard let link = link(at: target) else { return target }
      target = link.hasPrefix("/") ? link : target.dropLast(name.count) + link
    }
    throw SystemError(.unwritable, "leads from link to link", path: path)
  }

  /// The text of a link; nil where there is none.
  private static func link(at path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }

  /// Whether a path leads through a link of `/proc`, to something that a process has open.
  private static func isOpened(_ path: String) -> Bool {
    var path = path
    for _ in 0..<40 {
      guard let link = link(at: path) else { return false }
      let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
      if let real = realpath(folder, nil) {
        defer { free(real) }
        if String(cString: real).wholeMatch(of: /\/proc\/.+\/fd/) != nil { return true }
      }
      path = link.hasPrefix("/") ? link : folder + link
    }
    return false
  }

  /// Opens what is written to as it is. A pipe that nobody reads is not waited for.
  private static func stream(_ path: String) throws(SystemError) -> Int32 {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno != ENXIO else {
        throw SystemError(.unwritable, "is a pipe that nobody reads; start its reader first", path: path)
      }
      throw .lastCall(.unwritable, "cannot be written", path: path)
    }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    return descriptor
  }

  private static func syncFolder(of path: String) throws(SystemError) {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .lastCall(.unwritable, "the folder cannot be opened", path: folder) }
    defer { close(descriptor) }
    // Some file systems cannot sync a folder and say so by EINVAL.
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw .lastCall(.unwritable, "the folder cannot be synced to disk", path: folder)
    }
  }
}

/// A file that is on disk whole.
public struct WrittenFile: Sendable, Equatable {
  /// Where it is.
  public let path: String
  /// How long it is.
  let byteCount: Int
  /// SHA-256 of its bytes, in lower-case hexadecimal.
  public let sha256: String
}

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
