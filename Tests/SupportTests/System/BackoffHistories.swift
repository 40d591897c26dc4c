import TestSupport
import Testing

@testable import Support

@Suite("Backoff in seeded histories")
struct BackoffHistories {
  @Test("every wait lies between nothing and its ceiling, and ceilings double and never pass the cap")
  func bounds() throws {
    try simulate(3000) { random in
      let base = Duration.microseconds(Int64.random(in: 0...20_000_000, using: &random))
      let cap = Duration.microseconds(Int64.random(in: 0...4_000_000_000, using: &random))
      let backoff = Backoff(base: base, cap: cap)
      var before = min(base, cap)
      for attempt in 1...14 {
        let ceiling = backoff.ceiling(attempt: attempt)
        let doubled = attempt == 1 ? before : min(before * 2, cap)
        try hold(ceiling == doubled, "the ceiling of attempt \(attempt) is \(doubled), not \(ceiling)")
        let wait = backoff.delay(attempt: attempt, using: &random)
        try hold(wait >= .zero && wait <= ceiling, "attempt \(attempt) waits \(wait) of \(ceiling)")
        before = ceiling
      }
    }
  }

  @Test("many clients that failed together do not come back together")
  func spread() throws {
    try simulate(100) { random in
      let backoff = Backoff(base: .seconds(1), cap: .seconds(60))
      let attempt = Int.random(in: 1...8, using: &random)
      let tenth = backoff.ceiling(attempt: attempt) / 10
      var returns = Array(repeating: 0, count: 11)
      for _ in 0..<400 { returns[Int(backoff.delay(attempt: attempt, using: &random) / tenth)] += 1 }
      // Forty are expected in each tenth; twice as many would be six standard deviations away.
      try hold(returns.allSatisfy { $0 < 80 }, "400 clients return in tenths of the ceiling as \(returns)")
    }
  }
}
