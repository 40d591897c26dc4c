internal import EventLoop
internal import JobQueue
internal import Operations
internal import PostgreSQL

/// Gives the sign of life for every batch that is held, in time before the lease runs out.
struct LeaseKeeper {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let shards: [Int16]

  func run() async {
    var retries = Retries(worker: worker, what: "keeping leases")
    while !Task.isCancelled {
      do throws(JobQueueError) {
        for shard in shards { try await keep(shard) }
        retries.succeeded()
      } catch {
        guard await retries.pause(after: error) else { return }
        continue  // a lease is short: not after a whole interval
      }
      do { try await worker.loop.sleep(for: worker.configuration.heartbeat) } catch { return }
    }
  }

  /// Also for a shard without a batch: it tells that this worker is alive.
  private func keep(_ shard: Int16) async throws(JobQueueError) {
    guard let statements = await pipeline.shards[shard]?.queue.statements else { return }
    let asked = await pipeline.heldBatches(of: shard)
    let inFlight = await pipeline.inFlight
    let held = try await statements.heartbeat(asked, lease: worker.configuration.lease, inFlight: inFlight)
      .run(on: databases.control, deadline: worker.configuration.lease)
    await pipeline.leased(asked: asked, stillHeld: held)
  }
}
