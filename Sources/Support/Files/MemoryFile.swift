internal import Clinux
import Glibc

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
