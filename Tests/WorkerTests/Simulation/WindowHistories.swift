import TestSupport
import Testing

@testable import Support
@testable import Worker

@Suite("The adaptive window in seeded histories")
struct WindowHistories {
  @Test("the window keeps within its bounds, grows by one place at a time and only halves once a window")
  func bounds() throws {
    try simulate(2000) { random in
      let greatest = Int.random(in: -1...64, using: &random)
      var window = AdaptiveWindow(greatest: greatest)
      let overloads = Double.random(in: 0...1, using: &random)
      var outcomesSinceHalving = Int.max
      for _ in 0..<100 {
        let before = window.size
        let isOverload = Double.random(in: 0..<1, using: &random) < overloads
        if isOverload {
          let halved = window.overloaded()
          try hold(window.size == (halved ? max(1, before / 2) : before), "\(before) became \(window.size)")
          try hold(
            halved == (outcomesSinceHalving >= before), "halved after \(outcomesSinceHalving) of \(before)")
          outcomesSinceHalving = halved ? 0 : outcomesSinceHalving &+ 1
        } else {
          window.succeeded(after: .microseconds(Int64.random(in: 1...900_000, using: &random)))
          try hold(
            (before...before + 1).contains(window.size), "\(before) became \(window.size) by a success")
          if outcomesSinceHalving < Int.max { outcomesSinceHalving += 1 }
        }
        try hold((1...max(1, greatest)).contains(window.size), "\(window.size) of \(greatest)")
      }
    }
  }

  /// An endpoint that serves so many calls at a time and refuses the others at once.
  struct Endpoint {
    let capacity: Int
    let latency: Duration
    var inFlight: [(ends: Duration, isRefused: Bool)] = []
    var now = Duration.zero
    var served = 0

    /// Runs until a moment, with as many calls in flight as the window allows.
    mutating func run(
      _ window: inout AdaptiveWindow, until end: Duration, using random: inout SeededGenerator
    ) {
      while now < end {
        while inFlight.count < window.size {
          let isRefused = inFlight.count { !$0.isRefused } >= capacity
          let length =
            isRefused ? Duration.milliseconds(2) : latency * Double.random(in: 1...1.5, using: &random)
          inFlight.append((now + length, isRefused))
        }
        guard let next = inFlight.indices.min(by: { inFlight[$0].ends < inFlight[$1].ends }) else { return }
        let call = inFlight.remove(at: next)
        now = call.ends
        if call.isRefused {
          window.overloaded()
        } else {
          served += 1
          window.succeeded(after: latency * 1.25)
        }
      }
    }
  }

  @Test("an endpoint that refuses what exceeds its capacity is kept at least half busy, and is not flooded")
  func capacity() throws {
    try simulate(40) { random in
      let capacity = Int.random(in: 2...20, using: &random)
      var endpoint = Endpoint(
        capacity: capacity, latency: .milliseconds(Int64.random(in: 20...400, using: &random)))
      var window = AdaptiveWindow(greatest: capacity * Int.random(in: 1...3, using: &random))
      let time = endpoint.latency * 40
      endpoint.run(&window, until: time, using: &random)
      endpoint.served = 0
      endpoint.run(&window, until: time * 2, using: &random)
      // Forty latencies at full capacity would serve 32 windows' worth, a call taking 1.25 of one.
      try hold(endpoint.served >= capacity * 16, "\(endpoint.served) calls were served by \(capacity) places")
      try hold(window.size <= capacity + 1, "the window is \(window.size) at an endpoint of \(capacity)")
    }
  }

  @Test("after an overload the window is its greatest again in bounded time, also where calls stay slower")
  func recovers() throws {
    try simulate(60) { random in
      let greatest = Int.random(in: 2...32, using: &random)
      var window = AdaptiveWindow(greatest: greatest)
      let usual = Duration.milliseconds(Int64.random(in: 5...50, using: &random))
      for _ in 0..<100 { window.succeeded(after: usual) }
      for _ in 0..<greatest * 4 { window.overloaded() }
      try hold(window.size == 1, "constant overload leaves one call, not \(window.size)")
      // A larger model, say: from now on each call takes longer.
      let slower = usual * Double.random(in: 1...8, using: &random)
      var answers = 0
      while window.size < greatest {
        window.succeeded(after: slower * Double.random(in: 0.9...1.1, using: &random))
        answers += 1
        try hold(
          answers < 10_000,
          "after \(answers) answers of \(slower), \(usual) before, it is \(window.size) of \(greatest)")
      }
    }
  }
}
