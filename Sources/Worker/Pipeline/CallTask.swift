internal import Endpoint
internal import EventLoop
internal import HTTPTransfer
internal import Images
internal import Queue
internal import Support

/// One of the tasks that call the endpoint: as many as calls may be in flight.
struct CallTask {
  let pipeline: Pipeline
  let opener: ImageOpener
  let deadline: Duration
  let failpoints: Failpoints

  /// Calls for one job after another until the worker stops.
  func run() async {
    while var ready = await pipeline.nextJob() {
      guard let client = await pipeline.client(for: ready.job) else { continue }
      do throws(UnusableImage) {
        await failpoints.pass(.beforeUpload, [ready.job.id])
        let (outcome, duration) = try await call(client, &ready)
        await failpoints.pass(.afterAnswer, [ready.job.id])
        await pipeline.finished(ready, outcome, after: duration)
        await failpoints.pass(.afterOutcome, [ready.job.id])
      } catch {
        await pipeline.unusableImage(ready, error)
      }
    }
  }

  private func call(
    _ client: ModelClient, _ ready: inout ReadyJob
  ) async throws(UnusableImage) -> (CallOutcome, Duration) {
    let isAlone = await pipeline.inFlight == 1
    try await opener.check(ready, isAlone: isAlone)
    guard ready.isSentAsStored else {
      let rules = await pipeline.imageRules(of: ready.job.kind)
      let image = try await opener.open(ready.job, ready.image, rules, isAlone: isAlone)
      await pipeline.cleaned(ready.job)
      // What was stored is needed no more: only one of the two is held while the call lasts.
      ready.letGoStored()
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
      image: WatchedBytes(source: image, job: ready.job.id, failpoints: failpoints),
      fileName: "image.\(format.fileExtension)", contentType: format.contentType, kind: ready.job.kind,
      idempotencyKey: ready.idempotencyKey, deadline: deadline)
    return (outcome, EventLoop.now - began)
  }
}
