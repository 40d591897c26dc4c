import Foundation
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Zones")
struct ZoneTests {
  @Test("each user's times are in their own billing zone, with the offset of that day")
  func billingZones() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let finished = try await column("finished_at", of: .analyses, queue)
      #expect(
        finished == [
          "2020-11-01T01:30:00+07:00", "2020-10-02T07:00:00+07:00", "2020-10-03T07:00:00+07:00",
          "2020-10-31T08:00:00-04:00", "2020-11-02T07:00:00-05:00", "2020-10-20T00:00:00+00:00",
        ])
      #expect(
        try await column("last_reset", of: .usage, queue) == [
          "2020-10-01T00:00:00+00:00", "2020-10-01T00:00:00+07:00", "2020-10-01T00:00:00-04:00",
          "2020-10-01T00:00:00+00:00",
        ])
    }
  }

  @Test("a zone that is asked for shows the same moments on its clocks", arguments: ["draft", "closed"])
  func askedFor(state: String) async throws {
    let moment = state == "draft" ? StatementTests.aSecondBefore : StatementTests.due
    try await withQueue(from: .plantedMonth) { queue in
      let shown = try await column("last_reset", of: .usage, zone: "Asia/Kathmandu", at: moment, queue)
      #expect(
        shown == [
          "2020-10-01T05:45:00+05:45", "2020-09-30T22:45:00+05:45", "2020-10-01T09:45:00+05:45",
          "2020-10-01T05:45:00+05:45",
        ])
    }
  }

  @Test(
    "a zone changes times and nothing else",
    arguments: [
      (ReportKind.usage, ["last_reset"]), (.analyses, ["finished_at", "answered_at"]), (.conditions, []),
      (.summary, []), (.agreement, []), (.calibration, []),
    ])
  func onlyTimes(kind: ReportKind, times: [String]) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let here = try await rows(kind, zone: nil, queue)
      let there = try await rows(kind, zone: "Pacific/Kiritimati", queue)
      let header = try #require(here.first)
      let kept = header.indices.filter { !times.contains(header[$0]) }
      #expect(here.map { row in kept.map { row[$0] } } == there.map { row in kept.map { row[$0] } })
      #expect((here == there) == times.isEmpty)
    }
  }

  @Test("the zone's name is taken in any case and told as it is spelt")
  func spelling() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let text = try await queue.report(.usage, .json, zone: "asia/JAKARTA")
      #expect(text.contains("\"zone\":\"Asia/Jakarta\""))
    }
  }

  @Test(
    "what is no zone is refused, the POSIX forms that PostgreSQL would take among it",
    arguments: ["Asia/Jakrta", "UTC+7", "FOO-5", "", " ", "'; DROP SCHEMA analysis; --", "+07:00"])
  func unknown(zone: String) async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let error = await #expect(throws: ReportsError.self) {
        try await queue.report(.usage, .csv, zone: zone)
      }
      #expect(error?.code == .unknownZone)
    }
  }

  private func rows(
    _ kind: ReportKind, zone: String?, at moment: String = StatementTests.aSecondBefore,
    _ queue: QueueFixture
  ) async throws -> [[String]] {
    let text = try await queue.report(kind, .csv, zone: zone, at: moment)
    return try await Python.csvRows(Array(text.utf8), encoding: "utf-8")
  }

  private func column(
    _ name: String, of kind: ReportKind, zone: String? = nil,
    at moment: String = StatementTests.aSecondBefore,
    _ queue: QueueFixture
  ) async throws -> [String] {
    let rows = try await rows(kind, zone: zone, at: moment, queue)
    let index = try #require(rows.first?.firstIndex(of: name))
    return rows.dropFirst().map { $0[index] }
  }
}
