import Glibc

/// Writes to a file descriptor, unbuffered. The descriptor stays its owner's.
public struct DescriptorWriter: TextWriter {
  private let descriptor: Int32

  /// Makes a writer.
  public init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Writes the whole text, however many calls it takes.
  public func write(_ text: String) throws(WriteError) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written >= 0 {
        rest = rest.dropFirst(written)
        continue
      }
      let number = errno
      switch number {
      case EINTR: continue
      case EAGAIN:
        // A terminal shared with a program that made it non-blocking: wait until it takes more.
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, -1)
      default: throw WriteError(errno: number, reason: String(cString: strerror(number)))
      }
    }
  }
}

extension WriteError {
  static let brokenPipe = EPIPE
  static let fullDisk = [ENOSPC, EDQUOT]
}
