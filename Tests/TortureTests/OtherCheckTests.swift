import Testing

@testable import Support
@testable import TortureKit

@Suite("The checker of the torture run: rules, reports and logs")
struct OtherCheckTests {
  @Test("names a rule that the database says is broken, also one that is new")
  func rules() {
    var planted = Planted()
    planted.facts.brokenRules = [
      .init(rule: "I4 usage", detail: "used 5, jobs 4"), .init(rule: "I99 new", detail: "x"),
    ]
    #expect(planted.broken == ["I4 usage (database)", "I99 new (database)"])
  }

  @Test("names counters that differ from the jobs")
  func reconcile() {
    var planted = Planted()
    planted.facts.differences = ["u in 2026-11: counted 5"]
    #expect(planted.broken == ["reconcile"])
  }

  @Test("names a report that does not add up")
  func totals() throws {
    let csv = "user,used,analysed,calls\r\na,3,2,4\r\nb,1,1,1\r\n"
    let totals = try ReportChecks.totals(ofCSV: csv)
    #expect(totals == ReportChecks.Totals(used: 4, analysed: 3, calls: 5))
    #expect(ReportChecks.totals(totals, totals).holds)
    #expect(!ReportChecks.totals(totals, .init(used: 4, analysed: 3, calls: 6)).holds)
    #expect(throws: ReportChecks.BadReport.self) { try ReportChecks.totals(ofCSV: "user,used\r\na,1\r\n") }
    #expect(throws: ReportChecks.BadReport.self) {
      try ReportChecks.totals(ofCSV: "used,analysed,calls\r\n1,x,1\r\n")
    }
  }

  @Test("names a closed month that changed, or was never written")
  func statement() {
    #expect(ReportChecks.statement(first: [1, 2], last: [1, 2]).holds)
    #expect(!ReportChecks.statement(first: [1, 2], last: [1, 3]).holds)
    #expect(!ReportChecks.statement(first: nil, last: nil).holds)
  }

  @Test(
    "names what leaked into a log, and never says the secret itself",
    arguments: [
      "Authorization: Bearer eyJhbGciOi.x.y", "login as Quatremains failed", "to basic-3@patients.example",
    ])
  func leaked(line: String) {
    let search = SecretSearch(secrets: TestUser.secrets + [SecretSearch.token])
    let found = search.found(in: Array("first\n\(line)\nlast".utf8), of: "worker-1")
    #expect(found.count == 1)
    #expect(found[0].hasPrefix("worker-1 holds a"))
    #expect(!TestUser.secrets.contains { found[0].contains(String(decoding: $0.bytes, as: UTF8.self)) })
    #expect(search.found(in: Array("nothing of the kind".utf8), of: "worker-1").isEmpty)
    #expect(search.found(in: [], of: "worker-1").isEmpty)
  }

  @Test("names a piece of an image in a log, as it is, in hexadecimal and in base64")
  func leakedImage() {
    let image = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }
    let search = SecretSearch(secrets: SecretSearch.image(image, at: 100))
    let hexadecimal = image.map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0\(text)" : text
    }.joined()
    #expect(search.found(in: [1, 2] + image, of: "log").count == 1)
    #expect(search.found(in: Array("x\(hexadecimal)".utf8), of: "log").count == 1)
    let pieces = SecretSearch.image(image, at: 99)
    #expect(search.secrets.map(\.bytes) == pieces.map(\.bytes), "the piece begins at a group of three")
    #expect(SecretSearch.image(image, at: 290).isEmpty)
  }

  @Test("The verdict names each broken rule with what breaks it, and how many more there are")
  func verdict() {
    var verdict = Verdict()
    verdict.findings = [
      Finding("I1 lost", "every acknowledged job is there", broken: (1...12).map { "job \($0)" }),
      Finding("I9 statement", "a closed month comes out the same"),
    ]
    verdict.faults = ["worker-killed": 3, "answer-500": 4]
    #expect(verdict.faultCount == 7)
    #expect(verdict.broken.map(\.rule) == ["I1 lost"])
    let text = verdict.text
    #expect(text.contains("BROKEN (12)"))
    #expect(text.contains("job 10\n") && !text.contains("job 11\n") && text.contains("and 2 more"))
    #expect(text.contains("I9 statement  a closed month comes out the same  holds"))
    #expect(text.contains("Faults caused: 7 of 2 kinds"))
  }
}
