import PostgreSQL
public import Support

/// Where an image's bytes are; an image belongs to a user and may serve several jobs.
public struct ImageKey: Hashable, Sendable {
  /// The month in which the image was stored.
  public let period: Period
  /// The image's number.
  public let id: Int64
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
  /// Its position in the lane.
  var virtualTime: Int64
  /// Whose job it is.
  public var userID: Int64
  /// What to look for.
  public var kind: AnalysisKind
  /// Its image.
  public var image: ImageKey
  /// The beginning of the hash of the image that was submitted: no other image is sent for the job.
  public var imageMark: [UInt8]
  /// The size of the image in bytes.
  public var imageBytes: Int
  /// Whether the image has not been cleaned yet.
  public var isUnsanitized: Bool
  /// Whether the job's expiry has passed; it is then to be failed as ``FailureClass/expired``.
  public var isExpired: Bool

  /// For whom it is done inside a worker.
  public var requester: Requester { Requester(lane, UserKey(shard: shard, id: userID)) }
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
  var continueFrom: Int64?
}

/// Where the columns of a claim's answer are: looked up once, and not for each job.
struct ClaimColumns {
  static let function = SQLFunction(
    "claim", 8, "o_lease", "o_lane", "o_job", "o_period", "o_attempt", "o_vt", "o_user", "o_kind",
    "o_image_period", "o_image", "o_bytes", "o_unsanitized", "o_expired", "o_max_attempts", "o_image_mark")

  let lease, lane, job, period, attempt, virtualTime, user, kind, imagePeriod, image, bytes: Int
  let unsanitized, expired, maxAttempts, imageMark: Int

  init(_ rows: Rows) throws(PostgreSQLError) {
    lease = try rows.position(of: "o_lease")
    lane = try rows.position(of: "o_lane")
    job = try rows.position(of: "o_job")
    period = try rows.position(of: "o_period")
    attempt = try rows.position(of: "o_attempt")
    virtualTime = try rows.position(of: "o_vt")
    user = try rows.position(of: "o_user")
    kind = try rows.position(of: "o_kind")
    imagePeriod = try rows.position(of: "o_image_period")
    image = try rows.position(of: "o_image")
    bytes = try rows.position(of: "o_bytes")
    unsanitized = try rows.position(of: "o_unsanitized")
    expired = try rows.position(of: "o_expired")
    maxAttempts = try rows.position(of: "o_max_attempts")
    imageMark = try rows.position(of: "o_image_mark")
  }
}

extension ClaimedJob {
  /// Reads a row of `analysis.claim`.
  init(_ row: Row, _ columns: ClaimColumns, shard: Int16) throws {
    self.init(
      shard: shard, lease: try row.int64(columns.lease), lane: try row.lane(columns.lane),
      id: try row.jobID(columns.job), period: try row.period(columns.period),
      attempt: try row.int(columns.attempt),
      maxAttempts: try row.int(columns.maxAttempts), virtualTime: try row.int64(columns.virtualTime),
      userID: try row.int64(columns.user), kind: try row.kind(columns.kind),
      image: ImageKey(period: try row.period(columns.imagePeriod), id: try row.int64(columns.image)),
      imageMark: try row.bytes(columns.imageMark), imageBytes: try row.int(columns.bytes),
      isUnsanitized: try row.bool(columns.unsanitized), isExpired: try row.bool(columns.expired))
  }
}

extension ClaimedLease {
  /// Puts jobs together that have a lease in common, in the order in which the leases first appear. A row without a
  /// job says that cancelled jobs were dropped in its lane.
  static func leases(of rows: Rows, shard: Int16) throws -> [ClaimedLease] {
    let columns = try ClaimColumns(rows)
    var leases: [ClaimedLease] = []
    var indices: [Int64: Int] = [:]
    for row in rows {
      guard try row.int64IfPresent(columns.job) != nil else {
        leases.append(
          ClaimedLease(
            shard: shard, id: 0, lane: try row.lane(columns.lane), jobs: [],
            continueFrom: try row.int64(columns.virtualTime)))
        continue
      }
      let job = try ClaimedJob(row, columns, shard: shard)
      if let index = indices[job.lease] {
        leases[index].jobs.append(job)
      } else {
        indices[job.lease] = leases.count
        leases.append(ClaimedLease(shard: job.shard, id: job.lease, lane: job.lane, jobs: [job]))
      }
    }
    return leases
  }
}
