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
