internal import AnalysisCore
internal import EventLoop
internal import HTTPTransfer
internal import Images
internal import JobQueue
internal import ModelClient
internal import PostgreSQL

/// One of the tasks that call the endpoint: as many as calls may be in flight.
struct CallTask {
  let pipeline: Pipeline
  let deadline: Duration
  let failpoints: Failpoints

  /// Calls for one job after another until the worker stops.
  func run() async {
    while let ready = await pipeline.nextJob() {
      guard let client = await pipeline.client(for: ready.job) else { continue }
      do throws(ImageRefusal) {
        await failpoints.pass(.beforeUpload, [ready.job.id])
        let outcome = try await call(client, ready)
        await failpoints.pass(.afterAnswer, [ready.job.id])
        await pipeline.finished(ready, outcome)
        await failpoints.pass(.afterSettle, [ready.job.id])
      } catch {
        await pipeline.refusedImage(ready, error)
      }
    }
  }

  private func call(_ client: ModelClient, _ ready: ReadyJob) async throws(ImageRefusal) -> CallOutcome {
    guard ready.job.isRaw else {
      return await call(client, ready, UploadBytes(image: ready.image.bytes))
    }
    return await call(client, ready, try await Self.clean(ready.image.bytes))
  }

  private func call(_ client: ModelClient, _ ready: ReadyJob, _ image: some BodyBytes) async -> CallOutcome {
    await client.analyze(
      image: WatchedBytes(source: image, job: ready.job.id, failpoints: failpoints), kind: ready.job.kind,
      idempotencyKey: ready.idempotencyKey, deadline: deadline)
  }

  /// Cleans an image that came in by SQL, where it could not be cleaned, on the pool: it takes milliseconds
  /// of computing, in which the loop would serve nobody.
  private static func clean(_ image: Blob) async throws(ImageRefusal) -> [UInt8] {
    let result = await withTaskExecutorPreference(globalConcurrentExecutor) {
      await cleanedOnPool(image)
    }
    return try result.get()
  }

  @concurrent
  private static func cleanedOnPool(_ image: Blob) async -> Result<[UInt8], ImageRefusal> {
    do throws(ImageRefusal) {
      return .success(
        try image.withUnsafeBytes { bytes in
          Result { () throws(ImageRefusal) in try ImageCleaner().clean(bytes) }
        }.get().bytes)
    } catch {
      return .failure(error)
    }
  }
}
