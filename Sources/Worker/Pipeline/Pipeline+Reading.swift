internal import AnalysisCore
internal import EventLoop
internal import JobQueue
internal import PostgreSQL

/// The way of the images from the database to the calls.
extension Pipeline {
  /// Jobs of one shard whose images are read in one statement.
  struct ReadRequest {
    let shard: Int16
    let jobs: [ClaimedJob]

    var keys: [ImageKey] { Array(Set(jobs.map(\.image))) }
  }

  /// How many images one statement reads at most: few enough that both connections have work.
  static let imagesPerRead = 32

  /// The next images to read; nil when there are none or the bytes held are at their limit.
  func nextRead() -> ReadRequest? {
    guard let first = toRead.first else { return nil }
    let shard = shardOf(first)
    var jobs: [ClaimedJob] = []
    for job in toRead {
      guard jobs.count < Self.imagesPerRead, shardOf(job) == shard else { break }
      // One image may always be read, however large, or a limit set too low would stop the worker.
      let isFirst = imageBytes == 0 && jobs.isEmpty
      guard isFirst || imageBytes + job.imageBytes <= configuration.imageBytes else { break }
      imageBytes += job.imageBytes
      jobs.append(job)
    }
    guard !jobs.isEmpty else { return nil }
    toRead.removeFirst(jobs.count)
    reading += jobs.count
    if !toRead.isEmpty { readBell.ring() }
    return ReadRequest(shard: shard, jobs: jobs)
  }

  /// An image came: every job of the request that shows it may be called for.
  func received(_ image: Blob, for jobs: [ClaimedJob]) {
    let now = EventLoop.now
    for job in jobs {
      reading -= 1
      guard stage == .running, batches[job.batch] != nil, let gate = gateOfKind[job.kind] else {
        imageBytes -= job.imageBytes
        if stage != .running { settle(job, .handedBack(HeldJob(batch: job.batch, job: job.id))) }
        continue
      }
      // The endpoint was paused while the image was on its way.
      guard !isShutForLong(gate, now) else {
        imageBytes -= job.imageBytes
        settle(job, .handedBack(HeldJob(batch: job.batch, job: job.id)))
        continue
      }
      gates[gate].ready.append(ReadyJob(job: job, image: image))
    }
    dispatch()
  }

  /// The statement failed: what did not come is asked for again.
  func readFailed(_ jobs: [ClaimedJob]) {
    reading -= jobs.count
    for job in jobs { imageBytes -= job.imageBytes }
    if stage == .running {
      toRead.insert(contentsOf: jobs.filter { batches[$0.batch] != nil }, at: 0)
    } else {
      for job in jobs { settle(job, .handedBack(HeldJob(batch: job.batch, job: job.id))) }
    }
  }

  /// The image is not in the database any more: the job can never run.
  func imageMissing(_ jobs: [ClaimedJob]) {
    reading -= jobs.count
    for job in jobs {
      imageBytes -= job.imageBytes
      settle(
        job,
        .failed(
          FailedAttempt(
            batch: job.batch, job: job.id, decision: .dead, failureClass: .image, code: "image_missing",
            message: "The job's image is not stored any more.", errorID: nil, status: nil, calls: 0,
            maybeCounted: false, endpoint: nil)))
    }
  }

  /// The reading tasks end: what has not been read goes back.
  func giveUpReading() {
    guard stage != .running else { return }
    handBackWaiting()
  }

  private func shardOf(_ job: ClaimedJob) -> Int16 {
    batches[job.batch]?.shard ?? job.shard
  }
}
