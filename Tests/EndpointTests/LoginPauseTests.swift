import Testing

@testable import Endpoint
@testable import Support

@Suite("The pause after a failed login")
struct LoginPauseTests {
  private let failure = CallFailure(.server, "No.")
  private let start = ContinuousClock.now

  @Test("doubles from a second to a minute")
  func doubles() {
    var pause = LoginPause()
    #expect(pause.failure(at: start) == nil)
    var lengths: [Duration] = []
    var now = start
    for _ in 0..<8 {
      pause.begin(failure, at: now)
      let length = pause.failure(at: now)?.retryAfter ?? .zero
      lengths.append(length)
      #expect(pause.failure(at: now + length - .nanoseconds(1))?.message == "No.")
      now += length
      #expect(pause.failure(at: now) == nil)
    }
    #expect(lengths == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
  }

  @Test("is forgotten after a login that holds")
  func forgotten() {
    var pause = LoginPause()
    for _ in 0..<3 { pause.begin(failure, at: start) }
    let later = start + .seconds(120)
    pause.loginSucceeded(at: later)
    pause.begin(failure, at: later)
    #expect(pause.failure(at: later)?.retryAfter == .seconds(1))
  }

  @Test("grows as well when logins succeed and their tokens are refused, once for each token")
  func refusedTokens() {
    var pause = LoginPause()
    var now = start
    for generation in 1...4 {
      pause.tokenRefused(generation, at: now)
      let length = pause.failure(at: now)?.retryAfter ?? .zero
      for _ in 0..<50 { pause.tokenRefused(generation, at: now) }
      #expect(pause.failure(at: now)?.retryAfter == length)
      #expect(pause.failure(at: now)?.failureClass == .credentials)
      #expect(length == .seconds(1 << (generation - 1)))
      now += length
      pause.loginSucceeded(at: now)
    }
  }
}
