import Testing

@testable import Support
@testable import TortureKit

@Suite("The checker of the torture run: calls and attempts")
struct CallCheckTests {
  @Test("names a job with two results")
  func twoResults() {
    var planted = Planted()
    planted.facts.attempts.append(DatabaseFacts.Attempt(job: JobID(3), failure: nil, calls: 1))
    #expect(planted.broken == ["I3 one result"])
  }

  @Test("names a job that was called for more often than it was tried")
  func tooManyCalls() {
    var planted = Planted()
    planted.call(JobID(3))
    #expect(planted.broken == ["I8 calls", "I8 lost"])
    #expect(
      planted.callChecks.findings().first { !$0.holds }?.broken == [
        "job 3 was called for 2 times in 1 attempts"
      ])
  }

  @Test("allows a call for each attempt that was written down, a lost worker's too")
  func retried() {
    var planted = Planted()
    planted.call(JobID(3), status: 500, "500")
    planted.failed(JobID(3), "server")
    planted.call(JobID(3), status: 200, "analysis")
    planted.failed(JobID(3), "worker_lost")
    #expect(planted.broken.isEmpty)
    #expect(planted.callChecks.counts.unstored == 1)
  }

  @Test("counts each call of a job with so many attempts that some are folded into one line")
  func folded() {
    var planted = Planted()
    for number in 1...25 {
      planted.call(JobID(3), status: 503, "503")
      if number < 20 { planted.failed(JobID(3), "overload") }
    }
    #expect(planted.broken == ["I8 calls", "I8 lost"])
    planted.failed(JobID(3), "overload", calls: 6)
    #expect(planted.broken.isEmpty)
  }

  @Test("allows one call more for each crash of the server, and no more than workers held")
  func lostClaims() {
    var planted = Planted()
    planted.crashes = ServerCrashes(count: 2, held: 3)
    planted.call(JobID(3))
    planted.call(JobID(3))
    planted.call(JobID(4))
    #expect(planted.broken.isEmpty)
    #expect(planted.callChecks.counts.lost == 3)
    planted.call(JobID(5))
    #expect(planted.broken == ["I8 lost"])
    planted.call(JobID(3))
    #expect(planted.broken == ["I8 calls", "I8 lost"])
  }

  @Test("allows no call for an attempt that tells of none")
  func expired() {
    var planted = Planted()
    planted.failed(JobID(3), "expired", calls: 0)
    planted.call(JobID(3), status: 500, "500")
    #expect(planted.broken == ["I8 calls", "I8 lost"])
  }

  @Test("leaves calls aside of which only the token was refused")
  func refusedToken() {
    var planted = Planted()
    planted.call(JobID(3), status: 401, "status-401")
    planted.call(JobID(3), status: 401, "401")
    #expect(planted.broken.isEmpty)
  }

  @Test("allows one call that was under way for a job that was cancelled, and no more")
  func cancelled() {
    var planted = Planted()
    planted.add(JobID(30), place: .cancelled)
    planted.call(JobID(30))
    #expect(planted.broken.isEmpty)
    planted.call(JobID(30))
    #expect(planted.broken == ["I8 calls", "I8 lost"])
  }

  @Test("names a result for which the endpoint answered no analysis")
  func unanswered() {
    var planted = Planted()
    planted.calls.removeAll { $0.job == "0-4" }
    planted.call(JobID(4), status: 500, "500")
    #expect(planted.broken == ["I8 answered"])
  }

  @Test("names a call for a job that is not there")
  func unknownCall() {
    var planted = Planted()
    planted.call(JobID(77))
    #expect(planted.broken == ["I8 unknown"])
  }

  @Test("names a job that was called for under two keys")
  func twoKeys() {
    var planted = Planted()
    planted.failed(JobID(3), "server")
    planted.calls.append(EndpointCall(key: "other-throat-0-3", status: 500, outcome: "500"))
    #expect(planted.broken == ["I8 key"])
  }

  @Test("reads the endpoint's log, but for lines that it died over: the next one goes on behind it")
  func log() throws {
    let lines = """
      {"time":"2026-11-21T10:00:00.000Z","key":"0-1","image":"ab","bytes":3,"try":1,"status":200,"outcome":"analysis","in_flight":1,"ms":3.5}
      {"time":"2026-11-21T10:00:00.000Z","key":"0-{"time":"2026-11-21T10:00:00.000Z","status":401,"outcome":"status-401","in_flight":1,"ms":0.5}
      {"time":"2026-11-21T10:00:00.000Z","key":"0-2","sta
      """
    let calls = try EndpointCall.lines(Array(lines.utf8))
    #expect(calls.map(\.key) == ["0-1", nil])
    #expect(calls.map(\.wasAnalysis) == [true, false])
    #expect(calls.map(\.fault) == [nil, "answer-status-401"])
    #expect(try EndpointCall.lines([]).isEmpty)
  }
}
