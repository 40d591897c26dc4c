import BenchmarkKit
import PostgreSQL

/// Jobs that are submitted with an image of their own each, and run by a worker when all of them wait.
final class SubmittedJobs: EncryptionJobs {
  private let jobs: Int
  private let endpoint: EndpointProcess
  /// Users, and small images that nobody uses.
  private let template: BenchmarkDatabase
  /// Under what the submitter encrypts; nil for images in plaintext.
  private let keys: PictureKeys?
  /// Whether the images go to an object store.
  private let isStoreElsewhere: Bool

  /// Jobs in a call, as `analysisctl submit` makes it: some 8 MB of images, or 200 whose images are objects.
  private var batch: Int { isStoreElsewhere ? 200 : 64 }

  /// Makes what they need; untimed.
  init(_ bench: Bench, named name: String, jobs: Int, keys: PictureKeys?, isStoreElsewhere: Bool = false)
    async throws
  {
    self.jobs = jobs
    self.keys = keys
    self.isStoreElsewhere = isStoreElsewhere
    template = try await Enqueue.template(bench, named: name)
    if isStoreElsewhere {
      _ = try await template.pool.query(
        "UPDATE analysis.setting SET value = 's3' WHERE name = 'image_store'")
    }
    endpoint = try await EndpointProcess(bench.settings)
  }

  /// Submits the jobs and lets one worker run them.
  ///
  /// The server is metered in both, and its figures are the sums. Of the clients it is the worker whose processors and
  /// memory are told: the submitter's processors are a figure of their own, and contain the drawing of the pictures. The
  /// time is that of both, as each tells it of itself.
  func run(_ bench: Bench, inFlight: Int) async throws -> Sample {
    try await run(bench, inFlight: inFlight, workerShare: nil)
  }

  /// The same with a worker that may use no more than a share of a core; nil: as much as there is.
  func run(_ bench: Bench, inFlight: Int, workerShare: Double?) async throws -> Sample {
    let store = isStoreElsewhere ? try await StoreProcess() : nil
    let outcome: Result<Sample, any Error>
    do {
      outcome = .success(try await run(bench, inFlight: inFlight, workerShare: workerShare, store: store))
    } catch {
      outcome = .failure(error)
    }
    await store?.stop()
    return try outcome.get()
  }

  private func run(
    _ bench: Bench, inFlight: Int, workerShare: Double?, store: StoreProcess?
  ) async throws -> Sample {
    let budget = workerShare.flatMap { ProcessorBudget(share: $0) }
    guard (budget == nil) == (workerShare == nil) else {
      throw BenchmarkError("Only root can hold a worker to a part of a core, where there are control groups.")
    }
    return try await bench.withDatabase(named: "\(template.name)_run", from: template) { database in
      try await bench.cluster.settle(database)
      let submit = try await bench.drive(
        [
          "enqueue", "--database", database.conninfo, "--jobs", "\(jobs)", "--batch", "\(batch)",
          "--bytes", "\(QueueFixture.usualBytes)",
        ] + PictureKeys.arguments(keys) + (store?.options ?? []))
      let storeForSubmit = store?.seconds
      var sample = try await WorkerDrain.run(
        bench, database, endpoint: endpoint, jobs: jobs, inFlight: inFlight, keys: keys,
        store: store?.options ?? [], budget: budget)
      try await check(database)
      let perJob = 1_000_000 / Double(jobs)
      sample.further["jobs_of_worker_per_s"] = sample.rate
      sample.further["wal_bytes_of_work"] = sample.further["wal_bytes_per_job"]
      sample.further["wal_bytes_of_submit"] = submit.further["wal_bytes_per_job"]
      sample.further["server_for_work_us"] = (sample.serverSeconds ?? 0) * perJob
      sample.seconds += submit.seconds
      sample.serverSeconds = (sample.serverSeconds ?? 0) + (submit.serverSeconds ?? 0)
      sample.further["wal_bytes_per_job", default: 0] += submit.further["wal_bytes_per_job"] ?? 0
      sample.further["server_for_submit_us"] = (submit.serverSeconds ?? 0) * perJob
      if let store, let storeForSubmit {
        sample.further["store_for_submit_us"] = storeForSubmit * perJob
        sample.further["store_for_work_us"] = (store.seconds - storeForSubmit) * perJob
      }
      sample.further["submitter_cpu_us"] = (submit.workerSeconds ?? 0) * perJob
      return sample
    }
  }

  func end() async { await endpoint.stop() }

  /// Whether each job has an image of its own, and as it was to be.
  private func check(_ database: BenchmarkDatabase) async throws {
    let counts = try await database.pool.query(
      """
      SELECT count(*), count(k.encrypted_by), count(k.object_key)
      FROM analysis.image k WHERE EXISTS (SELECT FROM analysis.job j WHERE j.shard = k.shard AND j.image_id = k.id)
      """
    ).single()
    let (images, encrypted, elsewhere) = (try counts.int(0), try counts.int(1), try counts.int(2))
    guard images == jobs, encrypted == (keys == nil ? 0 : jobs), elsewhere == (isStoreElsewhere ? jobs : 0)
    else {
      throw BenchmarkError(
        "\(jobs) jobs have \(images) images, of which \(encrypted) are encrypted and \(elsewhere) objects.")
    }
  }
}
