import Foundation
import Synchronization

/// What was done and what went wrong, told by all parts of a run. Every event goes to the folder's `events.log`.
final class Tally: Sendable {
  private struct State {
    var caused: [String: Int] = [:]
    var missed: [String: Int] = [:]
    var complaints: [String] = []
    var refusedWaiting = 0
    var crashes = ServerCrashes()
  }

  private let state = Mutex(State())
  private let begin = ContinuousClock.now
  private let file: FileHandle

  init(folder: URL) throws {
    let path = folder.appending(path: "events.log")
    try Data().write(to: path)
    file = try FileHandle(forWritingTo: path)
  }

  /// Faults that were caused, by kind.
  var caused: [String: Int] { state.withLock { $0.caused } }
  /// Faults of the schedule that found nobody to fall on, by kind.
  var missed: [String: Int] { state.withLock { $0.missed } }
  /// What must not happen whatever the faults: a program that ends by itself, a command that fails.
  var complaints: [String] { state.withLock { $0.complaints } }

  /// Jobs that were refused for what waits of a user who had nothing open.
  var refusedWaiting: Int { state.withLock { $0.refusedWaiting } }

  /// How often the server crashed.
  var crashes: ServerCrashes { state.withLock { $0.crashes } }

  /// Takes note that the server is about to crash, while workers may hold so many jobs.
  func crash(held: Int) {
    state.withLock {
      $0.crashes.count += 1
      $0.crashes.held += held
    }
  }

  /// Takes note of how many jobs a user with nothing open was refused for waiting.
  func probe(refused count: Int) {
    guard count > 0 else { return }
    state.withLock { $0.refusedWaiting += count }
    note("WRONG: \(count) jobs of a user with nothing open were refused for waiting")
  }

  /// Takes note of faults that were really caused.
  func cause(_ kind: String, _ count: Int = 1) {
    state.withLock { $0.caused[kind, default: 0] += count }
  }

  /// Takes note of a fault that could not be caused.
  func miss(_ kind: String, _ why: String) {
    state.withLock { $0.missed[kind, default: 0] += 1 }
    note("missed \(kind): \(why)")
  }

  /// Takes note of something that must not happen.
  func complain(_ words: String) {
    state.withLock { $0.complaints.append(words) }
    note("WRONG: \(words)")
  }

  /// Writes an event down.
  func note(_ words: String) {
    let line = "\(Self.clock(.now - begin)) \(words)\n"
    state.withLock { _ in try? file.write(contentsOf: Data(line.utf8)) }
  }

  private static func clock(_ time: Duration) -> String {
    let milliseconds = Int(time / .milliseconds(1))
    let digits = String(1000 + milliseconds % 1000).dropFirst()
    return "\(milliseconds / 1000).\(digits)"
  }
}
