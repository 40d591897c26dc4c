import Testing

@testable import Gateway
@testable import Support

@Suite("How much a user may ask for in a minute")
struct RateLimitTests {
  private let ann = UserKey(shard: 0, id: 1)
  private let bob = UserKey(shard: 0, id: 2)
  private let now = ContinuousClock.now

  @Test("A minute's worth may come at once, then as much as is paid back; another user is not held up")
  func bursts() {
    let limit = RateLimit<UserKey>(eachMinute: 6)
    for _ in 0..<6 { #expect(limit.take(1, ann, at: now) == nil) }
    #expect(limit.take(1, ann, at: now) == .seconds(10))
    #expect(limit.take(1, bob, at: now) == nil)
    // What is refused costs nothing.
    #expect(limit.take(1, ann, at: now + .seconds(9)) == .seconds(1))
    #expect(limit.take(1, ann, at: now + .seconds(10)) == nil)
    #expect(limit.take(1, ann, at: now + .seconds(10)) == .seconds(10))
    for _ in 0..<6 { #expect(limit.take(1, ann, at: now + .seconds(200)) == nil) }
    #expect(limit.take(1, ann, at: now + .seconds(200)) != nil)
  }

  @Test("In no minute comes more than twice what may come", arguments: [1, 7, 60])
  func longRun(rate: Int) {
    let limit = RateLimit<UserKey>(eachMinute: rate)
    var taken: [Int] = []
    for second in 0..<600 {
      for _ in 0..<3 where limit.take(1, ann, at: now + .seconds(second)) == nil { taken.append(second) }
    }
    for start in 0..<540 {
      #expect(taken.count { (start..<start + 60).contains($0) } <= 2 * rate)
    }
    #expect(taken.count <= 11 * rate)
  }

  @Test("What was taken for nothing is given back")
  func givenBack() {
    let limit = RateLimit<UserKey>(eachMinute: 2)
    for _ in 0..<10 {
      #expect(limit.take(1, ann, at: now) == nil)
      limit.giveBack(1, ann)
    }
    for _ in 0..<2 { #expect(limit.take(1, ann, at: now) == nil) }
    #expect(limit.take(1, ann, at: now) == .seconds(30))
  }

  @Test("A user has so many open at once; another is not held up, and what is let go is given back")
  func open() {
    let open = OpenByUser(atMost: 2)
    var places = [open.take(ann), open.take(ann)]
    #expect(!places.contains { $0 == nil } && open.take(ann) == nil)
    #expect(open.take(bob) != nil)
    places.removeLast()
    let place = open.take(ann)
    #expect(place != nil && open.take(ann) == nil)
  }

  @Test("All users together have so many open at once")
  func openInAll() {
    let open = OpenByUser(atMost: 2, inAll: 3)
    var places = [open.take(ann), open.take(ann), open.take(bob)]
    #expect(!places.contains { $0 == nil } && open.take(bob) == nil)
    places.removeFirst()
    #expect(open.take(bob) != nil)
  }

  @Test("A question costs a tenth, and without a limit nothing is counted")
  func shares() {
    let limit = RateLimit<UserKey>(eachMinute: 1)
    for _ in 0..<10 { #expect(limit.take(0.1, ann, at: now) == nil) }
    #expect(limit.take(0.1, ann, at: now) != nil)
    let none = RateLimit<UserKey>(eachMinute: nil)
    for _ in 0..<10_000 { #expect(none.take(1, ann, at: now) == nil) }
  }
}
