internal import EventLoop
internal import JobQueue
internal import Operations
internal import PostgreSQL

/// The tasks that carry jobs between the database and the pipeline. Each lives through every outage: what
/// it could not do it does again, and calls in flight go on meanwhile.
struct DatabaseLoops {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let shards: [Int16]

  private var deadline: Duration { worker.configuration.statementDeadline }

  // MARK: Claiming

  /// Claims whenever there is room and something may be there, going round the shards: after one that gave
  /// jobs the next has its turn, or a long queue in the first would take all the room there ever is.
  func claim() async {
    var retries = Retries(worker: worker, what: "claiming")
    var first = 0
    while !Task.isCancelled, await pipeline.stage == .running {
      var claimed = false
      for place in Array(shards.indices[first...]) + Array(shards.indices[..<first]) {
        guard let request = await pipeline.nextClaim(shard: shards[place]) else { continue }
        do throws(JobQueueError) {
          let batches = try await request.statement.run(on: databases.control, deadline: deadline)
          await pipeline.claimed(batches, by: request)
          retries.succeeded()
          guard !batches.isEmpty else { continue }
          claimed = true
          first = (place + 1) % shards.count
        } catch {
          await pipeline.claimFailed(request)
          guard await retries.pause(after: error) else { return }
        }
      }
      if !claimed { await pipeline.claimBell.wait(atMost: pipeline.claimRest) }
    }
  }

  // MARK: Images

  /// Reads the images of claimed jobs; each begins its call as soon as its own has come.
  func readImages() async {
    var retries = Retries(worker: worker, what: "reading images")
    while !Task.isCancelled {
      guard let request = await pipeline.nextRead() else {
        await pipeline.readBell.wait(atMost: .seconds(1))
        continue
      }
      var waiting = Dictionary(grouping: request.jobs, by: \.image)
      do throws(JobQueueError) {
        let missing = try await read(request, &waiting)
        for key in missing { await pipeline.imageMissing(waiting.removeValue(forKey: key) ?? []) }
        retries.succeeded()
      } catch {
        await pipeline.readFailed(waiting.values.flatMap { $0 })
        guard await retries.pause(after: error) else { return }
      }
    }
    await pipeline.giveUpReading()
  }

  private func read(
    _ request: Pipeline.ReadRequest, _ waiting: inout [ImageKey: [ClaimedJob]]
  ) async throws(JobQueueError) -> [ImageKey] {
    do {
      return try await ImageReader.read(
        request.keys, shard: request.shard, on: databases.images, deadline: deadline
      ) { key, image in
        guard let jobs = waiting.removeValue(forKey: key) else { return }
        await pipeline.received(image, for: jobs)
      }
    } catch {
      throw error as? JobQueueError
        ?? JobQueueError(.server, "Reading images failed: \(error).", underlying: error)
    }
  }

  // MARK: Storing

  /// Stores outcomes as they come, many in one statement, until the pipeline has ended and is empty.
  func store() async {
    var retries = Retries(worker: worker, what: "storing outcomes")
    var givingUpAt: ContinuousClock.Instant?
    while true {
      guard let request = await pipeline.nextStore() else {
        if await pipeline.stage == .finished, await pipeline.isSettled { return }
        await pipeline.storeBell.wait(atMost: .seconds(1))
        continue
      }
      var left = request
      do throws(JobQueueError) {
        try await store(&left)
        retries.succeeded()
      } catch {
        await pipeline.storeFailed(left)
        if await pipeline.stage == .finished {
          // Leases run out by themselves; a process that never ends would be killed anyway.
          let limit = givingUpAt ?? EventLoop.now + worker.configuration.grace
          givingUpAt = limit
          if EventLoop.now >= limit { return }
        }
        guard await retries.pause(after: error) else { return }
      }
    }
  }

  /// Stores a request's parts in turn; what is stored is taken out of it.
  private func store(_ left: inout Pipeline.StoreRequest) async throws(JobQueueError) {
    guard let queue = await pipeline.shards[left.shard]?.queue else { return }
    if !left.completed.isEmpty {
      let jobs = left.completed
      let outcome = try await queue.complete(jobs, on: databases.store, deadline: deadline)
      left.completed = []
      await pipeline.stored(jobs, outcome)
    }
    if !left.failed.isEmpty {
      let attempts = left.failed
      let outcomes = try await queue.statements.fail(attempts).run(on: databases.store, deadline: deadline)
      left.failed = []
      await pipeline.stored(attempts, outcomes)
    }
    if !left.handedBack.isEmpty {
      let jobs = left.handedBack
      let back = try await queue.statements.handBack(jobs).run(on: databases.store, deadline: deadline)
      left.handedBack = []
      await pipeline.stored(jobs, back)
    }
  }
}
