import Glibc
import Support
import Synchronization

/// A line on standard error that shows how far a command has come; silent unless that is a terminal.
/// It is redrawn at most ten times a second.
public final class ProgressBar: Sendable {
  private struct State {
    var done = 0
    var total: Int?
    var lastDrawn: ContinuousClock.Instant?
    var isFinished = false
  }

  private let label: String
  private let console: Console
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state: Mutex<State>
  private static let interval = Duration.milliseconds(100)

  /// Makes a bar. Without a total it counts.
  public init(
    _ label: String, total: Int?, console: Console,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.label = printable(label)
    self.console = console
    self.now = now
    state = Mutex(State(total: total))
  }

  /// Counts some more as done.
  public func advance(by count: Int = 1) {
    change { $0.done += count }
  }

  /// States how much is done, and of how much.
  public func update(done: Int, total: Int?) {
    change {
      $0.done = done
      $0.total = total
    }
  }

  /// Draws the last state and ends the line; later calls do nothing.
  public func finish() {
    guard console.messagesTerminal.isTerminal else { return }
    state.withLock { state in
      guard !state.isFinished else { return }
      state.isFinished = true
      try? console.messages.write(line(state) + "\n")
    }
  }

  private func change(_ body: (inout State) -> Void) {
    guard console.messagesTerminal.isTerminal else { return }
    state.withLock { state in
      body(&state)
      let moment = now()
      let isDue = state.lastDrawn.map { moment - $0 >= Self.interval } ?? true
      guard isDue, !state.isFinished else { return }
      state.lastDrawn = moment
      // Written under the lock, so that two threads cannot draw over each other.
      try? console.messages.write(line(state))
    }
  }

  /// Back to the line's start, the bar, and the rest of an older, longer one erased.
  private func line(_ state: State) -> String {
    let width = console.messagesTerminal.width - 1
    var text = "\(label) \(state.done)"
    if let total = state.total, total > 0 {
      let share = min(max(Double(state.done) / Double(total), 0), 1)
      let numbers = " \(state.done)/\(total) \(Int(share * 100))%"
      let room = min(40, width - displayWidth(label) - numbers.utf8.count - 3)
      let bar = room < 5 ? "" : " [\(Self.bar(share, room))]"
      text = label + bar + numbers
    }
    return "\r\(truncated(text, to: width))\u{1B}[K"
  }

  private static func bar(_ share: Double, _ room: Int) -> String {
    let filled = Int(share * Double(room))
    return String(repeating: "#", count: filled) + String(repeating: "-", count: room - filled)
  }
}

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
