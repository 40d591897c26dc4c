import Synchronization
import TestSupport

@testable import Support

/// Bodies of answers.
enum Answers {
  /// A whole analysis of a throat.
  static let throat = analysis()

  /// An analysis of a throat of which single parts are changed; nil leaves a part out.
  static func analysis(
    id: String? = #""a-1""#, type: String? = #""throat""#,
    time: String? = #""timestamp":"2100-03-22T12:34:56.789Z""#,
    conditions: String? = "[\(condition())]", further: String? = nil
  ) -> String {
    let parts = [
      id.map { "\"id\":\($0)" }, type.map { "\"type\":\($0)" }, time,
      conditions.map { "\"conditions\":\($0)" }, further,
    ]
    return "{" + parts.compactMap { $0 }.joined(separator: ",") + "}"
  }

  /// A condition of which single parts are changed.
  static func condition(
    id: String = #""strep_throat""#, name: String = #""Strep Throat""#, confidence: String = "0.83",
    further: String? = nil
  ) -> String {
    "{\"id\":\(id),\"name\":\(name),\"confidence\":\(confidence)\(further.map { "," + $0 } ?? "")}"
  }
}

/// So many times yes, then no.
final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  func take() -> Bool {
    left.withLock { left in
      defer { left -= 1 }
      return left > 0
    }
  }
}

/// The idempotency keys that a server met.
final class Keys: Sendable {
  private let keys = Mutex<[String]>([])

  var all: [String] { keys.withLock { $0 } }

  func add(_ key: String?) { keys.withLock { $0.append(key ?? "none") } }
}

/// Off until it is turned on.
final class Switch: Sendable {
  private let state = Mutex(false)

  var isOn: Bool { state.withLock { $0 } }

  func turnOn() { state.withLock { $0 = true } }
}
