internal import EventLoop
internal import PostgreSQL
internal import Queue

/// Gives the sign of life for every lease that is held, in time before the lease runs out; it is also who finds
/// out whether a database that was away is back.
struct LeaseRenewer {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let shards: [Int16]

  func run() async {
    var retries = Retries(worker: worker, what: "keeping leases", pipeline: pipeline, leads: true)
    while !Task.isCancelled {
      var failed = false
      let held = await pipeline.shardsWithLeases
      // Also without a lease: the first tells that this worker is alive.
      for shard in shards where shard == shards.first || held.contains(shard) {
        do throws(JobQueueError) {
          try await keep(shard)
          retries.succeeded(shard: shard)
        } catch {
          failed = true
          guard await retries.pause(after: error, shard: shard) else { return }
        }
      }
      if failed { continue }  // a lease is short: not after a whole interval
      await pipeline.absence.lookBell.wait(atMost: worker.configuration.heartbeat)
    }
  }

  /// How long one may take: a server that hangs shows no error, and there must be time for another try.
  private var deadline: Duration {
    min(worker.configuration.leaseDuration, max(worker.configuration.leaseDuration / 3, .seconds(2)))
  }

  private func keep(_ shard: Int16) async throws(JobQueueError) {
    guard let statements = await pipeline.shards[shard]?.queue.statements else { return }
    let asked = await pipeline.heldLeases(of: shard)
    // Told once: what the shards say of a worker is added up.
    let inFlight = shard == shards.first ? await pipeline.inFlight : 0
    await pipeline.heard(in: shard)
    try await worker.failpoints.tryToPass(.beforeHeartbeat)
    let held = try await statements.heartbeat(
      asked, leaseDuration: worker.configuration.leaseDuration, inFlight: inFlight
    )
    .run(on: databases.leases, deadline: deadline)
    try await worker.failpoints.tryToPass(.afterHeartbeat)
    await pipeline.leased(asked: asked, stillHeld: held)
  }
}
