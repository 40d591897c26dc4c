import TestSupport
import Testing

@testable import Support
@testable import Worker

@Suite("The breaker in seeded histories")
struct BreakerHistories {
  /// What a call says of its endpoint when it ends.
  enum Ending: CaseIterable { case succeeds, fails, pauses, isAbandoned }

  /// One endpoint, sick until a moment and well after it, and callers who take every place they can get.
  struct Endpoint {
    struct Call {
      let admission: Breaker.Admission
      /// Whether the breaker was open when it began, and has not closed since.
      var isProbe: Bool
      let ends: ContinuousClock.Instant
    }

    static let longestCall = Duration.seconds(40)
    static let longestPause = Duration.seconds(60)
    var breaker = Breaker()
    var now = ContinuousClock.now
    var calls: [Call] = []
    var begun = 0
    let places: Int

    init(using random: inout SeededGenerator) {
      places = Int.random(in: 1...24, using: &random)
    }

    /// Begins what may begin.
    mutating func fill(using random: inout SeededGenerator) throws {
      while calls.count < places {
        let wasClosed = breaker.state == .closed
        guard let admission = breaker.admits(at: now) else { return }
        try hold((admission == .ordinary) == wasClosed, "only a closed breaker admits ordinary calls")
        let length = Duration.milliseconds(Int64.random(in: 1...40_000, using: &random))
        calls.append(Call(admission: admission, isProbe: !wasClosed, ends: now + length))
        begun += 1
        let probes = calls.count { $0.isProbe }
        try hold(probes <= 1, "\(probes) probes are under way at a time")
      }
    }

    /// Ends the call that is next to end, in the given way.
    mutating func endNext(_ ending: Ending) throws {
      guard let next = calls.indices.min(by: { calls[$0].ends < calls[$1].ends }) else { return }
      now = max(now, calls[next].ends)
      let call = calls.remove(at: next)
      switch ending {
      case .succeeds: breaker.succeeded()
      case .fails: breaker.failed(call.admission, at: now)
      case .pauses: breaker.pause(call.admission, for: Self.longestPause, at: now)
      case .isAbandoned: breaker.abandoned(call.admission, at: now)
      }
      if breaker.state == .closed {
        for index in calls.indices { calls[index].isProbe = false }
        try hold(!breaker.isShut(beyond: .zero, at: now), "a closed breaker is not shut")
      }
      if let reopens = breaker.reopens {
        try hold(reopens <= now + Self.longestPause, "it stays open for \(reopens - now)")
      }
    }

    /// Lets time pass up to the moment when something can happen.
    mutating func rest() {
      guard let reopens = breaker.reopens, calls.allSatisfy({ $0.ends > reopens }) else { return }
      now = max(now, reopens)
    }
  }

  @Test("never more than one probe is under way, however the calls of before end")
  func oneProbe() throws {
    try simulate(1500) { random in
      var endpoint = Endpoint(using: &random)
      let sickness = Double.random(in: 0...1, using: &random)
      for _ in 0..<60 {
        try endpoint.fill(using: &random)
        let isSick = Double.random(in: 0..<1, using: &random) < sickness
        // Mostly failures: else ten in a row, which open it, would be rare.
        let isOdd = Int.random(in: 0..<6, using: &random) == 0
        let ending = isOdd ? Ending.allCases.randomElement(using: &random) ?? .fails : .fails
        try endpoint.endNext(isSick ? ending : .succeeds)
        endpoint.rest()
      }
    }
  }

  @Test(
    "an endpoint that is well again is called within the longest pause and the length of the calls in flight")
  func recovers() throws {
    try simulate(1500) { random in
      var endpoint = Endpoint(using: &random)
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        try endpoint.fill(using: &random)
        try endpoint.endNext(Ending.allCases.dropFirst().randomElement(using: &random) ?? .fails)
        endpoint.rest()
      }
      let wellSince = endpoint.now
      while endpoint.breaker.state != .closed {
        try endpoint.fill(using: &random)
        if !endpoint.calls.isEmpty { try endpoint.endNext(.succeeds) }
        endpoint.rest()
        let limit = Endpoint.longestCall + Endpoint.longestPause
        try hold(endpoint.now - wellSince <= limit, "it is still shut after \(endpoint.now - wellSince)")
      }
    }
  }

  @Test("a dead endpoint costs a call in thirty seconds")
  func costs() throws {
    try simulate(500) { random in
      var endpoint = Endpoint(using: &random)
      let start = endpoint.now
      while endpoint.now - start < .seconds(3600) {
        try endpoint.fill(using: &random)
        try endpoint.endNext(.fails)
        endpoint.rest()
      }
      // Those that began before the tenth failure was known, the probes of the first minute, one each half minute.
      let limit = Breaker.threshold + endpoint.places + 5 + 120
      try hold(endpoint.begun <= limit, "an hour of failures took \(endpoint.begun) calls, not \(limit)")
      try hold(endpoint.begun > 40, "it is probed only \(endpoint.begun) times in an hour")
      try hold(endpoint.breaker.isShut(beyond: .seconds(600), at: endpoint.now), "it is shut for an hour")
    }
  }
}
