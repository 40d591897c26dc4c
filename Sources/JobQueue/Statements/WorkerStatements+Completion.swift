import AnalysisCore
import PostgreSQL
import SQLFiles

extension WorkerStatements {
  private static let completion = SQLFunction("complete", 28, "o_stored", "o_busy")

  /// Stores analyses, of one or many leases. Answers the jobs whose result was stored by this call, not
  /// those whose lease is gone or that were cancelled meanwhile; and those that are busy.
  ///
  /// - Parameter knownBusy: whether the jobs were busy before: then the call waits for nobody.
  public func complete(_ jobs: [CompletedJob], knownBusy: Bool = false) -> Statement<EndedJobs> {
    Statement(
      Self.completion,
      [
        .int16(shard), .int64(worker.id), .array(jobs.map(\.lease)), .array(jobs.map(\.job.value)),
        .array(jobs.map(\.analysis.id)), .array(jobs.map { timestamp($0.analysis.answeredAt) }),
        .array(jobs.map { Self.json($0.analysis.conditions) }),
        .array(jobs.map { Int16(clamping: $0.analysis.conditions.count) }),
      ] + Self.columns(jobs.map(\.analysis.primary)) + Self.columns(jobs.map(\.analysis.secondary)) + [
        .array(jobs.map(\.analysis.seriousConfidence)),
        .array(jobs.map(\.analysis.consultationConfidence)),
        .array(jobs.map(\.analysis.isPotentiallySerious)),
        .array(jobs.map(\.analysis.recommendsConsultation)),
        .array(jobs.map { Int16(clamping: $0.calls) }),
        .array(jobs.map { Int32(clamping: $0.callMilliseconds) }),
        .array(jobs.map(\.analysis.model)), .array(jobs.map(\.endpoint)), .text(storable(worker.version)),
        .bool(knownBusy),
      ], while: "storing results", read: Self.endedJobs("o_stored"))
  }

  /// Reads two arrays of jobs: those that ended, and those that are busy.
  static func endedJobs(_ ended: String) -> @Sendable (Rows) throws -> EndedJobs {
    { rows in
      let row = try rows.single()
      func jobs(_ column: String) throws -> Set<JobID> {
        Set(try row.array(column, of: Int64.self).map { JobID($0) })
      }
      return EndedJobs(ended: try jobs(ended), busy: try jobs("o_busy"))
    }
  }

  private static func json(_ conditions: [Condition]) -> JSONText {
    JSONText(String(decoding: ConditionsWriter.json(conditions), as: UTF8.self))
  }

  /// Id, name, confidence, band and whether it is normal, each as one array with gaps where there is no
  /// such condition.
  private static func columns(_ conditions: [Condition?]) -> [Parameter] {
    [
      .array(conditions.map { $0?.id }), .array(conditions.map { $0?.name }),
      .array(conditions.map { $0?.confidence.value }), .array(conditions.map { $0?.confidence.band.code }),
      .array(conditions.map { $0?.isNormal }),
    ]
  }
}
