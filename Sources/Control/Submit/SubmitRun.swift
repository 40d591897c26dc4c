import EventLoop
import Images
import PostgreSQL
import Queue
import Support
import Synchronization

/// Submits images in the order given: while one chunk is being submitted the next is read and cleaned.
struct SubmitRun: Sendable {
  let items: [SubmitItem]
  var waiting = Waiting.none
  /// The batch of the jobs.
  var batch = Batch()
  /// Whether a picture that comes several times is one job.
  var takesEachOnce = false
  /// Whether what was found is read once the jobs have ended, and by whom.
  var reader: AuditActor?
  /// How images are read, cleaned and encrypted.
  var intake = ImageIntake(limits: ImageLimits())
  let database: ConnectionPool
  /// What submits, where something was asked of it before; nil for a new one.
  var submitter: Submitter?
  let interruption: Interruption
  /// Where each result is written as it comes.
  let report: SubmitReport

  /// Whether, and for how long, to wait for the jobs' ends.
  enum Waiting: Sendable, Equatable {
    case none
    case untilAllEnd
    case atMost(Duration)
  }

  /// The batch that a run makes.
  struct Batch: Sendable, Equatable {
    /// What the person calls it; nil for nothing.
    var name: String?
    /// The run's key: a run that is carried on under it goes on with its batch.
    var key: String?
  }

  /// Submits, and waits if that is asked for.
  ///
  /// A signal lets the call that is under way finish, then no more is submitted.
  func run() async -> SubmitResponse {
    var results: [SubmitResult] = []
    var made: BatchID?
    interruption.endGracefully()
    let failure = await submit(into: &results, &made)
    for item in items.dropFirst(results.count) {
      results.append(SubmitResult(item, nil))
      report.submitted(results[results.count - 1])
    }
    var response = SubmitResponse(
      tally: SubmitTally(results), isInterrupted: interruption.isAsked, failure: failure, batch: made,
      batchName: batch.name)
    guard waiting != .none, failure == nil, !interruption.isAsked else { return response }
    interruption.cancelAtOnce()
    response.failure = await wait(for: &results)
    response.results = reader == nil ? [] : results
    response.tally = SubmitTally(results)
    response.isInterrupted = interruption.isAsked
    return response
  }

  // MARK: - Submitting

  private func submit(into results: inout [SubmitResult], _ made: inout BatchID?) async -> (any Error)? {
    let submitter = submitter ?? Submitter(database)
    let interruption = interruption
    let isStopped: @Sendable () -> Bool = { interruption.isAsked }
    var rest = items[...]
    var ready = await intake.chunk(rest, isStopped: isStopped)
    var refusedHere: [(user: String?, key: String?)] = []
    var jobs: [Picture: JobID] = [:]
    while !ready.isEmpty, !interruption.isAsked {
      rest = rest.dropFirst(ready.count)
      let coming = rest
      async let following = intake.chunk(coming, isStopped: isStopped)
      let (answered, failure) = await submit(ready, by: submitter, &made, &jobs)
      refusedHere += ready.filter(\.isRefused).map { (user: $0.item.user, key: $0.item.key) }
      for result in answered {
        results.append(result)
        report.submitted(result)
      }
      if let failure {
        await submitter.notifyWorkers()
        return failure
      }
      ready = await following
    }
    await submitter.notifyWorkers()
    // The jobs are in; that a count for people is short is no reason to call the run failed.
    if let made { try? await submitter.addRefusals(refusedHere, to: made) }
    return nil
  }

  /// What makes a picture the same as another.
  private struct Picture: Hashable {
    let user: String?
    let kind: AnalysisKind?
    let sha256: [UInt8]
  }

  /// Submits a chunk. After a failure the results are those that ended before it, up to the first
  /// that did not.
  ///
  /// - Parameter jobs: Those of the pictures before, to which the chunk's are added.
  private func submit(
    _ chunk: [ImageIntake.Prepared], by submitter: Submitter, _ made: inout BatchID?,
    _ jobs: inout [Picture: JobID]
  ) async -> ([SubmitResult], (any Error)?) {
    var outcomes: [SubmitOutcome?] = chunk.map { prepared in
      guard prepared.isRefused, case .failure(let refused) = prepared.image else { return nil }
      return .refused(refused.refusal)
    }
    var failure: (any Error)?
    var open = chunk.indices.filter { if case .success = chunk[$0].image { true } else { false } }
    var doubles: Set<Int> = []
    while !open.isEmpty, failure == nil {
      // One that is the same as another waits for what becomes of that: where it is refused, this one may not be.
      var (round, later): ([Int], [Int]) = ([], [])
      var first: Set<Picture> = []
      for index in open {
        let picture = takesEachOnce ? Self.picture(chunk[index]) : nil
        if let job = picture.flatMap({ jobs[$0] }) {
          outcomes[index] = .duplicate(job)
          doubles.insert(index)
        } else if let picture, !first.insert(picture).inserted {
          later.append(index)
        } else {
          round.append(index)
        }
      }
      let (answered, fault) = await submit(round.map { chunk[$0] }, by: submitter, &made)
      failure = fault
      for (index, outcome) in answered {
        outcomes[round[index]] = outcome
        if let job = outcome.job, let picture = Self.picture(chunk[round[index]]) { jobs[picture] = job }
      }
      open = later
    }
    // What cannot clean one image can clean none of those that follow either.
    failure = failure ?? chunk.lazy.compactMap(\.fault).first
    // With several shards a later item may be answered and an earlier one not: both are reported.
    let results = chunk.indices.map { index in
      var result = SubmitResult(chunk[index].item, outcomes[index])
      result.isDouble = doubles.contains(index)
      if case .created? = outcomes[index] { result.batch = made }
      if case .success(let image) = chunk[index].image { result.isBelowModelSide = image.isBelowModelSide }
      return result
    }
    return (results, failure)
  }

  /// What becomes of images in one call, by their place in it, and why it ended early.
  private func submit(
    _ ready: [ImageIntake.Prepared], by submitter: Submitter, _ made: inout BatchID?
  ) async -> ([Int: SubmitOutcome], (any Error)?) {
    let submissions = ready.compactMap { Self.submission($0) }
    let answered = Mutex<[Int: SubmitOutcome]>([:])
    var failure: (any Error)?
    do {
      // A run of which nothing comes to the database leaves no batch behind.
      if made == nil, !submissions.isEmpty {
        made = try await submitter.openBatch(name: batch.name, key: batch.key)
      }
      _ = try await submitter.submit(submissions, in: made) { index, outcome in
        answered.withLock { $0[index] = outcome }
      }
    } catch {
      failure = error
    }
    return (answered.withLock { $0 }, failure)
  }

  private static func picture(_ prepared: ImageIntake.Prepared) -> Picture? {
    guard case .success(let image) = prepared.image else { return nil }
    return Picture(user: prepared.item.user, kind: prepared.item.kind, sha256: image.image.sha256)
  }

  private static func submission(_ prepared: ImageIntake.Prepared) -> Submission? {
    let item = prepared.item
    guard case .success(let image) = prepared.image, let user = item.user, let kind = item.kind else {
      return nil
    }
    return Submission(
      user: user, kind: kind, priority: item.priority,
      image: image.image, key: item.key, runAt: item.runAt, expiresAt: item.expiresAt,
      sourceName: sourceName(item),
      reference: item.reference)
  }

  /// What is to be stored of its name, or the file's name without its folders.
  private static func sourceName(_ item: SubmitItem) -> String {
    let last = item.storedName ?? item.name.split(separator: "/").last.map(String.init) ?? item.name
    return String(String.UnicodeScalarView(last.unicodeScalars.prefix(SubmitLimitsOfText.sourceName)))
  }

  // MARK: - Waiting

  /// Waits, and writes the states that it sees into the results.
  private func wait(for results: inout [SubmitResult]) async -> (any Error)? {
    // Two results may be of one job: a key that was given twice.
    let indices = Dictionary(grouping: results.indices.filter { results[$0].job != nil }) { results[$0].job }
    let jobs = indices.keys.compactMap { $0 }.sorted()
    guard !jobs.isEmpty else { return nil }
    report.waiting(for: jobs.count)
    let watch = JobWatch(database: database)
    let failure = await watch.wait(
      for: jobs, waiting, unavailable: report.databaseUnavailable, ended: report.jobFinished)
    var states = watch.states
    if states.count < jobs.count, !(failure is CancellationError) {
      let missing = jobs.filter { states[$0] == nil }
      states.merge((try? await JobDirectory(database).states(missing)) ?? [:]) { first, _ in first }
    }
    for (job, indices) in indices {
      for index in indices { results[index].state = job.flatMap { states[$0] } ?? .waiting }
    }
    var unread: (any Error)?
    if let reader { unread = await read(&results, by: reader) }
    for (_, indices) in indices.sorted(by: { ($0.value.first ?? 0) < ($1.value.first ?? 0) }) {
      for index in indices { report.ended(results[index]) }
    }
    return failure ?? unread
  }

  /// Reads what was found in the photos whose jobs succeeded.
  private func read(_ results: inout [SubmitResult], by reader: AuditActor) async -> (any Error)? {
    let succeeded = results.indices.filter { results[$0].state == .succeeded }
    let jobs = Dictionary(grouping: succeeded) { results[$0].item.user ?? "" }.mapValues { indices in
      Set(indices.compactMap { results[$0].job }).sorted()
    }
    do {
      let found = try await JobDirectory(database).results(of: jobs, by: reader)
      for index in succeeded {
        results[index].finding = results[index].job.flatMap { found[$0] }.map { .found($0) } ?? .notShown
      }
      return nil
    } catch {
      return error
    }
  }
}

/// What a submit came to, after its results were reported one by one.
struct SubmitResponse: Sendable {
  var tally: SubmitTally
  /// Whether a signal ended it early.
  var isInterrupted: Bool
  /// Why it ended early otherwise; what was submitted before stays.
  var failure: (any Error)?
  /// The batch that was made; nil where nothing came to the database.
  var batch: BatchID?
  /// What the person calls it.
  var batchName: String?
  /// What became of each image, where findings were read.
  var results: [SubmitResult] = []

  /// The batch in one line: `B17 ward 3: 98 jobs`. Nil where there is none, or where it has no name and is not needed.
  /// A job that was submitted before may be another batch's, and is not counted.
  func batchLine(isNeeded: Bool) -> String? {
    guard let batch, isNeeded || batchName != nil else { return nil }
    let new = tally.duplicates > 0 ? "new " : ""
    let jobs = tally.created == 1 ? "1 \(new)job" : "\(tally.created) \(new)jobs"
    return "\(batch)\(batchName.map { " " + printable($0) } ?? ""): \(jobs)"
  }
}

/// Waits for jobs with a time limit, and remembers how those ended that did.
final class JobWatch: Sendable {
  private let database: ConnectionPool
  private let ended = Mutex<[JobID: JobState]>([:])

  init(database: ConnectionPool) {
    self.database = database
  }

  /// How the jobs ended that have.
  var states: [JobID: JobState] { ended.withLock { $0 } }

  /// Waits until all have ended or the time is over, which is no error. Answers what went wrong.
  func wait(
    for jobs: [JobID], _ waiting: SubmitRun.Waiting,
    unavailable: @escaping @Sendable (JobQueueError) -> Void, ended report: @escaping @Sendable () -> Void
  ) async -> (any Error)? {
    await withTaskGroup(of: (any Error)?.self) { group in
      group.addTask {
        do {
          _ = try await JobDirectory(self.database).wait(
            for: jobs,
            finished: { job, state in
              self.ended.withLock { $0[job] = state }
              report()
            }, isAway: unavailable)
          return nil
        } catch {
          return error
        }
      }
      if case .atMost(let limit) = waiting {
        let loop = database.loop
        group.addTask {
          do {
            try await loop.sleep(for: limit)
            return nil
          } catch {
            return error
          }
        }
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
  }
}
