import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("The reports of the planted month")
struct SnapshotTests {
  @Test("CSV", arguments: ReportKind.allCases)
  func csv(kind: ReportKind) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let text = try await queue.report(kind, .csv)
      #expect(text == Snapshots.csv(kind).split(separator: "\n").map { $0 + "\r\n" }.joined())
    }
  }

  @Test("tables", arguments: ReportKind.allCases)
  func table(kind: ReportKind) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let text = try await queue.report(kind, .table)
      #expect(text == Snapshots.table(kind))
    }
  }

  @Test("JSON", arguments: ReportKind.allCases)
  func json(kind: ReportKind) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let text = try await queue.report(kind, .json, zone: "UTC")
      #expect(text == Snapshots.json(kind))
    }
  }
}
