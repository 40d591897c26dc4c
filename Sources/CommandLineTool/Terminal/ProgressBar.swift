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
