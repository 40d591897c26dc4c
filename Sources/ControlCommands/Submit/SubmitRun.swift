import Administration
import AnalysisCore
import EventLoop
import Images
import JobQueue
import PostgreSQL
import Synchronization

/// Submits images in the order given: while one chunk is being submitted the next is read and cleaned.
struct SubmitRun: Sendable {
  let items: [SubmitItem]
  var waiting = Waiting.none
  /// How images are read, cleaned and encrypted.
  var intake = ImageIntake(limits: ImageLimits())
  let database: ConnectionPool
  let interruption: Interruption
  /// Where each result is written as it comes.
  let report: SubmitReport

  /// Whether, and for how long, to wait for the jobs' ends.
  enum Waiting: Sendable, Equatable {
    case none
    case untilAllEnd
    case atMost(Duration)
  }

  /// Submits, and waits if that is asked for.
  ///
  /// A signal lets the call that is under way finish, then no more is submitted.
  func run() async -> SubmitResponse {
    var results: [SubmitResult] = []
    interruption.endGracefully()
    let failure = await submit(into: &results)
    for item in items.dropFirst(results.count) {
      results.append(SubmitResult(item, nil))
      report.submitted(results[results.count - 1])
    }
    var response = SubmitResponse(
      tally: SubmitTally(results), isInterrupted: interruption.isAsked, failure: failure)
    guard waiting != .none, failure == nil, !interruption.isAsked else { return response }
    interruption.cancelAtOnce()
    response.failure = await wait(for: &results)
    response.tally = SubmitTally(results)
    response.isInterrupted = interruption.isAsked
    return response
  }

  // MARK: - Submitting

  private func submit(into results: inout [SubmitResult]) async -> (any Error)? {
    let submitter = Submitter(database)
    let interruption = interruption
    let isStopped: @Sendable () -> Bool = { interruption.isAsked }
    var rest = items[...]
    var ready = await intake.chunk(rest, isStopped: isStopped)
    while !ready.isEmpty, !interruption.isAsked {
      rest = rest.dropFirst(ready.count)
      let coming = rest
      async let following = intake.chunk(coming, isStopped: isStopped)
      let (answered, failure) = await submit(ready, by: submitter)
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
    return nil
  }

  /// Submits a chunk. After a failure the results are those that ended before it, up to the first
  /// that did not.
  private func submit(
    _ chunk: [ImageIntake.Prepared], by submitter: Submitter
  ) async -> ([SubmitResult], (any Error)?) {
    var outcomes: [SubmitOutcome?] = chunk.map { prepared in
      guard case .failure(let refused) = prepared.image, !refused.wasCancelled, refused.fault == nil else {
        return nil
      }
      return .refused(refused.refusal)
    }
    let indices = chunk.indices.filter { if case .success = chunk[$0].image { true } else { false } }
    let submissions = indices.compactMap { Self.submission(chunk[$0]) }
    let answered = Mutex<[Int: SubmitOutcome]>([:])
    var failure: (any Error)?
    do {
      _ = try await submitter.submit(submissions) { index, outcome in
        answered.withLock { $0[index] = outcome }
      }
    } catch {
      failure = error
    }
    // What cannot clean one image can clean none of those that follow either.
    failure = failure ?? chunk.lazy.compactMap(\.fault).first
    for (index, outcome) in answered.withLock({ $0 }) { outcomes[indices[index]] = outcome }
    // With several shards a later item may be answered and an earlier one not: both are reported.
    let results = zip(chunk, outcomes).map { prepared, outcome in
      var result = SubmitResult(prepared.item, outcome)
      if case .success(let image) = prepared.image { result.isBelowModelSide = image.isBelowModelSide }
      return result
    }
    return (results, failure)
  }

  private static func submission(_ prepared: ImageIntake.Prepared) -> Submission? {
    let item = prepared.item
    guard case .success(let image) = prepared.image, let user = item.user, let kind = item.kind else {
      return nil
    }
    return Submission(
      user: user, kind: kind, priority: item.priority,
      image: .bytes(
        image.bytes, sha256: image.sha256, width: image.width, height: image.height,
        storedKey: image.storedKey),
      key: item.key, runAt: item.runAt, expiresAt: item.expiresAt, sourceName: sourceName(item))
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
    for (job, indices) in indices.sorted(by: { ($0.value.first ?? 0) < ($1.value.first ?? 0) }) {
      for index in indices {
        results[index].state = job.flatMap { states[$0] } ?? .waiting
        report.ended(results[index])
      }
    }
    return failure
  }
}

/// What a submit came to, after its results were reported one by one.
struct SubmitResponse: Sendable {
  var tally: SubmitTally
  /// Whether a signal ended it early.
  var isInterrupted: Bool
  /// Why it ended early otherwise; what was submitted before stays.
  var failure: (any Error)?
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
