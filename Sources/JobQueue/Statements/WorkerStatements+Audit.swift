public import AnalysisCore
import FoundationEssentials
import PostgreSQL

extension WorkerStatements {
  /// Records that a worker begins to read images of some kinds.
  public static func recordStart(of worker: WorkerIdentity, kinds: [AnalysisKind]) -> Statement<Void> {
    record("worker_start", worker, kinds: kinds.map(\.rawValue))
  }

  /// Records that a worker has ended in order, and reads no more.
  public static func recordStop(of worker: WorkerIdentity) -> Statement<Void> {
    record("worker_stop", worker, kinds: nil)
  }

  /// Chains what anybody has recorded, and answers how many entries; does nothing where somebody else does so just now.
  public static func chainAudit() -> Statement<Int> { chainAudit(waits: false) }

  /// How many entries one call chains.
  package static let auditPage: Int32 = 1000

  /// Chains what is committed, and answers how many entries.
  ///
  /// - Parameter waits: whether to wait for somebody else who does so at the moment.
  package static func chainAudit(waits: Bool) -> Statement<Int> {
    Statement(
      "SELECT analysis.chain_audit($1, $2)", [.int32(auditPage), .bool(waits)], while: "chaining the audit"
    ) { rows in
      try rows.single().int(0)
    }
  }

  /// What else the audit tells of a worker.
  private struct Detail: Encodable {
    let pid: Int32
    let version: String
    let types: [String]?
  }

  private static func record(_ event: String, _ worker: WorkerIdentity, kinds: [String]?) -> Statement<Void> {
    let detail = Detail(pid: worker.pid, version: storable(worker.version), types: kinds)
    // Numbers and texts: there is nothing that could not be encoded.
    let json = (try? JSONEncoder().encode(detail)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    return Statement(
      "SELECT analysis.audit_worker($1, $2, $3)", [.text(event), .int64(worker.id), .jsonb(json)],
      while: "recording that the worker reads images"
    ) { _ in }
  }
}
