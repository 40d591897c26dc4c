public import AnalysisCore

/// Where an image's bytes are; an image belongs to a user and may serve several jobs.
public struct ImageKey: Hashable, Sendable {
  /// The month in which the image was stored.
  public let period: Period
  /// The image's number.
  public let id: Int64

  /// A key with its parts.
  public init(period: Period, id: Int64) {
    self.period = period
    self.id = id
  }
}

/// A job in a worker's hands.
public struct ClaimedJob: Sendable, Equatable {
  /// The shard in which the job lives.
  public var shard: Int16
  /// The lease under which it runs.
  public var lease: Int64
  /// The lane from which it came.
  public var lane: Lane
  /// The job.
  public var id: JobID
  /// The month in which it counts.
  public var period: Period
  /// Which attempt this is, from 1.
  public var attempt: Int
  /// How many attempts it has.
  public var maxAttempts: Int
  /// Its place in the lane.
  public var virtualTime: Int64
  /// Whose job it is.
  public var userID: Int64
  /// What to look for.
  public var kind: AnalysisKind
  /// Its image.
  public var image: ImageKey
  /// The size of the image in bytes.
  public var imageBytes: Int
  /// Whether the image has not been cleaned yet.
  public var isUnsanitized: Bool
  /// Whether the job's expiry has passed; it is then to be failed as ``FailureClass/expired``.
  public var isExpired: Bool

  /// A job with all its parts.
  public init(
    shard: Int16, lease: Int64, lane: Lane, id: JobID, period: Period, attempt: Int, maxAttempts: Int,
    virtualTime: Int64, userID: Int64, kind: AnalysisKind, image: ImageKey, imageBytes: Int,
    isUnsanitized: Bool,
    isExpired: Bool
  ) {
    self.shard = shard
    self.lease = lease
    self.lane = lane
    self.id = id
    self.period = period
    self.attempt = attempt
    self.maxAttempts = maxAttempts
    self.virtualTime = virtualTime
    self.userID = userID
    self.kind = kind
    self.image = image
    self.imageBytes = imageBytes
    self.isUnsanitized = isUnsanitized
    self.isExpired = isExpired
  }
}

/// Jobs claimed together from one lane, under one lease.
public struct ClaimedLease: Sendable, Equatable {
  /// The shard.
  public var shard: Int16
  /// The lease's id.
  public var id: Int64
  /// The lane.
  public var lane: Lane
  /// The jobs, in the lane's order; none where the claim only dropped cancelled jobs.
  public var jobs: [ClaimedJob]
  /// From which virtual time on to look the next time, where cancelled jobs were dropped; nil where none were.
  public var continueFrom: Int64?

  /// A lease with its jobs.
  public init(shard: Int16, id: Int64, lane: Lane, jobs: [ClaimedJob], continueFrom: Int64? = nil) {
    self.shard = shard
    self.id = id
    self.lane = lane
    self.jobs = jobs
    self.continueFrom = continueFrom
  }
}
