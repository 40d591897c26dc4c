import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Ends of the audit are kept outside of the database")
struct KeptEndTests {
  private static let number = "3f0c8a52-0a4e-4b7e-9d55-0a1b2c3d4e5f"
  private static let hash = String(repeating: "9f", count: 32)

  @Test("An end is one line, which is read as it was written")
  func line() throws {
    let end = KeptEnd(
      at: 1_795_255_200, installation: Self.number,
      mark: AuditMark(id: 812, hash: Self.hash, oldest: .init(id: 1, at: 1_795_000_000)))
    #expect(end.line == "2026-11-21T10:00:00Z \(Self.number) 812:\(Self.hash):1:1795000000")
    #expect(KeptEnd(end.line) == end)
    let empty = KeptEnd(at: 0, installation: Self.number, mark: AuditMark(id: 0, hash: Self.hash))
    #expect(KeptEnd(empty.line) == empty)
  }

  @Test(
    "Anything else is no end, and is counted",
    arguments: [
      "", "x", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00 \(number) 1:\(hash)", "today \(number) 1:\(hash)",
      "2026-11-21T10:00:00Z \(number)  1:\(hash)", "2026-11-21T10:00:00Z another 1:\(hash)",
      "2026-11-21T10:00:00Z \(number) 1:\(hash) x", "2026-11-21T10:00:00Z \(number) -1:\(hash)",
      "2026-11-21T10:00:00Z \(number) 1:\(hash)00", "2026-11-21T10:00:00Z \(number.uppercased()) 1:\(hash)",
    ])
  func noLine(_ text: String) {
    #expect(KeptEnd(text) == nil)
    #expect(
      KeptEnds([text]) == KeptEnds([text, "2026-11-21T10:00:00Z \(Self.number) 1:\(Self.hash)"].dropLast()))
    #expect(KeptEnds([text]).otherLines == 1)
  }

  @Test("A place is a file or the journal, under a name")
  func places() {
    #expect(AuditEnds("journal") == .journal("analysis"))
    #expect(AuditEnds("journal:trial-2") == .journal("trial-2"))
    #expect(AuditEnds("./journal") == .file("./journal"))
    #expect(AuditEnds("/var/log/analysis/audit-ends") == .file("/var/log/analysis/audit-ends"))
    for wrong in ["", "journal:", "journal:A", "journal:a b", "journal:" + String(repeating: "a", count: 61)]
    {
      #expect(AuditEnds(wrong) == nil, "\(wrong)")
    }
  }

  @Test("What is kept in a file is read from there, and each of many writers has whole lines")
  func file() async throws {
    let folder = try TemporaryFolder(["ends": []])
    let place = AuditEnds.file(folder.path("ends"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in 1...200 {
        let end = KeptEnd(
          at: 1, installation: Self.number, mark: AuditMark(id: Int64(id), hash: Self.hash))
        group.addTask { try place.keep(end) }
      }
      try await group.waitForAll()
    }
    let kept = try place.ends(of: geteuid())
    #expect(kept.otherLines == 0)
    #expect(kept.ends.map(\.mark.id).sorted() == Array(1...200))
  }

  @Test("The end names where the chain begins and ends, and the installation, also before the first entry")
  func end() async throws {
    try await withCheckedQueue { queue in
      let empty = try await AuditLog(queue.pool).end()
      #expect(empty.mark == AuditMark(id: 0, hash: String(repeating: "00", count: 32)))
      try await queue.recordSix()
      let end = try await AuditLog(queue.pool).end()
      #expect(end.installation == empty.installation && end.mark.id == 6)
      let verdict = try await AuditLog(queue.pool).verify(comparedWith: KeptEnds([empty.line, end.line]))
      #expect(verdict.faults == [] && verdict.end == end.mark)
      let atOnce = KeptEnd(at: end.at, installation: end.installation, mark: empty.mark)
      #expect(AuditVerdict.Kept([end, atOnce]).last == end && AuditVerdict.Kept([atOnce, end]).last == end)
      #expect(verdict.kept?.count == 2 && AuditVerdict.Kept([]).last == nil)
    }
  }
}
