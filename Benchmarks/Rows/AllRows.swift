public import BenchmarkKit

/// Every row, in the order in which they are run.
public enum AllRows {
  /// The rows.
  public static let list: [any BenchmarkRow] = [
    DrainRow(),
    EnqueueOneRow(),
    EnqueueBulkRow(),
    WholeJobRow.undelayed,
    WholeJobRow.delayed,
    SecuredJobRow(),
    EncryptionRow.fromSubmit,
    EncryptionRow.fromClaim,
    ImageStoreRow(),
    LatencyRow(),
    GatewayRow(),
    IdleConnectionsRow(),
    NeighbourRow(),
    ClaimCostRow(),
    OldSnapshotRow(),
    JobListRow(),
    PagesRow(),
    MemoryRow(),
    ShardsRow(),
    ReportRow(),
    IntakeRow(),
    DecodeRow(),
  ]
}
