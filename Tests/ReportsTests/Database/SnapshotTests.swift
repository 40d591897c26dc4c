import AnalysisCore
import Testing

@testable import Reports

@Suite("The four reports of the planted month")
struct SnapshotTests {
  @Test("CSV", arguments: ReportKind.allCases)
  func csv(kind: ReportKind) async throws {
    try await ReportsDatabase.with { database in
      let text = try await database.text(kind, .csv)
      #expect(text == Snapshots.csv(kind).split(separator: "\n").map { $0 + "\r\n" }.joined())
    }
  }

  @Test("tables", arguments: ReportKind.allCases)
  func table(kind: ReportKind) async throws {
    try await ReportsDatabase.with { database in
      let text = try await database.text(kind, .table)
      #expect(text == Snapshots.table(kind))
    }
  }

  @Test("JSON", arguments: ReportKind.allCases)
  func json(kind: ReportKind) async throws {
    try await ReportsDatabase.with { database in
      let text = try await database.text(kind, .json, zone: "UTC")
      #expect(text == Snapshots.json(kind))
    }
  }
}
