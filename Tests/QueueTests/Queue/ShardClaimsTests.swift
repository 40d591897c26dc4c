import Testing

@testable import Queue
@testable import Support

@Suite("The claims of a worker in a shard")
struct ShardClaimsTests {
  let start = ContinuousClock.now
  let urgent = Lane(.throat, .urgent)
  let normal = Lane(.throat, .normal)

  private func lease(_ lane: Lane, _ times: [Int64]) throws -> ClaimedLease {
    let period = try #require(Period("2026-11"))
    let jobs = times.map { time in
      ClaimedJob(
        shard: 0, lease: 1, lane: lane, id: JobID(time), period: period, attempt: 1, maxAttempts: 10,
        virtualTime: time, userID: 1, kind: .throat, image: ImageKey(period: period, id: 1),
        imageMark: [], imageBytes: 1, isUnsanitized: false, isExpired: false)
    }
    return ClaimedLease(shard: 0, id: 1, lane: lane, jobs: jobs)
  }

  @Test("do not take a lane for empty that was not asked, since those before it filled the claim")
  func notReached() throws {
    var claims = ShardClaims(kinds: [.throat], now: start)
    let request = claims.next(count: 2, quarantineInFlight: false, now: start)
    claims.claimed([try lease(urgent, [10, 20])], for: request, count: 2, now: start)
    let next = claims.next(count: 2, quarantineInFlight: false, now: start)
    #expect(next.map(\.lane).contains(normal))
    #expect(next.contains(LaneClaim(lane: urgent, from: 20, limit: 2)))
  }

  @Test("ask a lane again from the published mark before they take it for empty")
  func fallBackFirst() throws {
    var claims = ShardClaims(kinds: [.throat], now: start)
    claims.published([urgent: PublishedMark(scanFrom: 0, furthest: 0)])
    var request = claims.next(count: 2, quarantineInFlight: false, now: start)
    claims.claimed([try lease(urgent, [10, 20])], for: request, count: 2, now: start)
    request = claims.next(count: 2, quarantineInFlight: false, now: start)
    claims.claimed([], for: request, count: 2, now: start)
    request = claims.next(count: 2, quarantineInFlight: false, now: start)
    #expect(request.contains(LaneClaim(lane: urgent, from: 0, limit: 2)))
    claims.claimed([], for: request, count: 2, now: start)
    #expect(claims.next(count: 2, quarantineInFlight: false, now: start).isEmpty)
    #expect(claims.isIdle(quarantineInFlight: false))
  }

  @Test("publish the furthest virtual time of each lane")
  func marks() throws {
    var claims = ShardClaims(kinds: [.throat], now: start)
    let request = claims.next(count: 5, quarantineInFlight: false, now: start)
    claims.claimed(
      [try lease(urgent, [10, 20]), try lease(normal, [7])], for: request, count: 5, now: start)
    #expect(claims.marks.first { $0.lane == urgent }?.furthest == 20)
    #expect(claims.marks.first { $0.lane == normal }?.furthest == 7)
  }

  @Test("have marks to publish until these are published, whoever else was faster")
  func unpublished() throws {
    var claims = ShardClaims(kinds: [.throat], now: start)
    #expect(!claims.hasUnpublishedMarks)
    let request = claims.next(count: 5, quarantineInFlight: false, now: start)
    claims.claimed([try lease(urgent, [10, 20])], for: request, count: 5, now: start)
    #expect(claims.hasUnpublishedMarks)
    claims.published([urgent: PublishedMark(scanFrom: 0, furthest: 15)])
    #expect(claims.hasUnpublishedMarks, "another worker wrote the lane, and not as far")
    claims.published([urgent: PublishedMark(scanFrom: 0, furthest: 30)])
    #expect(!claims.hasUnpublishedMarks)
  }

  @Test("ask the lanes in which a look found jobs, from the published mark, and no others")
  func looked() throws {
    var claims = ShardClaims(kinds: [.throat], now: start)
    claims.looked([:], now: start)
    #expect(claims.isIdle(quarantineInFlight: false))
    claims.looked([urgent: 500], now: start)
    var request = claims.next(count: 2, quarantineInFlight: false, now: start)
    #expect(request == [LaneClaim(lane: urgent, from: 500, limit: 2)])
    claims.claimed([try lease(urgent, [700, 900])], for: request, count: 2, now: start)
    // A sweep lowered the mark to a job that was committed late.
    claims.looked([urgent: 100], now: start)
    request = claims.next(count: 2, quarantineInFlight: false, now: start)
    #expect(request == [LaneClaim(lane: urgent, from: 100, limit: 2)])
  }

  /// A lane model with a lagging published mark: users submit all the time, other claims hide rows, and
  /// the worker must reach every job within a second of its submit, since none commits late.
  @Test("find every job in seeded histories", arguments: UInt64(1)...20)
  func histories(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var claims = ShardClaims(kinds: [.throat, .ear], now: start)
    let lanes = claims.marks.map(\.lane).filter { !$0.isQuarantine }
    var waiting: [Lane: Set<Int64>] = [:]
    var clock: [Lane: Int64] = [:]
    var published: [Lane: Int64] = [:]
    var now = start
    var lookAt = start
    var submitted = 0
    var claimed = 0
    for step in 0..<800 {
      now += .milliseconds(Int.random(in: 1...30, using: &random))
      if step < 500, Bool.random(using: &random), let lane = lanes.randomElement(using: &random) {
        let time = (clock[lane] ?? 0) + Int64.random(in: 1...50_000, using: &random)
        if waiting[lane, default: []].insert(time).inserted { submitted += 1 }
        if Bool.random(using: &random) { claims.wakeUp() }
      }
      if now >= lookAt {
        lookAt = now + .seconds(1)
        let found = waiting.filter { lane, times in times.contains { $0 >= published[lane, default: 0] } }
        claims.looked(
          Dictionary(uniqueKeysWithValues: found.keys.map { ($0, published[$0, default: 0]) }), now: now)
      }
      let count = Int.random(in: 1...4, using: &random)
      let request = claims.next(count: count, quarantineInFlight: true, now: now)
      var left = count
      var leases: [ClaimedLease] = []
      for lane in request where left > 0 {
        let times = waiting[lane.lane, default: []].filter { $0 >= lane.from }.sorted().prefix(
          min(left, lane.limit))
        guard !times.isEmpty else { continue }
        waiting[lane.lane]?.subtract(times)
        left -= times.count
        claimed += times.count
        leases.append(try lease(lane.lane, Array(times)))
      }
      claims.claimed(leases, for: request, count: count, now: now)
      if step % 40 == 0 {
        // What the others hear is the mark before this one.
        published = clock
        claims.published(clock.mapValues { PublishedMark(scanFrom: $0, furthest: $0) })
        for mark in claims.marks { clock[mark.lane] = mark.furthest }
      }
    }
    #expect(claimed == submitted)
  }
}
