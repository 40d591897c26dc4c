import Testing

@testable import Worker

@Suite("The breaker of an endpoint")
struct BreakerTests {
  private let start = ContinuousClock.now

  @Test("opens after ten failures in a row, and not when a success lies between")
  func opens() {
    var breaker = Breaker()
    for _ in 0..<9 {
      let hasOpened = breaker.failed(.ordinary, at: start)
      #expect(!hasOpened)
    }
    breaker.succeeded()
    for _ in 0..<9 {
      let hasOpened = breaker.failed(.ordinary, at: start)
      #expect(!hasOpened)
    }
    let ordinary = breaker.admits(at: start)
    #expect(ordinary == .ordinary)
    let hasOpened = breaker.failed(.ordinary, at: start)
    #expect(hasOpened)
    let refused = breaker.admits(at: start)
    #expect(refused == nil)
  }

  @Test("lets one probe through when its time has come, and closes by its success")
  func probes() {
    var breaker = opened()
    let later = start + .seconds(1)
    let early = breaker.admits(at: start + .milliseconds(999))
    #expect(early == nil)
    let probe = breaker.admits(at: later)
    #expect(probe == .probe(1))
    let second = breaker.admits(at: later)
    #expect(second == nil)
    let hasClosed = breaker.succeeded()
    #expect(hasClosed)
    let ordinary = breaker.admits(at: later)
    #expect(ordinary == .ordinary)
    #expect(breaker.state == .closed)
  }

  @Test("stays open twice as long after each failed probe, to at most half a minute")
  func doubles() throws {
    var breaker = opened()
    var now = start
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
      #expect(breaker.reopens == now + .seconds(seconds))
      now += .seconds(seconds)
      let admitted = breaker.admits(at: now)
      let probe = try #require(admitted)
      let hasOpened = breaker.failed(probe, at: now)
      #expect(hasOpened)
    }
  }

  @Test("does not count the failures of calls that were in flight when it opened")
  func inFlight() {
    var breaker = opened()
    for _ in 0..<50 {
      let hasOpened = breaker.failed(.ordinary, at: start)
      #expect(!hasOpened)
    }
    #expect(breaker.reopens == start + .seconds(1))
  }

  @Test("is not probed a second time because a call of before ends while the first probe is under way")
  func stragglers() throws {
    var breaker = opened()
    let later = start + .seconds(1)
    let admitted = breaker.admits(at: later)
    let probe = try #require(admitted)
    breaker.abandoned(.ordinary, at: later)
    breaker.failed(.ordinary, at: later)
    breaker.pause(.ordinary, for: .seconds(30), at: later)
    let second = breaker.admits(at: later + .seconds(60))
    #expect(second == nil)
    breaker.failed(probe, at: later + .seconds(60))
    #expect(breaker.reopens == later + .seconds(62))
  }

  @Test("admits another probe when the first was abandoned")
  func abandoned() throws {
    var breaker = opened()
    let later = start + .seconds(1)
    let admitted = breaker.admits(at: later)
    let probe = try #require(admitted)
    breaker.abandoned(probe, at: later)
    let another = breaker.admits(at: later)
    #expect(another == .probe(2))
  }

  private func opened() -> Breaker {
    var breaker = Breaker()
    for _ in 0..<Breaker.threshold { breaker.failed(.ordinary, at: start) }
    return breaker
  }

  @Test("is shut beyond a time when it stays open for longer, or has not closed for so long")
  func shutBeyond() throws {
    var breaker = Breaker()
    #expect(!breaker.isShut(beyond: .zero, at: start))
    breaker.pause(.ordinary, for: .seconds(30), at: start)
    #expect(breaker.isShut(beyond: .seconds(20), at: start))
    #expect(!breaker.isShut(beyond: .seconds(60), at: start))
    // Probed twice in vain: the pause is as short as before, but it lasts.
    for round in 1...2 {
      let now = start + .seconds(30 * round)
      let admitted = breaker.admits(at: now)
      let probe = try #require(admitted)
      #expect(breaker.isShut(beyond: .seconds(60), at: now) == (round == 2))
      breaker.pause(probe, for: .seconds(30), at: now)
    }
    breaker.succeeded()
    #expect(!breaker.isShut(beyond: .zero, at: start + .seconds(61)))
  }
}
