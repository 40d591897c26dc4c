import Glibc

/// A file that may already be in a report's place, read along with what is written anew, so that an equal one
/// is left alone.
struct ExistingFile: ~Copyable {
  private let descriptor: Int32
  /// Whether everything so far was equal; false also for a file that is not there.
  private var isEqual: Bool

  init(_ path: String) {
    // Not blocking, or opening a named pipe would wait for a writer.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    var status = stat()
    isEqual = descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Compares the next bytes.
  mutating func compare(_ bytes: [UInt8]) {
    guard isEqual else { return }
    isEqual = read(bytes.count) == bytes
  }

  /// Whether the file held exactly the bytes that were compared and no more.
  consuming func isExactlyThat() -> Bool {
    isEqual && read(1).isEmpty
  }

  /// Up to `count` bytes; fewer at the end or where the file cannot be read.
  private func read(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress?.advanced(by: done), count - done)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }

  /// Whether a folder is in a file's place.
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
