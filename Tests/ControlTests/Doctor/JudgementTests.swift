import Testing

@testable import Control
@testable import Endpoint
@testable import Queue
@testable import Support

@Suite("Judgements of doctor that no server of ours can show")
struct JudgementTests {
  private var facts: ServerFacts {
    ServerFacts(
      version: "15.18", versionNumber: 150_018, isStandby: false, isReadOnly: false, fsync: true,
      fullPageWrites: true, synchronousCommit: "on", encoding: "UTF8", database: "d", address: nil,
      isEncrypted: false, role: "r", isSuperuser: false, isOutOfSupport: false)
  }

  private func state(_ check: String, _ facts: ServerFacts) -> Finding.State? {
    ServerJudgement(facts: facts).findings.first { $0.check == check }?.state
  }

  @Test(
    "versions: too old, tested, newer, without corrections",
    arguments: [
      (140_012, false, "wrong"), (150_018, false, "ok"), (180_006, false, "ok"), (190_001, false, "warning"),
      (150_040, true, "warning"),
    ])
  func version(number: Int, isOutOfSupport: Bool, expected: String) {
    var facts = facts
    facts.versionNumber = number
    facts.isOutOfSupport = isOutOfSupport
    #expect(state("server.version", facts)?.rawValue == expected)
  }

  @Test(
    "an endpoint that may speak HTTP/2 alone: the option that offers it is named",
    arguments: [
      "TLS with m.example.org failed: tlsv1 alert no application protocol.",
      "m.example.org closed the connection without an answer.",
    ])
  func newestVersion(message: String) {
    let finding = EndpointChecks.unwell(CallFailure(.notSent, message), "m.example.org")
    #expect(finding.state == .wrong && finding.advice?.contains("--endpoint-http 2") == true)
  }

  @Test("encryption: of no concern on this machine, seen on the network")
  func encryption() {
    var facts = facts
    for (address, isEncrypted, expected) in [
      (nil, false, Finding.State.ok), ("127.0.0.1", false, .ok), ("::1", false, .ok), ("10.0.0.7", true, .ok),
      ("10.0.0.7", false, .warning),
    ] as [(String?, Bool, Finding.State)] {
      facts.address = address
      facts.isEncrypted = isEncrypted
      #expect(state("server.tls", facts) == expected)
    }
  }

  @Test("transaction numbers near their end are wrong")
  func wraparound() {
    let server = VacuumChecks.Server(
      isOn: true, counts: true, freezeAge: 200_000_000, oldestDatabase: "d", age: 1_600_000_000)
    #expect(VacuumChecks.judge(server).map(\.state) == [.ok, .wrong])
  }

  @Test("a month may wait for the morning on which it is closed; one that waits for longer is named")
  func months() throws {
    let october = try #require(Period("2026-10"))
    func finding(waits days: Double) -> Finding {
      MonthCheck.judge(
        [.init(period: october, dueAt: 2_000_000_000 - days * 86_400)], now: 2_000_000_000)
    }
    #expect(MonthCheck.judge([], now: 2_000_000_000).state == .ok)
    #expect(finding(waits: 0.9).state == .ok)
    let due = finding(waits: 2)
    #expect(due.state == .warning && due.seen.hasPrefix("2026-10 could be closed for 2"))
    #expect(due.advice?.contains("analysisctl month close 2026-10") == true)
  }

  @Test("few time zones mean that the server has none of its own")
  func zones() {
    #expect(ZoneChecks.judge(known: 3, unknownDefault: nil).map(\.state) == [.wrong])
  }

  @Test("a pooler is known by sessions that two connections share, or by one that changes")
  func pooler() {
    func state(_ announced: [Int32], _ answered: [[Int32]]) -> Finding.State {
      PoolerCheck.judge(.init(announced: announced, answered: answered), nil).state
    }
    #expect(state([1, 2], [[1, 1], [2, 2]]) == .ok)
    #expect(state([8, 9], [[1, 1], [2, 2]]) == .ok)
    #expect(state([8, 9], [[1, 1], [1, 1]]) == .warning)
    #expect(state([8, 9], [[1, 2], [3, 3]]) == .warning)
  }

  @Test("a clock is reported as wrong only when the time that asking took cannot explain it")
  func clock() {
    func state(_ ahead: Double, _ uncertainty: Double) -> Finding.State {
      ClockCheck.judge(.init(ahead: ahead, uncertainty: uncertainty), check: "c", who: "w").state
    }
    #expect(state(5, 0.1) == .warning && state(-5, 0.1) == .warning)
    #expect(state(5, 4) == .ok && state(1, 0) == .ok)
  }

  @Test(
    "two volumes' units, as they are sold",
    arguments: [(999, "999 bytes"), (1_500_000, "1.5 MB"), (2_340_000_000, "2.3 GB")])
  func size(bytes: Int64, text: String) {
    #expect(VolumeChecks.size(bytes) == text)
  }

  @Test("a schema that is older by one works: a warning")
  func olderSchema() throws {
    let applied = (1...10).map { SchemaStatus.Applied(number: $0, name: "\($0)", checksum: "", at: 0) }
    let status = SchemaStatus(applied: applied, pending: ["0011_next"], outdatedFunctions: [], unknown: [])
    let found = SchemaChecks.judge(SchemaChecks.Facts(status: status, altered: []))
    #expect(found.first?.state == .warning)
    #expect(found.first?.seen.hasPrefix("the schema is at version 10, one before") == true)
  }
}
