internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// The tasks that carry jobs between the database and the pipeline. Each lives through every outage: what
/// it could not do it does again, and calls in flight go on meanwhile.
struct DatabaseLoops {
  let context: WorkerContext
  let pipeline: Pipeline

  // MARK: Claiming

  /// Claims whenever there is room and something is there. Which shards have jobs is asked of all at once; only those
  /// are claimed from.
  func claim() async {
    var retries = Retries(context, what: "claiming", pipeline: pipeline)
    while !Task.isCancelled, await pipeline.stage == .running {
      await disclaim()
      if let poll = await pipeline.nextPoll() {
        do throws(JobQueueError) {
          await pipeline.polled(poll, found: try await context.ask(poll.statement))
        } catch {
          await pipeline.with { $0.leases.pollSoon() }
          guard await retries.pause(after: error) else { return }
          continue
        }
      }
      guard let request = await pipeline.nextClaim() else {
        await pipeline.claimBell.wait(atMost: pipeline.claimRest)
        continue
      }
      do throws(JobQueueError) {
        let answer = try await claim(request)
        await pipeline.claimed(answer, by: request)
        retries.succeeded(shard: request.shard)
        guard !answer.leases.isEmpty else { continue }
        await context.failpoints.pass(.afterClaim, answer.leases.flatMap(\.jobs).map(\.id))
      } catch {
        await pipeline.with { $0.leases.claimFailed(request, error) }
        guard await retries.pause(after: error, shard: request.shard) else { return }
      }
    }
  }

  private func claim(_ request: Leases.ClaimRequest) async throws(JobQueueError) -> Leases.ClaimAnswer {
    try await context.failpoints.tryToPass(.beforeClaim)
    let began = EventLoop.now
    let answer = try await context.failpoints.during(.claimSent) { () async throws(JobQueueError) in
      guard let images = request.images else {
        return Leases.ClaimAnswer(leases: try await context.ask(request.statement))
      }
      return try await claim(request, with: images)
    }
    context.metrics.claimDuration.observe(EventLoop.now - began)
    guard !answer.leases.isEmpty else { return answer }
    try await context.failpoints.tryToPass(.claimAnswered, answer.leases.flatMap(\.jobs).map(\.id))
    return answer
  }

  /// Claims and asks for the first images in one write. What is wrong with the images is told when they are read by
  /// themselves, as those are that did not come.
  private func claim(
    _ request: Leases.ClaimRequest, with images: Statement<[ImageKey: StoredImage]>
  ) async throws(JobQueueError) -> Leases.ClaimAnswer {
    let results: [Result<Rows, PostgreSQLError>]
    do {
      results = try await context.databases.control.pipeline(
        [request.statement.sql, images.sql], deadline: context.deadline)
    } catch {
      throw JobQueueError(error, while: "claiming jobs")
    }
    var answer = Leases.ClaimAnswer(leases: try request.statement.decode(results[0]))
    let jobs = answer.leases.flatMap(\.jobs)
    do throws(JobQueueError) {
      let found = try images.decode(results[1])
      for key in found.keys {
        try await context.failpoints.tryToPass(.afterImageRead, jobs.filter { $0.image == key }.map(\.id))
      }
      answer.images = found
    } catch {
      if [.schemaMissing, .permission].contains(error.code) {
        await pipeline.with { $0.leases.imagesOfClaimAreMissing() }
      }
    }
    return answer
  }

  /// Takes back what claims took whose answer was lost. A failure does no harm: the next claim reports it,
  /// and what was taken comes back with its lease.
  private func disclaim() async {
    while let lost = await pipeline.with({ $0.leases.nextLostClaim() }) {
      do throws(JobQueueError) {
        let jobs = try await context.ask(lost.statement)
        await pipeline.with { $0.leases.disclaimed(lost, found: jobs) }
      } catch {
        await pipeline.with { $0.leases.disclaimFailed(lost, error) }
      }
    }
  }

  // MARK: Images

  /// Reads the images of claimed jobs; each begins its call as soon as its own has come.
  func readImages() async {
    var retries = Retries(context, what: "reading images", pipeline: pipeline)
    while !Task.isCancelled {
      guard let request = await pipeline.nextRead() else {
        await pipeline.readBell.wait(atMost: .seconds(1))
        continue
      }
      var waiting = Dictionary(grouping: request.jobs, by: \.image)
      do throws(JobQueueError) {
        do throws(JobQueueError) {
          try await read(request.jobs, of: request.shard, &waiting)
        } catch  where error.isOfRow {
          try await readApart(of: request.shard, &waiting)
        }
        retries.succeeded(shard: request.shard)
      } catch {
        await pipeline.readFailed(waiting.values.flatMap { $0 })
        guard await retries.pause(after: error, shard: request.shard) else { return }
      }
    }
    await pipeline.giveUpReading()
  }

  /// Reads the images one by one, since one of them cannot be read: the jobs of that one fail.
  private func readApart(
    of shard: Int16, _ waiting: inout [ImageKey: [ClaimedJob]]
  ) async throws(JobQueueError) {
    for (key, jobs) in waiting {
      do throws(JobQueueError) {
        try await read(jobs, of: shard, &waiting)
      } catch  where error.isOfRow {
        await pipeline.unreadable(waiting.removeValue(forKey: key) ?? [], error)
      }
    }
  }

  private func read(
    _ jobs: [ClaimedJob], of shard: Int16, _ waiting: inout [ImageKey: [ClaimedJob]]
  ) async throws(JobQueueError) {
    try await context.failpoints.tryToPass(.beforeImageRead, jobs.map(\.id))
    var objects: [ImageKey: StoredImage] = [:]
    do {
      let missing = try await ImageReader.read(
        of: jobs, by: context.identity, shard: shard, on: context.databases.images, deadline: context.deadline
      ) { key, image in
        guard image.objectKey == nil else {
          objects[key] = image
          return
        }
        try await context.failpoints.tryToPass(.afterImageRead, waiting[key]?.map(\.id) ?? [])
        guard let jobs = waiting.removeValue(forKey: key) else { return }
        await pipeline.received(image, for: jobs)
      }
      for key in missing { await pipeline.unreadable(waiting.removeValue(forKey: key) ?? []) }
    } catch {
      throw error as? JobQueueError
        ?? JobQueueError(.server, "Reading images failed: \(error).", underlying: error)
    }
    if !objects.isEmpty { try await fetch(objects, of: shard, &waiting) }
  }

  /// Fetches images that are objects, all at once; each begins its call as soon as its own has come. What the store does
  /// not give for now is asked for again.
  private func fetch(
    _ objects: [ImageKey: StoredImage], of shard: Int16, _ waiting: inout [ImageKey: [ClaimedJob]]
  ) async throws(JobQueueError) {
    guard let store = context.configuration.imageStore else {
      for key in objects.keys { await pipeline.withoutStore(waiting.removeValue(forKey: key) ?? []) }
      return
    }
    var absent: [ImageKey] = []
    var failure: JobQueueError?
    await withTaskGroup(of: (ImageKey, Fetched).self) { group in
      for (key, image) in objects { group.addTask { (key, await fetch(image, from: store)) } }
      for await (key, fetched) in group {
        switch fetched {
        case .none: await pipeline.readFailed(waiting.removeValue(forKey: key) ?? [])
        case .absent: absent.append(key)
        case .image(let image):
          do throws(JobQueueError) {
            try await context.failpoints.tryToPass(.afterImageRead, waiting[key]?.map(\.id) ?? [])
            await pipeline.received(image, for: waiting.removeValue(forKey: key) ?? [])
          } catch {
            failure = error
          }
        }
      }
    }
    // One that was moved meanwhile is where its row says now.
    for (period, keys) in Dictionary(grouping: absent, by: \.period) {
      let named = try await ImageReader.objects(
        of: keys.map(\.id), period: period, shard: shard, on: context.databases.images,
        deadline: context.deadline)
      for key in keys {
        let jobs = waiting.removeValue(forKey: key) ?? []
        let isGone = named[key.id] == objects[key]?.objectKey
        if isGone { await pipeline.unreadable(jobs) } else { await pipeline.readFailed(jobs) }
      }
    }
    if let failure { throw failure }
  }

  /// What came of the question for an object.
  private enum Fetched {
    case image(StoredImage)
    /// The store has no such object.
    case absent
    /// The store was not asked, or did not answer.
    case none
  }

  private func fetch(_ image: StoredImage, from store: ImageStore) async -> Fetched {
    guard let (admission, patience) = await pipeline.admitsFetch() else { return .none }
    let began = EventLoop.now
    switch await ask(image, of: store, onceMoreAfter: patience) {
    case .success(let found):
      await pipeline.fetched(admission, after: EventLoop.now - began)
      return found.map { .image($0) } ?? .absent
    case .failure(let error):
      await pipeline.fetched(admission, after: EventLoop.now - began, error)
      return .none
    }
  }

  private typealias Answer = Result<StoredImage?, ImageStoreError>

  /// Asks for an image, and once more where the answer is late: the first good one counts, and the other is called off.
  private func ask(
    _ image: StoredImage, of store: ImageStore, onceMoreAfter patience: Duration?
  ) async -> Answer {
    @Sendable func fetch() async -> Answer {
      do throws(ImageStoreError) {
        return .success(try await store.fetch(image))
      } catch {
        return .failure(error)
      }
    }
    guard let patience else { return await fetch() }
    let lateAt = EventLoop.now + patience
    return await withTaskGroup(of: Answer?.self) { group in
      group.addTask { await fetch() }
      group.addTask {
        do { try await context.loop.sleep(for: patience) } catch { return nil }
        return await pipeline.hedgesFetch() ? await fetch() : nil
      }
      var failure: Answer?
      for await case let answer? in group {
        // One that fails before it is late is not asked for again. The other one of a late one may still come.
        if case .failure = answer, EventLoop.now >= lateAt {
          failure = failure ?? answer
          continue
        }
        group.cancelAll()
        return answer
      }
      guard let failure else { preconditionFailure("The first request has an answer, or an error.") }
      return failure
    }
  }

  // MARK: Storing

  /// Stores outcomes as they come, many in one statement, until the pipeline has ended and is empty.
  func store() async {
    var retries = Retries(context, what: "storing outcomes", pipeline: pipeline)
    var givingUpAt: ContinuousClock.Instant?
    while true {
      guard let request = await pipeline.nextStore() else {
        if await pipeline.stage == .finished, await pipeline.isStored { return }
        await pipeline.storeBell.wait(atMost: pipeline.with { $0.outcomes.rest })
        continue
      }
      var left = request
      do throws(JobQueueError) {
        try await store(&left)
        retries.succeeded(shard: left.shard)
      } catch {
        await pipeline.with { [left] in $0.outcomes.storeFailed(left) }
        if await pipeline.stage == .finished {
          // Leases run out by themselves; a process that never ends would be killed anyway.
          let limit = givingUpAt ?? EventLoop.now + context.configuration.grace
          givingUpAt = limit
          if EventLoop.now >= limit { return }
        }
        guard await retries.pause(after: error, shard: left.shard) else { return }
      }
    }
  }

  /// Stores a request's parts in turn; what is stored is taken out of it.
  private func store(_ left: inout Outcomes.StoreRequest) async throws(JobQueueError) {
    let queue = WorkerQueue(context.statements(of: left.shard))
    let isKnownBusy = left.isKnownBusy
    if !left.completed.isEmpty {
      let jobs = left.completed
      let outcome = try await storing(jobs.map(\.job)) { () async throws(JobQueueError) in
        try await queue.complete(
          jobs, knownBusy: isKnownBusy, on: context.databases.store, deadline: context.deadline)
      }
      left.completed = []
      await pipeline.stored { $0.stored(jobs, outcome) }
      context.ended?.add(outcome.stored.union(outcome.rejected.keys).map { (shard: left.shard, job: $0) })
      await context.failpoints.pass(.afterStore, jobs.map(\.job))
    }
    if !left.failed.isEmpty {
      let attempts = left.failed
      let outcome = try await storing(attempts.map(\.job)) { () async throws(JobQueueError) in
        try await queue.fail(attempts, on: context.databases.store, deadline: context.deadline)
      }
      left.failed = []
      await pipeline.stored { $0.stored(attempts, outcome) }
      context.ended?.add(outcome.ended.filter { $0.value == .dead }.keys.map { (shard: left.shard, job: $0) })
      await context.failpoints.pass(.afterStore, attempts.map(\.job))
    }
    if !left.released.isEmpty {
      let jobs = left.released
      try await context.failpoints.tryToPass(.beforeRelease, jobs.map(\.job))
      let outcome = try await queue.release(jobs, on: context.databases.store, deadline: context.deadline)
      try await context.failpoints.tryToPass(.releaseAnswered, jobs.map(\.job))
      left.released = []
      await pipeline.stored { $0.stored(jobs, outcome) }
    }
  }

  /// Stores one kind of outcome, past the failpoints round it.
  private func storing<R>(
    _ jobs: [JobID], _ store: () async throws(JobQueueError) -> R
  ) async throws(JobQueueError) -> R {
    try await context.failpoints.tryToPass(.beforeStore, jobs)
    let began = EventLoop.now
    let outcome = try await context.failpoints.during(.storeSent, jobs, store)
    context.metrics.storeDuration.observe(EventLoop.now - began)
    try await context.failpoints.tryToPass(.storeAnswered, jobs)
    return outcome
  }
}
