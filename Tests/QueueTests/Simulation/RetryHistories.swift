import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("Retries in seeded histories")
struct RetryHistories {
  @Test("a job is tried at most as often as it has attempts, and dies only of them or of what is final")
  func attempts() throws {
    try simulate(3000) { random in
      let policy = RetryPolicy()
      let maxAttempts = Int.random(in: 1...12, using: &random)
      var consumed = 0
      for _ in 0..<200 {
        let failure = FailureClass.allCases.randomElement(using: &random) ?? .server
        let isFinal = Int.random(in: 0..<50, using: &random) == 0
        let consumes: Bool? = [true, false, nil].randomElement(using: &random) ?? nil
        let decision = policy.decide(
          failure, attempt: consumed + 1, maxAttempts: maxAttempts, isFinal: isFinal, consumes: consumes,
          using: &random)
        let counts = consumes ?? RetryPolicy.consumes(failure)
        let mustDie = isFinal || RetryPolicy.isFinal(failure) || counts && consumed + 1 == maxAttempts
        switch decision {
        case .dead:
          try hold(mustDie, "\(failure) ended the job at attempt \(consumed + 1) of \(maxAttempts)")
          return
        case .retry(let after, let retriedConsumes):
          try hold(!mustDie, "\(failure) at attempt \(consumed + 1) of \(maxAttempts) was retried")
          try hold(retriedConsumes == counts, "\(failure) counts: \(retriedConsumes), not \(counts)")
          let longest = counts ? policy.ceiling(attempt: consumed + 1) : policy.freeCap
          try hold(after >= .zero && after <= longest, "\(failure) waits \(after) of \(longest)")
          if counts { consumed += 1 }
        }
        try hold(consumed < maxAttempts, "\(consumed) attempts of \(maxAttempts) are consumed and it lives")
      }
    }
  }

  @Test("what the backend asks for is waited for, within the hour that it may ask for")
  func retryAfter() throws {
    try simulate(3000) { random in
      let policy = RetryPolicy()
      let asked = Duration.milliseconds(Int64.random(in: -100_000...20_000_000, using: &random))
      let failure: FailureClass = Bool.random(using: &random) ? .overload : .server
      let decision = policy.decide(
        failure, attempt: 1, maxAttempts: 10, retryAfter: asked, using: &random)
      guard case .retry(let after, _) = decision else { throw BrokenRule("\(failure) is retried") }
      let least = min(max(asked, .zero), policy.maximumRetryAfter)
      try hold(after >= least, "\(asked) was asked for, and it waits \(after)")
      try hold(after <= least + policy.base, "\(asked) was asked for, and it waits \(after)")
    }
  }
}
