import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport

@testable import Control
@testable import Support

extension DatabaseTemplate {
  /// The schema with the planted month.
  static let plantedMonth = migrated("planted_month") { try await $0.execute(script: PlantedMonth.sql) }
}

extension QueueFixture {
  /// A reporter for which it is a given moment.
  func reporter(at moment: String) -> Reporter {
    guard let date = try? Date(moment, strategy: .iso8601) else {
      preconditionFailure("\(moment) is no moment")
    }
    return Reporter(pool, moment: Timestamp(secondsSince1970: date.timeIntervalSince1970))
  }

  /// Closes a month as at a given moment; whether this did it.
  @discardableResult
  func close(_ month: String = "2020-10", at moment: String) async throws -> Bool {
    try await pool.query(
      "SELECT analysis.close_usage($1, $2::text::timestamptz)",
      [.int16(Written.period(month).label), .text(moment)]
    ).single().bool(0)
  }

  /// What a reporter writes at a given moment.
  func report(_ request: ReportRequest, at moment: String = "2020-11-02T03:04:05Z") async throws -> String {
    let collected = Collected()
    _ = try await reporter(at: moment).run(request, to: .stream { collected.add($0) })
    return collected.text
  }

  func report(
    _ kind: ReportKind, _ format: ReportFormat, month: String = "2020-10", zone: String? = nil,
    at moment: String = "2020-11-02T03:04:05Z"
  ) async throws -> String {
    try await report(
      ReportRequest(kind, month: Written.period(month), zone: zone, format: format), at: moment)
  }
}
