internal import EventLoop
internal import PostgreSQL
internal import Queue

/// Gives the sign of life for every lease that is held, in time before the lease runs out; it is also who finds
/// out whether a database that was away is back.
struct LeaseRenewer {
  let context: WorkerContext
  let pipeline: Pipeline

  func run() async {
    var retries = Retries(context, what: "keeping leases", pipeline: pipeline, leads: true)
    while !Task.isCancelled {
      var failed = false
      let held = await pipeline.with { $0.leases.shardsWithLeases }
      // Also without a lease: the first tells that this worker is alive.
      for shard in context.shards where shard == context.shards.first || held.contains(shard) {
        do throws(JobQueueError) {
          try await keep(shard)
          retries.succeeded(shard: shard)
        } catch {
          failed = true
          if error.isTemporary { await context.databases.closeIdle() }
          guard await retries.pause(after: error, shard: shard) else { return }
        }
      }
      if failed { continue }  // a lease is short: not after a whole interval
      await context.outage.probeBell.wait(atMost: context.configuration.heartbeat)
    }
  }

  /// How long one may take: a server that hangs shows no error, and there must be time for another try.
  private var deadline: Duration {
    min(context.configuration.leaseDuration, max(context.configuration.leaseDuration / 3, .seconds(2)))
  }

  private func keep(_ shard: Int16) async throws(JobQueueError) {
    // Reported once: what the shards say of a worker is added up.
    let isFirst = shard == context.shards.first
    let (asked, inFlight) = await pipeline.with {
      ($0.leases.beginHeartbeat(in: shard), isFirst ? $0.calls.inFlight : 0)
    }
    try await context.failpoints.tryToPass(.beforeHeartbeat)
    let held = try await context.statements(of: shard).heartbeat(
      asked, leaseDuration: context.configuration.leaseDuration, inFlight: inFlight
    )
    .run(on: context.databases.leases, deadline: deadline)
    try await context.failpoints.tryToPass(.afterHeartbeat)
    await pipeline.heartbeatEnded(asked: asked, stillHeld: held)
  }
}
