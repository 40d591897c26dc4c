internal import Clinux
import Glibc

extension [UInt8] {
  /// Without the mark that says of text that it is UTF-8, as Windows programs put it first.
  public var withoutByteOrderMark: [UInt8] { starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : self }
}

/// Reads small files whole, with a limit, so that a device or a huge file given by mistake is refused.
public enum FileContent {
  /// What the system says of an open file.
  public struct Facts: Sendable {
    /// Whether it is a file and not a folder, a device or a pipe.
    let isRegular: Bool
    /// The lowest twelve bits of its mode.
    let permissions: UInt32
    /// The number of the user to whom it belongs.
    public let owner: UInt32
    /// Whether the file system lets nobody change or remove what stands in it.
    let isAppendOnly: Bool
  }

  /// The file's bytes, after `check` has accepted the opened file's facts: the facts are those of the very
  /// file that is read, whatever happens to its name meanwhile. Throws `unreadable`, and `invalid` for more bytes.
  public static func read(
    _ path: String, limit: Int, check: (Facts) throws(SystemError) -> Void = { _ in }
  ) throws(SystemError) -> [UInt8] {
    // Not blocking, or opening a named pipe would wait for a writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .lastCall(.unreadable, "cannot be opened", path: path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .lastCall(.unreadable, "cannot be read", path: path) }
    try check(Facts(status, descriptor))
    return try bytes(of: descriptor, path, limit)
  }

  private static func bytes(
    of descriptor: Int32, _ path: String, _ limit: Int
  ) throws(SystemError) -> [UInt8] {
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while true {
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .lastCall(.unreadable, "cannot be read", path: path) }
      if count == 0 { return content }
      guard content.count + count <= limit else {
        throw SystemError(.invalid, "is larger than \(limit) bytes", path: path)
      }
      content += chunk[..<count]
    }
  }
}

/// A file without a name, in memory, for a library or a program that reads or writes files.
public struct MemoryFile: ~Copyable {
  /// Its open descriptor, at its beginning.
  public let descriptor: Int32

  /// A file that holds some bytes. Throws `unwritable`.
  public init(_ name: String, _ bytes: [UInt8] = []) throws(SystemError) {
    descriptor = memfd_create(name, linux_memfd_cloexec)
    guard descriptor >= 0 else { throw .lastCall(.unwritable, "no file in memory can be made") }
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        pwrite(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .lastCall(.unwritable, "the file in memory cannot be written") }
      done += count
    }
  }

  deinit { close(descriptor) }

  /// All that is in it. Throws `unreadable`.
  public func bytes() throws(SystemError) -> [UInt8] {
    let size = Int(lseek(descriptor, 0, SEEK_END))
    let bytes = [UInt8](unsafeUninitializedCapacity: max(size, 0)) { buffer, count in
      while count < size {
        let got = pread(descriptor, buffer.baseAddress?.advanced(by: count), size - count, count)
        guard got > 0 else { break }
        count += got
      }
    }
    guard bytes.count == size else {
      throw .lastCall(.unreadable, "the file in memory cannot be read whole")
    }
    return bytes
  }
}
