import Glibc
import Synchronization

/// Where log lines go. Called by `Log` from any thread, once a line; must not wait for long and cannot fail:
/// a line that cannot be written is lost.
public protocol LogSink: Sendable {
  /// Takes a whole line, with its line break.
  func write(_ line: [UInt8])
}

/// Writes each line by one `write(2)`, so that lines of several threads and processes do not mix.
struct DescriptorSink: LogSink {
  private let descriptor: Int32
  /// How long a line may wait for a reader that is behind.
  private static let patienceInMilliseconds: Int32 = 50

  /// Writes to a descriptor, which stays its owner's.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Writes the line; where the other side is gone or full, the line is lost rather than the caller held up.
  func write(_ line: [UInt8]) {
    // A pipe that is ready takes PIPE_BUF (4,096) bytes at once without blocking.
    var readiness = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&readiness, 1, Self.patienceInMilliseconds) > 0 else { return }
    var count: Int
    repeat {
      count = line.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    } while count < 0 && errno == EINTR
  }
}

/// Keeps log lines, for tests.
final class MemorySink: LogSink {
  private let kept = Mutex<[String]>([])

  /// Makes an empty one.
  init() {}

  /// Every line so far, without line breaks.
  var lines: [String] { kept.withLock { $0 } }

  /// Keeps the line.
  func write(_ line: [UInt8]) {
    let text = String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...], as: UTF8.self)
    kept.withLock { $0.append(text) }
  }
}
