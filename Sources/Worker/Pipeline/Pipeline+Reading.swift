internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// The way of the images from the database to the calls.
extension Pipeline {
  /// Jobs of one shard whose images are read in one statement.
  struct ReadRequest {
    let shard: Int16
    let jobs: [ClaimedJob]
  }

  /// How many images one statement reads at most: few enough that both connections have work.
  static let imagesPerRead = 32

  /// The next images to read, of one shard; nil when there are none or the bytes held are at their limit.
  func nextRead() -> ReadRequest? {
    var blocked: Set<Int> = []
    var shard: Int16?
    var jobs: [ClaimedJob] = []
    while jobs.count < Self.imagesPerRead,
      let next = toRead.next(where: { job in
        gateOfKind[job.kind].map { !blocked.contains($0) } == true && shard ?? shardOf(job) == shardOf(job)
      }), let gate = gateOfKind[next.element.kind]
    {
      guard mayHold(next.element, gate) else {
        // Smaller ones behind it do not overtake it, or it might never be read.
        blocked.insert(gate)
        continue
      }
      toRead.take(next)
      shard = shardOf(next.element)
      hold(next.element, gate)
      jobs.append(next.element)
    }
    guard let shard else { return nil }
    if !toRead.isEmpty { readBell.ring() }
    return ReadRequest(shard: shard, jobs: jobs)
  }

  /// Images came with the claim of their jobs.
  func takeImages(_ images: [ImageKey: StoredImage], of shard: Int16) {
    while let next = toRead.next(where: { job in
      job.shard == shard && images[job.image] != nil && gateOfKind[job.kind].map { mayHold(job, $0) } == true
    }), let image = images[next.element.image], let gate = gateOfKind[next.element.kind] {
      toRead.take(next)
      hold(next.element, gate)
      received(image, for: [next.element])
    }
  }

  /// A job's image is to be read.
  func waitForImage(_ job: ClaimedJob) { toRead.append(job, for: job.requester, cost: job.imageBytes) }

  /// A job's image is on its way.
  private func hold(_ job: ClaimedJob, _ gate: Int) {
    gates[gate].imageBytes += job.imageBytes
    gates[gate].reading += 1
  }

  /// Whether a job's image may be had beside those that are held. One image of each endpoint may always be
  /// read, however large, or a limit set too low would stop the worker.
  private func mayHold(_ job: ClaimedJob, _ gate: Int) -> Bool {
    let bytes = EndpointShares(total: configuration.imageBytes, endpoints: gates.count)
    return gates[gate].imageBytes == 0
      || job.imageBytes <= bytes.allowance(of: gate, used: { gates[$0].imageBytes })
  }

  /// An image came: every job of the request that shows it may be called for.
  func received(_ image: StoredImage, for jobs: [ClaimedJob]) {
    let now = EventLoop.now
    for job in jobs {
      guard let gate = gateOfKind[job.kind] else { continue }
      gates[gate].reading -= 1
      guard stage == .running, leases[job.lease] != nil else {
        letGoImage(of: job)
        if stage != .running { release(job) }
        continue
      }
      // The endpoint or the type was paused while the image was on its way.
      guard !isShutForLong(gate, now), !isPausedByOperator(job.kind) else {
        letGoImage(of: job)
        release(job)
        continue
      }
      gates[gate].ready.append(
        ReadyJob(job: job, image: image), for: job.requester, cost: job.imageBytes)
    }
    dispatch()
  }

  /// The statement failed: what did not come is asked for again.
  func readFailed(_ jobs: [ClaimedJob]) {
    for job in jobs { notRead(job) }
    if stage == .running {
      for job in jobs where leases[job.lease] != nil { waitForImage(job) }
    } else {
      for job in jobs { release(job) }
    }
  }

  /// The image is not in the database any more: the job can never run.
  func imageMissing(_ jobs: [ClaimedJob]) {
    for job in jobs {
      notRead(job)
      meters.imagesRefused.add("missing")
      record(
        job,
        .failed(
          FailedAttempt(
            lease: job.lease, job: job.id, decision: .dead, failureClass: .image, code: "image_missing",
            message: "The job's image is not stored any more.")))
    }
  }

  /// The database has the image and cannot read it, as with a damaged disk: somebody may mend that before the
  /// attempts are over.
  func imageUnreadable(_ jobs: [ClaimedJob], _ error: JobQueueError) {
    for job in jobs {
      notRead(job)
      meters.imagesRefused.add("unreadable")
      let decision = configuration.retryPolicy.decide(
        .image, attempt: job.attempt, maxAttempts: job.maxAttempts, using: &generator)
      record(
        job,
        .failed(
          FailedAttempt(
            lease: job.lease, job: job.id, decision: decision, failureClass: .image,
            code: "image_unreadable", message: error.description)))
    }
  }

  /// The reading tasks end: what has not been read goes back.
  func giveUpReading() {
    guard stage != .running else { return }
    releaseWaiting()
  }

  /// A job's image was on its way and will not come.
  private func notRead(_ job: ClaimedJob) {
    guard let gate = gateOfKind[job.kind] else { return }
    gates[gate].reading -= 1
    letGoImage(of: job)
  }

  private func shardOf(_ job: ClaimedJob) -> Int16 {
    leases[job.lease]?.shard ?? job.shard
  }
}
