import Glibc

/// A file that appears whole or not at all: it is written beside its place, synced, renamed, and the folder
/// is synced too. Dropped without `commit()`, it leaves nothing behind.
///
/// A link at that place is replaced by the file, not followed.
public struct AtomicFile: ~Copyable {
  private let path: String
  private let temporary: String
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
    guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last, !name.isEmpty else {
      throw SystemError(.unwritable, "is not a path of a file", path: path)
    }
    let folder = path.dropLast(name.count)
    // Short and not made of the target's name, which may be as long as a name can be.
    let temporary = "\(folder).\(String(UInt64.random(in: .min ... .max), radix: Self.radix))\(Self.ending)"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .lastCall(.unwritable, "cannot be written", path: path) }
    guard fchmod(descriptor, mode) == 0 else {
      let error = SystemError.lastCall(.unwritable, "its permissions cannot be set", path: path)
      close(descriptor)
      unlink(temporary)
      throw error
    }
    self.path = path
    self.temporary = temporary
    self.descriptor = descriptor
    self.isSynced = isSynced
  }

  deinit {
    close(descriptor)
    if !isCommitted { unlink(temporary) }
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
    guard rename(temporary, path) == 0 else {
      throw .lastCall(.unwritable, "cannot be put in its place", path: path)
    }
    isCommitted = true
    if isSynced { try Self.syncFolder(of: path) }
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
  public let byteCount: Int
  /// SHA-256 of its bytes, in lower-case hexadecimal.
  public let sha256: String
}
