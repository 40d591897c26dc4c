import Testing

@testable import Worker

@Suite("The breaker of an endpoint")
struct BreakerTests {
  private let start = ContinuousClock.now

  @Test("opens after ten failures in a row, and not when a success lies between")
  func opens() {
    var breaker = Breaker()
    for _ in 0..<9 {
      let answer = breaker.failed(at: start)
      #expect(!answer)
    }
    breaker.succeeded()
    for _ in 0..<9 {
      let answer = breaker.failed(at: start)
      #expect(!answer)
    }
    let answer1 = breaker.admits(at: start)
    #expect(answer1)
    let answer2 = breaker.failed(at: start)
    #expect(answer2)
    let answer3 = breaker.admits(at: start)
    #expect(!answer3)
  }

  @Test("lets one probe through when its time has come, and closes by its success")
  func probes() {
    var breaker = opened()
    let later = start + .seconds(1)
    let answer4 = breaker.admits(at: start + .milliseconds(999))
    #expect(!answer4)
    let answer5 = breaker.admits(at: later)
    #expect(answer5)
    let answer6 = breaker.admits(at: later)
    #expect(!answer6)
    let answer7 = breaker.succeeded()
    #expect(answer7)
    let answer8 = breaker.admits(at: later)
    #expect(answer8)
    #expect(breaker.state == .closed)
  }

  @Test("stays open twice as long after each failed probe, to at most half a minute")
  func doubles() {
    var breaker = opened()
    var now = start
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
      #expect(breaker.reopens == now + .seconds(seconds))
      now += .seconds(seconds)
      let answer9 = breaker.admits(at: now)
      #expect(answer9)
      let answer10 = breaker.failed(at: now)
      #expect(answer10)
    }
  }

  @Test("does not count the failures of calls that were in flight when it opened")
  func inFlight() {
    var breaker = opened()
    for _ in 0..<50 {
      let answer = breaker.failed(at: start)
      #expect(!answer)
    }
    #expect(breaker.reopens == start + .seconds(1))
  }

  @Test("admits another probe when the first was abandoned")
  func abandoned() {
    var breaker = opened()
    let later = start + .seconds(1)
    let answer11 = breaker.admits(at: later)
    #expect(answer11)
    breaker.probeAbandoned(at: later)
    let answer12 = breaker.admits(at: later)
    #expect(answer12)
  }

  private func opened() -> Breaker {
    var breaker = Breaker()
    for _ in 0..<Breaker.threshold { breaker.failed(at: start) }
    return breaker
  }

  @Test("is shut beyond a time when it stays open for longer, or has not closed for so long")
  func shutBeyond() {
    let start = ContinuousClock.now
    var breaker = Breaker()
    #expect(!breaker.isShut(beyond: .zero, at: start))
    breaker.pause(for: .seconds(30), at: start)
    #expect(breaker.isShut(beyond: .seconds(20), at: start))
    #expect(!breaker.isShut(beyond: .seconds(60), at: start))
    // Probed twice in vain: the pause is as short as before, but it lasts.
    for probe in 1...2 {
      let now = start + .seconds(30 * probe)
      let isAdmitted = breaker.admits(at: now)
      #expect(isAdmitted)
      #expect(breaker.isShut(beyond: .seconds(60), at: now) == (probe == 2))
      breaker.pause(for: .seconds(30), at: now)
    }
    breaker.succeeded()
    #expect(!breaker.isShut(beyond: .zero, at: start + .seconds(61)))
  }
}
