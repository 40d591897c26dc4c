import AnalysisCore
import EventLoop
import Foundation
import JobQueue
import PostgreSQL
import TestSupport

@testable import Reports

/// A migrated database of a test's own, and what tests do with it.
struct ReportsDatabase: Sendable {
  let pool: ConnectionPool

  private static let planted = template("reports", PlantedMonth.sql)
  private static let empty = template("reports_empty", "")

  private static func template(_ name: String, _ script: String) -> DatabaseTemplate {
    DatabaseTemplate(name) { conninfo in
      let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: try EventLoop(name: "template"))
      _ = try await Migrator(pool).migrate()
      if !script.isEmpty { try await pool.execute(script: script) }
      await pool.close()
    }
  }

  /// Lends a database, with the planted month or without a row.
  static func with<R>(
    connections: Int = 2, planted isPlanted: Bool = true, _ body: (ReportsDatabase) async throws -> R
  ) async throws -> R {
    try await withTestDatabase(isPlanted ? planted : empty) { database in
      let pool = ConnectionPool(
        database.configuration, on: try EventLoop(name: "reports test"), size: connections)
      let result = try await body(ReportsDatabase(pool: pool))
      await pool.close()
      return result
    }
  }

  /// A reporter for which it is a given moment.
  func reporter(at moment: String) -> Reporter {
    Reporter(pool, moment: Self.timestamp(moment))
  }

  /// What a reporter writes at a given moment.
  func text(_ request: ReportRequest, at moment: String = "2026-11-02T03:04:05Z") async throws -> String {
    let collected = Collected()
    _ = try await reporter(at: moment).run(request, to: .stream { collected.add($0) })
    return collected.text
  }

  func text(
    _ kind: ReportKind, _ format: ReportFormat, month: String = "2026-10", zone: String? = nil,
    at moment: String = "2026-11-02T03:04:05Z"
  ) async throws -> String {
    try await text(
      ReportRequest(kind, month: Written.period(month), zone: zone, format: format), at: moment)
  }

  /// Runs statements.
  func execute(_ script: String) async throws {
    try await pool.execute(script: script)
  }

  /// The only number that a query answers.
  func number(_ sql: String) async throws -> Int {
    try await pool.query(sql).single().int(0)
  }

  /// The texts in the first column that a query answers.
  func texts(_ sql: String) async throws -> [String] {
    try await pool.query(sql).map { row in try row.string(0) }
  }

  static func timestamp(_ text: String) -> Timestamp {
    guard let date = try? Date(text, strategy: .iso8601) else { preconditionFailure("\(text) is no moment") }
    return Timestamp(secondsSince1970: date.timeIntervalSince1970)
  }
}
