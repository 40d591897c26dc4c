import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Outcomes and files")
struct OutcomeTests {
  static let request = ReportRequest(.usage, month: Written.october, format: .csv)
  static let due = StatementTests.due

  @Test("a month that is running is written, whatever is open")
  func running() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let outcome = try await queue.reporter(at: "2020-11-01T11:59:59Z").run(
        Self.request, to: .stream { _ in })
      #expect(outcome == ReportOutcome(kind: .written, rows: 4, state: .draft, openJobs: 0, sha256: nil))
    }
  }

  @Test(
    "a draft of a month that is over says how many of its jobs are open",
    arguments: ReportKind.allCases.filter { !$0.isOfReviews })
  func openJobs(kind: ReportKind) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let outcome = try await queue.reporter(at: "2020-11-01T12:00:00Z").run(
        ReportRequest(kind, month: Written.october), to: .stream { _ in })
      #expect(outcome.kind == .openJobs)
      #expect(outcome.openJobs == 2)
      #expect(outcome.state == .draft)
    }
  }

  @Test("the open jobs are the month's, also where one user's usage is asked for")
  func openJobsBesideTheScope() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let outcome = try await queue.reporter(at: "2020-11-01T12:00:00Z").run(
        ReportRequest(.usage, month: Written.october, scope: UsageScope(user: "=1+1")), to: .stream { _ in })
      #expect(outcome.rows == 1)
      #expect(outcome.openJobs == 2)
    }
  }

  @Test("the sidecar tells the file's hash, length, rows, month, zone, state and moment")
  func sidecar() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      var request = Self.request
      request.zone = "asia/jakarta"
      try await queue.close(at: Self.due)
      let outcome = try await queue.reporter(at: Self.due).run(
        request, to: .file(folder.path("usage.csv")))
      let bytes = try folder.bytes("usage.csv")
      let sha256 = try await Python.sha256(bytes)
      #expect(outcome == ReportOutcome(kind: .written, rows: 4, state: .closed, openJobs: 0, sha256: sha256))
      #expect(
        try folder.json("usage.csv.json") == [
          "report": "usage", "month": "2020-10", "zone": "Asia/Jakarta", "state": "closed", "rows": 4,
          "generated_at": "2020-11-04T12:00:00Z", "format": "csv", "bytes": .number(Double(bytes.count)),
          "sha256": .text(sha256),
        ])
      #expect(try folder.names == ["usage.csv", "usage.csv.json"])
      #expect(try folder.permissions("usage.csv") == 0o600)
      #expect(try folder.permissions("usage.csv.json") == 0o600)
    }
  }

  @Test("the file holds what the stream carries", arguments: ReportKind.allCases, ReportFormat.allCases)
  func fileAndStream(kind: ReportKind, format: ReportFormat) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      let request = ReportRequest(kind, month: Written.october, format: format)
      _ = try await queue.reporter(at: Self.due).run(request, to: .file(folder.path("out")))
      #expect(
        String(decoding: try folder.bytes("out"), as: UTF8.self)
          == (try await queue.report(request, at: Self.due)))
    }
  }

  @Test("a closed statement that is there already is not written again", arguments: ReportFormat.allCases)
  func nothingToDo(format: ReportFormat) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      let request = ReportRequest(.usage, month: Written.october, format: format)
      try await queue.close(at: Self.due)
      let first = try await queue.reporter(at: Self.due).run(request, to: .file(folder.path("out")))
      let node = try folder.node("out")
      let again = try await queue.reporter(at: "2021-01-01T00:00:00Z").run(
        request, to: .file(folder.path("out")))
      #expect(first.kind == .written)
      // A table leaves out who used nothing.
      let rows = format == .table ? 3 : 4
      #expect(
        again
          == ReportOutcome(kind: .nothingToDo, rows: rows, state: .closed, openJobs: 0, sha256: first.sha256)
      )
      #expect(try folder.node("out") == node)
      #expect(try folder.names == ["out", "out.json"])
    }
  }

  @Test(
    "a file that is not exactly the statement is written again",
    arguments: ["shorter", "longer", "other", "sidecar gone", "sidecar other"])
  func repaired(damage: String) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      let path = folder.path("out")
      try await queue.close(at: Self.due)
      let reporter = queue.reporter(at: Self.due)
      _ = try await reporter.run(Self.request, to: .file(path))
      let whole = try folder.bytes("out")
      let sidecar = try folder.bytes("out.json")
      switch damage {
      case "shorter": try folder.write(Array(whole.dropLast()), to: "out")
      case "longer": try folder.write(whole + [0x0A], to: "out")
      case "other": try folder.write(whole.map { $0 == 0x61 ? 0x62 : $0 }, to: "out")
      case "sidecar gone": try folder.remove("out.json")
      default: try folder.write(Array("{}".utf8), to: "out.json")
      }
      #expect(try await reporter.run(Self.request, to: .file(path)).kind == .written)
      #expect(try folder.bytes("out") == whole)
      #expect(try folder.bytes("out.json") == sidecar)
    }
  }

  @Test("a draft is always written anew, over the one before")
  func draftAgain() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      for moment in ["2020-10-20T00:00:00Z", "2020-10-21T00:00:00Z"] {
        let outcome = try await queue.reporter(at: moment).run(Self.request, to: .file(folder.path("out")))
        #expect(outcome.kind == .written)
        #expect(try folder.json("out.json")["generated_at"] == .text(moment))
      }
    }
  }

  @Test("nothing is left behind where a file cannot be written, and what was there stays")
  func unwritable() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      try folder.write(Array("old".utf8), to: "kept")
      try folder.makeFolder("kept.json")
      try folder.makeFolder("folder")
      for name in ["kept", "folder", "missing/out", "kept/out"] {
        let error = await #expect(throws: ReportsError.self) {
          try await queue.reporter(at: Self.due).run(Self.request, to: .file(folder.path(name)))
        }
        #expect(error?.code == .unwritable)
      }
      #expect(try folder.names == ["folder", "kept", "kept.json"])
      #expect(try folder.bytes("kept") == Array("old".utf8))
    }
  }

  @Test("nothing is left behind when the database fails in the middle of the rows")
  func failsInTheMiddle() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let folder = try TemporaryFolder()
      try folder.write(Array("old".utf8), to: "out")
      // The last row to be read has a band that no program knows, which the table would refuse.
      try await queue.execute(
        """
        ALTER TABLE analysis.result DROP CONSTRAINT result_primary_whole;
        UPDATE analysis.result SET primary_band = 9 WHERE job_id = 202;
        """)
      let error = await #expect(throws: ReportsError.self) {
        try await queue.reporter(at: Self.due).run(
          ReportRequest(.analyses, month: Written.october, format: .csv), to: .file(folder.path("out")))
      }
      #expect(error?.code == .schema)
      #expect(error?.description.contains("band numbered 9") == true)
      #expect(try folder.names == ["out"])
      #expect(try folder.bytes("out") == Array("old".utf8))
    }
  }

  @Test("a stream that throws ends the report with what it threw")
  func streamThrows() async throws {
    struct Full: Error {}
    try await withQueue(from: .plantedMonth) { queue in
      let error = await #expect(throws: ReportsError.self) {
        try await queue.reporter(at: Self.due).run(Self.request, to: .stream { _ in throw Full() })
      }
      #expect(error?.code == .interrupted)
      #expect(error?.underlying is Full)
    }
  }

  @Test("a database without the schema is told to migrate")
  func noSchema() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      try await queue.execute("DROP SCHEMA analysis CASCADE")
      let error = await #expect(throws: ReportsError.self) {
        try await queue.reporter(at: Self.due).run(Self.request, to: .stream { _ in })
      }
      #expect(error?.code == .schema)
      #expect(error?.description.contains("analysisctl migrate") == true)
    }
  }

  @Test("progress ends with the number of rows")
  func progress() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let seen = Collected()
      let outcome = try await queue.reporter(at: Self.due).run(
        Self.request, to: .stream { _ in }, progress: { seen.add([UInt8($0)]) })
      #expect(seen.bytes.last == UInt8(outcome.rows))
    }
  }
}
