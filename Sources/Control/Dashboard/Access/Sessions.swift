import Support
import Synchronization

/// The sessions that a token was exchanged for, and what readers are shown once. Kept in memory, by the hash of the
/// session's number, and bounded.
final class Sessions: Sendable {
  /// How long a session lasts.
  static let lifetime = Duration.seconds(8 * 3600)
  private static let most = 1000

  private struct State {
    var begun: [String: ContinuousClock.Instant] = [:]
    var messages: [String: Message] = [:]
  }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  /// 32 random bytes of the system, in hexadecimal.
  static func randomNumber() -> String { Hexadecimal.random(bytes: 32) }

  /// Whether a text looks like one of them.
  static func isNumber(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Begins one; where there are too many, the oldest ends.
  func begin() -> String {
    let (number, now) = (Self.randomNumber(), now())
    state.withLock { state in
      state.begun = state.begun.filter { now - $0.value < Self.lifetime }
      if state.begun.count >= Self.most, let oldest = state.begun.min(by: { $0.value < $1.value }) {
        state.begun[oldest.key] = nil
      }
      state.begun[Self.hash(number)] = now
    }
    return number
  }

  /// Whether it was begun and has not ended.
  func isKnown(_ number: String) -> Bool {
    state.withLock { $0.begun[Self.hash(number)] }.map { now() - $0 < Self.lifetime } ?? false
  }

  func end(_ number: String) {
    state.withLock { _ = $0.begun.removeValue(forKey: Self.hash(number)) }
  }

  /// Keeps a message for a reader.
  func keep(_ message: Message, for number: String) {
    state.withLock { state in
      if state.messages.count >= Self.most { state.messages = [:] }
      state.messages[Self.hash(number)] = message
    }
  }

  /// The message that was kept; it is forgotten.
  func takeMessage(of number: String) -> Message? {
    state.withLock { $0.messages.removeValue(forKey: Self.hash(number)) }
  }

  private static func hash(_ number: String) -> String { SHA256.hexadecimal(of: number) }
}
