import Testing

@testable import Queue
@testable import Support

@Suite("The retry policy")
struct RetryPolicyTests {
  let policy = RetryPolicy()

  @Test(
    "doubles the longest delay with each attempt up to the cap",
    arguments: [(1, 1), (2, 2), (3, 4), (4, 8), (10, 512), (11, 600), (40, 600), (Int.max, 600)])
  func ceilings(attempt: Int, seconds: Int) {
    #expect(policy.ceiling(attempt: attempt) == .seconds(seconds))
  }

  @Test("spreads delays over all of zero to the ceiling")
  func jitter() {
    var random = SeededGenerator(seed: 7)
    var delays: [Duration] = []
    for _ in 0..<2000 {
      guard
        case .retry(let after, consumes: true) = policy.decide(
          .server, attempt: 3, maxAttempts: 10, using: &random)
      else {
        Issue.record("a server failure of the third attempt of ten is retried")
        return
      }
      delays.append(after)
    }
    #expect(delays.allSatisfy { $0 >= .zero && $0 <= .seconds(4) })
    for quarter in 0..<4 {
      let low = Duration.seconds(quarter)
      let share = delays.filter { $0 >= low && $0 < low + .seconds(1) }.count
      #expect((400...600).contains(share), "quarter \(quarter) got \(share) of 2000")
    }
  }

  @Test(
    "knows which classes are final",
    arguments: [
      (FailureClass.permanent, true), (.redirect, true), (.expired, true), (.store, true),
      (.notSent, false), (.outcomeUnknown, false), (.invalidAnswer, false), (.credentials, false),
      (.permission, false), (.serviceLimit, false), (.overload, false), (.server, false),
      (.workerLost, false), (.image, false),
    ])
  func final(failureClass: FailureClass, isFinal: Bool) {
    var random = SeededGenerator(seed: 1)
    let decision = policy.decide(failureClass, attempt: 1, maxAttempts: 10, using: &random)
    #expect((decision == .dead) == isFinal)
  }

  @Test("gives up after the last attempt", arguments: [(9, false), (10, true), (11, true)])
  func lastAttempt(attempt: Int, isDead: Bool) {
    var random = SeededGenerator(seed: 1)
    let decision = policy.decide(.server, attempt: attempt, maxAttempts: 10, using: &random)
    #expect((decision == .dead) == isDead)
  }

  @Test(
    "never gives up a job for the service account's fault",
    arguments: [FailureClass.credentials, .permission, .serviceLimit, .overload])
  func notTheJobsFault(failureClass: FailureClass) {
    var random = SeededGenerator(seed: 1)
    guard
      case .retry(let after, consumes: false) = policy.decide(
        failureClass, attempt: 10, maxAttempts: 10, using: &random)
    else {
      Issue.record("\(failureClass) consumes no attempt")
      return
    }
    #expect(after <= policy.freeCap)
  }

  @Test(
    "obeys what the backend asks for, clamped",
    arguments: [(-5, 0), (0, 0), (30, 30), (3600, 3600), (86_400, 3600)])
  func retryAfter(asked: Int, seconds: Int) {
    var random = SeededGenerator(seed: 1)
    guard
      case .retry(let after, consumes: true) = policy.decide(
        .overload, attempt: 1, maxAttempts: 10, consumes: true, retryAfter: .seconds(asked), using: &random)
    else {
      Issue.record("an overload is retried")
      return
    }
    #expect(after >= .seconds(seconds) && after <= .seconds(seconds) + policy.base)
  }

  @Test("gives up at once when the caller knows that no repeat can help")
  func callerKnows() {
    var random = SeededGenerator(seed: 1)
    let decision = policy.decide(.server, attempt: 1, maxAttempts: 10, isFinal: true, using: &random)
    #expect(decision == .dead)
  }
}
