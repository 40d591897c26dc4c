import TestSupport
import Testing

@testable import Endpoint
@testable import Support

@Suite("The token's renewals in seeded histories")
struct TokenHistories {
  /// A backend that issues tokens, ends them and at times refuses what it issued; callers who want one; and a
  /// clock.
  struct World {
    var renewals = TokenRenewals()
    var now = 1_900_000_000.0
    var instant = ContinuousClock.now
    /// When the present token ends.
    var ends = Double.infinity
    var renewal: (byLogin: Bool, ends: Double)?
    /// The refused generations of those who wait.
    var waiting: [Int?] = []
    var logins = 0
    var failedAt: ContinuousClock.Instant?
    /// Whether the present token was refused as soon as it was new.
    var refusedNew = false

    mutating func pass(_ seconds: Double) {
      now += seconds
      instant += .milliseconds(Int64(seconds * 1000))
    }

    /// A caller asks; the rules of what it is told.
    mutating func ask(after refused: Int?) throws {
      let before = renewals.generation
      switch renewals.ask(after: refused, now: now, at: instant) {
      case .use(let borrowed):
        try hold(borrowed.generation == before, "the present token is \(before), not \(borrowed.generation)")
        try hold(
          refused.map { borrowed.generation > $0 } ?? true,
          "the refused token \(borrowed.generation) was borrowed again")
        try hold(now < ends, "a token was borrowed that has ended")
      case .wait:
        try hold(renewal != nil, "somebody waits and nobody renews")
        waiting.append(refused)
      case .renew(let byLogin):
        try hold(renewal == nil, "two renewals are under way")
        try hold(byLogin == refusedNew, "a login is for a token that was refused as soon as it was new")
        if let failedAt {
          try hold(instant >= failedAt + .seconds(1), "a login \(instant - failedAt) after one failed")
        }
        renewal = (byLogin, now + 3)
        waiting.append(refused)
        logins += 1
      case .fail(let failure):
        try hold(failedAt != nil, "a caller fails and no login has failed")
        let isRefused = refused.map { $0 >= before } ?? false
        try hold(isRefused || now >= ends || before == 0, "a caller fails while the token holds")
        let wait = failure.retryAfter ?? .zero
        try hold(wait > .zero && wait <= .seconds(60), "a caller is told to wait for \(wait)")
      }
    }

    /// A call with the present token is refused although the token is new.
    mutating func refuse() {
      guard renewals.generation > 0, renewal == nil else { return }
      renewals.newTokenWasRefused(renewals.generation, at: instant)
      refusedNew = true
    }

    /// The renewal ends; everybody who waited hears of it.
    mutating func finish(_ result: Result<Session, CallFailure>) throws {
      let before = renewals.generation
      renewal = nil
      renewals.renewed(result, now: now, at: instant)
      let isNew =
        if case .success(let session) = result { session.expiresAt ?? .infinity } else { Double?.none }
      try hold(renewals.generation == before + (isNew == nil ? 0 : 1), "generations are numbered in turn")
      if let isNew {
        ends = isNew
        refusedNew = false
      } else {
        failedAt = instant
      }
      for refused in waiting {
        switch renewals.waited(result, after: refused, now: now) {
        case .success(let borrowed):
          try hold(
            refused.map { borrowed.generation > $0 } ?? true,
            "the refused token \(borrowed.generation) was borrowed again")
          try hold(now < ends || isNew != nil, "a token was borrowed that has ended")
        case .failure:
          try hold(isNew == nil, "a caller who waited gets nothing of a renewal that succeeded")
          let isRefused = refused.map { $0 >= before } ?? false
          try hold(isRefused || now >= ends || before == 0, "a caller fails while the token holds")
        }
      }
      waiting = []
    }
  }

  private static func session(life: Int?, from now: Double) throws -> Session {
    let life = life.map { #","expiresIn":\#($0)"# } ?? ""
    let answer = try JSONReader.read(Array(#"{"token":"t","refreshToken":"r"\#(life)}"#.utf8))
    return try Session(
      AnswerFields(answer, path: "login"), Endpoint.Fields(.server), receivedAt: now)
  }

  @Test(
    "one renewal serves all, no token is borrowed that ended or was refused, and who holds one does not fail")
  func histories() throws {
    try simulate(600) { random in
      var world = World()
      let failures = Double.random(in: 0...0.6, using: &random)
      for _ in 0..<120 {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: try world.ask(after: nil)
        case 4..<6:
          // Whoever was refused had the present token or an earlier one.
          let generation = world.renewals.generation
          guard generation > 0 else { continue }
          let refused = max(1, generation - Int.random(in: 0...2, using: &random))
          try world.ask(after: refused)
        case 6..<8:
          world.pass(
            Double.random(in: 0...([2, 20, 400].randomElement(using: &random) ?? 1), using: &random))
        default:
          guard world.renewal != nil else { continue }
          world.pass(Double.random(in: 0...3, using: &random))
          let fails = Double.random(in: 0..<1, using: &random) < failures
          let life = Bool.random(using: &random) ? nil : Int.random(in: 5...4000, using: &random)
          let session = try Self.session(life: life, from: world.now)
          try world.finish(
            fails ? .failure(CallFailure(.server, "No.", consumesAttempt: false)) : .success(session))
        }
      }
    }
  }

  @Test("however many callers are refused the same token, one login is made for them")
  func oneLogin() throws {
    try simulate(300) { random in
      var world = World()
      try world.ask(after: nil)
      try world.finish(.success(try Self.session(life: nil, from: world.now)))
      for generation in 1...5 {
        let before = world.logins
        var callers = Int.random(in: 1...40, using: &random)
        while callers > 0 {
          try world.ask(after: generation)
          callers -= 1
          if callers == 0 || world.renewal != nil && Int.random(in: 0..<10, using: &random) == 0 {
            if world.renewal != nil {
              try world.finish(.success(try Self.session(life: nil, from: world.now)))
            }
          }
        }
        try hold(world.logins == before + 1, "\(world.logins - before) logins for one refused token")
      }
    }
  }
}
