import Glibc
import Synchronization

/// Where text goes. Called by the console, from any thread; throwing means the text was not written whole.
public protocol TextWriter: Sendable {
  /// Writes the whole text.
  func write(_ text: String) throws(WriteError)
}

/// Writes to a file descriptor, unbuffered. The descriptor stays its owner's.
struct DescriptorWriter: TextWriter {
  private let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Writes the whole text, however many calls it takes.
  func write(_ text: String) throws(WriteError) {
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

/// Keeps what is written, for tests.
final class MemoryWriter: TextWriter {
  private let content = Mutex("")

  /// Makes an empty one.
  init() {}

  /// Everything written so far.
  var text: String { content.withLock { $0 } }

  func write(_ text: String) throws(WriteError) {
    content.withLock { $0 += text }
  }
}

/// A text could not be written to a descriptor.
public struct WriteError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The system's error number.
  let errno: Int32
  /// The system's message for it.
  let reason: String

  /// Whether the reading side is gone.
  public var isBrokenPipe: Bool { errno == EPIPE }

  /// Whether a disk, or somebody's share of it, is full: there may be room again later.
  public var isFullDisk: Bool { [ENOSPC, EDQUOT].contains(errno) }

  /// What happened.
  public var description: String { "the output cannot be written: \(reason)" }
}
