import AnalysisCore
import JobQueue
import PostgreSQL

/// The calls of a purge, all for the same moment.
struct PurgeStatements: Sendable {
  /// What counts as now.
  let moment: Timestamp
  /// Whether nothing is to be changed.
  let isDry: Bool
  /// How many rows a call looks at.
  let chunk: Int32

  /// A month, and what in it may be past its time.
  struct Month: Sendable {
    let period: Period
    let hasImages: Bool
    let hasResults: Bool
    let isOver: Bool
  }

  /// What one call went through.
  struct Step: Sendable {
    /// The last key; nil at the end.
    let last: Int64?
    let looked: Int
    let rows: Int64
    let bytes: Int64
  }

  /// What went of one month.
  struct Part: Sendable {
    let last: Int64?
    let period: Period?
    let rows: Int64
    let bytes: Int64
  }

  func months() -> Statement<[Month]> {
    Statement(
      "SELECT o_period, o_images, o_results, o_whole FROM analysis.purge_months($1) ORDER BY o_period",
      [.timestamp(moment)], while: "looking for what is past its time"
    ) { rows in
      try rows.map {
        Month(
          period: try $0.period(0), hasImages: try $0.bool(1), hasResults: try $0.bool(2),
          isOver: try $0.bool(3))
      }
    }
  }

  /// Gives a month the index by which its images find their jobs.
  func indexImages(_ period: Period) -> Statement<Bool> {
    Statement(
      "SELECT analysis.index_images($1, $2)", [.int16(period.label), .timestamp(moment)],
      while: "preparing the removal of images of \(period)"
    ) { rows in
      try rows.single().bool(0)
    }
  }

  func images(_ shard: Int16, _ period: Period, after: Int64, tells: Bool) -> Statement<Step> {
    step("purge_images", shard, period, after, tells, while: "removing images")
  }

  func results(_ shard: Int16, _ period: Period, after: Int64, tells: Bool) -> Statement<Step> {
    step("purge_results", shard, period, after, tells, while: "removing results")
  }

  private func step(
    _ function: String, _ shard: Int16, _ period: Period, _ after: Int64, _ tells: Bool, while doing: String
  ) -> Statement<Step> {
    Statement(
      "SELECT o_last, o_looked, o_rows, o_bytes FROM analysis.\(function)($1, $2, $3, $4, $5, $6, $7)",
      [
        .int16(shard), .int16(period.label), .int64(after), .int32(chunk), .timestamp(moment), .bool(isDry),
        .bool(tells),
      ], while: "\(doing) of \(period)"
    ) { rows in
      let row = try rows.single()
      return Step(
        last: try row.int64IfPresent(0), looked: try row.int(1), rows: try row.int64(2),
        bytes: try row.int64(3))
    }
  }

  func dead(_ shard: Int16, after: Int64, tells: Bool) -> Statement<[Part]> {
    Statement(
      "SELECT o_last, o_period, o_rows, o_bytes FROM analysis.purge_dead($1, $2, $3, $4, $5, $6)",
      [.int16(shard), .int64(after), .int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)],
      while: "removing jobs that failed"
    ) { rows in
      try rows.map {
        Part(
          last: try $0.int64IfPresent(0), period: try $0.isNull(1) ? nil : $0.period(1),
          rows: try $0.int64(2),
          bytes: try $0.int64(3))
      }
    }
  }

  /// Removes a whole month; nil when it does not go as a whole.
  ///
  /// - Parameter images: how many images are going that a dry run has left there.
  func month(_ period: Period, images: Int64) -> Statement<(rows: Int64, bytes: Int64)?> {
    Statement(
      "SELECT o_gone, o_rows, o_bytes FROM analysis.purge_month($1, $2, $3, $4)",
      [.int16(period.label), .timestamp(moment), .bool(isDry), .int64(images)], while: "removing \(period)"
    ) { rows in
      let row = try rows.single()
      return try row.bool(0) ? (rows: try row.int64(1), bytes: try row.int64(2)) : nil
    }
  }

  func usage(tells: Bool) -> Statement<[Part]> {
    records(
      "SELECT o_period, o_rows, o_bytes FROM analysis.purge_usage($1, $2, $3, $4)",
      [.int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)], while: "removing counters")
  }

  /// - Parameter last: the last entry that may go.
  func audit(through last: Int64) -> Statement<[Part]> {
    records(
      "SELECT o_period, o_rows, o_bytes FROM analysis.purge_audit($1, $2, $3, $4)",
      [.int32(chunk), .timestamp(moment), .bool(isDry), .int64(last)], while: "removing entries of the audit")
  }

  /// The audit's last entry.
  func auditEnd() -> Statement<Int64> {
    Statement("SELECT o_id FROM analysis.audit_ends()", [], while: "reading the audit's end") { rows in
      try rows.single().int64(0)
    }
  }

  private func records(_ sql: String, _ parameters: [Parameter], while doing: String) -> Statement<[Part]> {
    Statement(sql, parameters, while: doing) { rows in
      try rows.map {
        Part(last: nil, period: try $0.period(0), rows: try $0.int64(1), bytes: try $0.int64(2))
      }
    }
  }
}
