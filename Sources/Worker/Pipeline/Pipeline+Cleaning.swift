internal import Images
internal import Queue
internal import Support

/// How many jobs whose images have to be cleaned here are held: those that wait for a decoder could run elsewhere.
extension Pipeline {
  /// What the last claim of a lane has brought.
  enum LaneFound {
    /// All that it asked for, and all of it clean.
    case clean
    case unsanitized
  }

  /// How many are held at most: of anybody, so that every decoder has its next ones, and beyond these of users who have
  /// none here. Some calls are always left for jobs whose images are clean.
  var mostUnsanitized: (ofAnybody: Int, ofAll: Int) {
    let ofAnybody = max(1, min(4 * configuration.imageDecoders.slots, configuration.concurrency / 2))
    return (ofAnybody, max(ofAnybody, min(2 * ofAnybody, configuration.concurrency - 1)))
  }

  /// Asks of each lane for no more than can be decoded. A lane that has given nothing but clean jobs is trusted.
  func limited(_ lanes: [LaneClaim], shard: Int16) -> [LaneClaim] {
    let (most, mostOfAll) = mostUnsanitized
    let room = most - unsanitized.count
    return lanes.map { lane in
      let found = lanesFound[shard]?[lane.lane]
      guard found != .clean else { return lane }
      var lane = lane
      if room > 0 {
        lane.limit = min(lane.limit, room)
      } else {
        lane.limit = min(lane.limit, Self.passedOver)
        lane.unsanitized = unsanitized.count < mostOfAll ? .oneOfAnother : .none
      }
      return lane
    }
  }

  /// How many jobs a claim looks through for those that need no decoder.
  private static let passedOver = 64

  /// Takes note of what the lanes have brought that were asked.
  func noteFound(_ leases: [ClaimedLease], by request: ClaimRequest) {
    var left = request.count
    for lane in request.lanes where left > 0 {
      let jobs = leases.filter { $0.lane == lane.lane }.flatMap(\.jobs)
      left -= jobs.count
      if jobs.contains(where: \.isUnsanitized) {
        lanesFound[request.shard, default: [:]][lane.lane] = .unsanitized
      } else if lane.unsanitized == .any {
        lanesFound[request.shard, default: [:]][lane.lane] = jobs.count == lane.limit ? .clean : nil
      }
    }
  }

  /// A job's image needs no decoder any more.
  func cleaned(_ job: ClaimedJob) {
    guard job.isUnsanitized, unsanitized.remove(HeldJob(lease: job.lease, job: job.id)) != nil else { return }
    // Not for each: a claim has its price.
    guard unsanitized.count == mostUnsanitized.ofAnybody / 2 else { return }
    for shard in lanesFound.keys where lanesFound[shard]?.values.contains(.unsanitized) == true {
      wakeUp(shard: shard)
    }
  }
}
