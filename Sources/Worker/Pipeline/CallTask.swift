internal import Endpoint
internal import EventLoop
internal import HTTPTransfer
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support

/// One of the tasks that call the endpoint: as many as calls may be in flight.
struct CallTask {
  let context: WorkerContext
  let pipeline: Pipeline
  let opener: ImageOpener

  /// Calls for one job after another until the worker stops.
  func run() async {
    while var ready = await pipeline.nextJob() {
      guard let client = await pipeline.with({ [kind = ready.job.kind] in $0.calls.client(for: kind) }) else {
        continue
      }
      do throws(UnusableImage) {
        await context.failpoints.pass(.beforeUpload, [ready.job.id])
        let (outcome, duration) = try await call(client, &ready)
        await context.failpoints.pass(.afterAnswer, [ready.job.id])
        await pipeline.finished(ready, outcome, after: duration)
        await context.failpoints.pass(.afterOutcome, [ready.job.id])
      } catch {
        await pipeline.unusableImage(ready, error)
      }
    }
  }

  private func call(
    _ client: ModelClient, _ ready: inout ReadyJob
  ) async throws(UnusableImage) -> (CallOutcome, Duration) {
    let isAlone = await pipeline.with { $0.calls.inFlight } == 1
    try await opener.check(ready, isAlone: isAlone)
    guard ready.isSentAsStored else {
      let rules = await pipeline.with { [kind = ready.job.kind] in $0.calls.imageRules(of: kind) }
      let image = try await opener.open(ready.job, ready.image, rules, isAlone: isAlone)
      await pipeline.cleaned(ready.job)
      // What was stored is needed no more: only one of the two is held while the call lasts.
      ready.releaseStored()
      return try await call(client, ready, image)
    }
    return try await call(client, ready, UploadBytes(image: ready.image.bytes))
  }

  private func call(
    _ client: ModelClient, _ ready: ReadyJob, _ image: some BodyBytes
  ) async throws(UnusableImage) -> (CallOutcome, Duration) {
    let began = EventLoop.now
    let format = image.withUnsafeBytes { ImageFormat($0) } ?? .jpeg
    let outcome = await client.analyze(
      image: WatchedBytes(source: image, job: ready.job.id, failpoints: context.failpoints),
      fileName: "image.\(format.fileExtension)", contentType: format.contentType, kind: ready.job.kind,
      idempotencyKey: ready.idempotencyKey, deadline: context.configuration.callDeadline)
    return (outcome, EventLoop.now - began)
  }
}

/// A claimed job with its image.
struct ReadyJob: Sendable {
  let job: ClaimedJob
  private(set) var image: StoredImage
  /// How the endpoint's breaker admitted its call; it says so when it ends.
  var admission = Breaker.Admission.ordinary

  init(job: ClaimedJob, image: StoredImage) {
    self.job = job
    self.image = image
  }

  /// Whether the image needs neither decrypting nor cleaning.
  var isSentAsStored: Bool { !job.isUnsanitized && image.encryption == nil }

  /// Gives the stored bytes away; what the image is known by stays.
  mutating func releaseStored() {
    image = StoredImage(
      bytes: Blob([]), sha256: image.sha256, encryption: image.encryption, userID: image.userID)
  }

  /// Refuses an image of somebody else, to which the job's row was made to point: what is found in it would be said of
  /// the wrong person. Refuses another image of the same person likewise.
  func checkImage() throws(UnusableImage) {
    let fault: String
    if let owner = image.userID, owner != job.userID {
      fault = "belongs to another user"
    } else if !image.sha256.starts(with: job.imageMark) || job.imageMark.count != Self.markBytes {
      fault = "is not the one that was submitted"
    } else {
      return
    }
    throw .tampered(
      "Job \(job.id): the image that it names \(fault), which no submit makes so. Restore the job's row from a backup, "
        + "or submit the image anew.")
  }

  /// Bytes of an image's hash that a job has.
  private static let markBytes = 16

  /// What the call and its repeats are known by to the endpoint.
  ///
  /// After a restore from a backup, or when an asynchronous standby took over, a job's number can be given again.
  /// An endpoint that remembers the keys of its calls must not take the new job for the old one, or it would answer
  /// with what it saw in somebody else's picture: so the key says which picture it is, and what is asked of it.
  var idempotencyKey: String {
    "\(Hexadecimal.text(of: image.sha256.prefix(8)))-\(job.kind.rawValue)-\(job.shard)-\(job.id)"
  }
}

extension ClaimedJob {
  var held: HeldJob { HeldJob(lease: lease, job: id) }
}

/// An image's bytes inside the database's answer, read from there into the socket.
struct UploadBytes: BodyBytes {
  let image: Blob

  var count: Int { image.count }

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try image.withUnsafeBytes(body)
  }
}

/// The bytes of an upload, with the failpoint that is reached whenever some of them are asked for.
struct WatchedBytes<Source: BodyBytes>: BodyBytes {
  let source: Source
  let job: JobID
  let failpoints: Failpoints

  var count: Int { source.count }

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    failpoints.passAtOnce(.duringUpload, [job])
    return try source.withUnsafeBytes(body)
  }
}
