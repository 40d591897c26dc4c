import Foundation
import Synchronization
import TestSupport

/// One worker process, and what it was told: an end that nobody asked for is a complaint.
final class WorkerRun: Sendable {
  /// What may happen to it.
  enum Told: Sendable {
    case killed
    case stopped
    /// It was started to die by itself.
    case dies
    /// It empties the queue and ends.
    case drains
    /// It does so while faults are caused: its endpoint may be paused when it is done.
    case drainsShortly
  }

  private struct State {
    var told: Set<Told> = []
    var freezes = 0
    var hasEnded = false
  }

  let name: String
  private let program: RunningProgram
  private let state = Mutex(State())

  init(_ name: String, _ program: RunningProgram, told: Set<Told> = []) {
    self.name = name
    self.program = program
    state.withLock { $0.told = told }
  }

  /// Whether a fault can fall on it.
  var isFree: Bool { state.withLock { !$0.hasEnded && $0.told.isEmpty && $0.freezes == 0 } }

  /// Sends SIGKILL.
  func kill() { tell(.killed, SIGKILL) }

  /// Sends SIGTERM.
  func stop() { tell(.stopped, SIGTERM) }

  /// Sends SIGSTOP, and SIGCONT after a time.
  func freeze(for time: Duration) async {
    guard signal(SIGSTOP, { $0.freezes += 1 }) else { return }
    try? await Task.sleep(for: time)
    _ = signal(SIGCONT) { $0.freezes -= 1 }
  }

  /// Waits for its end, and says what is wrong with it; nil when it ended as it was told.
  func ended() async -> (complaint: String?, wasKilled: Bool) {
    let ended = await program.ended()
    let told = state.withLock { state in
      state.hasEnded = true
      return state.told
    }
    let isAllowed =
      if ended.wasKilled {
        ended.status == SIGKILL && (told.contains(.killed) || told.contains(.dies))
          // A SIGTERM more, when it had said its last word.
          || ended.status == SIGTERM && told.contains(.stopped) && Self.hasStopped(ended.errors)
      } else {
        ended.status == 0 && !told.isDisjoint(with: [.stopped, .drains, .drainsShortly])
          || ended.status == 75 && told.contains(.drainsShortly)
      }
    guard !isAllowed else { return (nil, ended.wasKilled) }
    let way = ended.wasKilled ? "by signal \(ended.status)" : "with \(ended.status)"
    let last = ended.errors.split(separator: "\n").suffix(3).joined(separator: " | ")
    return ("\(name) ended \(way), and was not told to: \(last)", ended.wasKilled)
  }

  private static func hasStopped(_ log: String) -> Bool {
    log.split(separator: "\n").last?.contains("The worker has stopped") ?? false
  }

  private func tell(_ told: Told, _ number: Int32) {
    _ = signal(number) { $0.told.insert(told) }
  }

  /// The number of a process that has ended may be another's by now.
  private func signal(_ number: Int32, _ change: (inout State) -> Void) -> Bool {
    state.withLock { state in
      change(&state)
      guard !state.hasEnded else { return false }
      program.send(number)
      return true
    }
  }
}
