import AnalysisCore
import Images
import JobQueue
import PostgreSQL
import RemoteImages
import Synchronization

/// Submits images in the order given: while one chunk is being submitted the next is read and cleaned.
struct SubmitInteractor: Sendable {
  let database: ConnectionPool
  let interruption: Interruption
  /// Where images by URL come from; nil where there are none.
  var remote: RemoteImageCache?

  /// Where to tell how far it has come.
  protocol Audience: Sendable {
    /// An image's turn has come and gone. Without waiting this is its last word.
    func submitted(_ result: SubmitResult)
    /// A job that was waited for has ended.
    func ended(_ result: SubmitResult)
    /// All have had their turn, and so many jobs are waited for.
    func waiting(for jobs: Int)
    /// The database is away, and waited for too.
    func isAway(_ error: JobQueueError)
    /// One of them was seen to have ended.
    func sawEnd()
  }

  /// Submits, and waits if that is asked for.
  ///
  /// A signal lets the call that is under way finish, then no more is submitted.
  func answer(_ request: SubmitRequest, telling audience: any Audience) async -> SubmitResponse {
    var results: [SubmitResult] = []
    interruption.endGracefully()
    let failure = await submit(request, into: &results, telling: audience)
    for item in request.items.dropFirst(results.count) {
      results.append(SubmitResult(item, .notReached))
      audience.submitted(results[results.count - 1])
    }
    var response = SubmitResponse(
      tally: SubmitTally(results), isInterrupted: interruption.isAsked, failure: failure)
    guard request.waiting != .none, failure == nil, !interruption.isAsked else { return response }
    interruption.cancelAtOnce()
    response.failure = await wait(for: &results, request.waiting, telling: audience)
    response.tally = SubmitTally(results)
    response.isInterrupted = interruption.isAsked
    return response
  }

  // MARK: - Submitting

  private func submit(
    _ request: SubmitRequest, into results: inout [SubmitResult], telling audience: any Audience
  ) async -> (any Error)? {
    let intake = ImageIntake(limits: request.limits, keys: request.keys, remote: remote)
    let submitter = Submitter(database)
    let interruption = interruption
    let isStopped: @Sendable () -> Bool = { interruption.isAsked }
    var rest = request.items[...]
    var ready = await intake.chunk(rest, isStopped: isStopped)
    while !ready.isEmpty, !interruption.isAsked {
      rest = rest.dropFirst(ready.count)
      let coming = rest
      async let following = intake.chunk(coming, isStopped: isStopped)
      let (answered, failure) = await submit(ready, by: submitter)
      for result in answered {
        results.append(result)
        audience.submitted(result)
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
  /// that was not.
  private func submit(
    _ chunk: [ImageIntake.Prepared], by submitter: Submitter
  ) async -> ([SubmitResult], (any Error)?) {
    var outcomes: [SubmitResult.Outcome?] = chunk.map { prepared in
      guard case .failure(let refused) = prepared.image else { return nil }
      return refused.wasCancelled ? .notReached : .refused(refused.refusal)
    }
    let places = chunk.indices.filter { outcomes[$0] == nil }
    let submissions = places.compactMap { Self.submission(chunk[$0]) }
    let answered = Mutex<[Int: SubmitOutcome]>([:])
    var failure: (any Error)?
    do {
      _ = try await submitter.submit(submissions) { index, outcome in
        answered.withLock { $0[index] = outcome }
      }
    } catch {
      failure = error
    }
    for (index, outcome) in answered.withLock({ $0 }) { outcomes[places[index]] = Self.outcome(outcome) }
    // With several shards a later item may be answered and an earlier one not: both are told.
    let results = zip(chunk, outcomes).map { prepared, outcome in
      var result = SubmitResult(prepared.item, outcome ?? .notReached)
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

  private static func outcome(_ outcome: SubmitOutcome) -> SubmitResult.Outcome {
    switch outcome {
    case .created(let job, let period): .created(job, period)
    case .duplicate(let job): .duplicate(job)
    case .refused(let refusal):
      .refused(
        ItemRefusal(
          code: refusal.code, sentence: refusal.sentence, advice: refusal.advice, isQuota: refusal.isQuota,
          limit: refusal.limit, used: refusal.used))
    }
  }

  // MARK: - Waiting

  /// Waits, and writes the states that it sees into the results.
  private func wait(
    for results: inout [SubmitResult], _ waiting: SubmitRequest.Waiting, telling audience: any Audience
  ) async -> (any Error)? {
    // Two results may be of one job: a key that was given twice.
    let places = Dictionary(grouping: results.indices.filter { results[$0].job != nil }) { results[$0].job }
    let jobs = places.keys.compactMap { $0 }.sorted()
    guard !jobs.isEmpty else { return nil }
    audience.waiting(for: jobs.count)
    let watch = JobWatch(database: database)
    let failure = await watch.wait(for: jobs, waiting, isAway: audience.isAway, ended: audience.sawEnd)
    var states = watch.states
    if states.count < jobs.count, !(failure is CancellationError) {
      let missing = jobs.filter { states[$0] == nil }
      states.merge((try? await JobDirectory(database).states(missing)) ?? [:]) { first, _ in first }
    }
    for (job, places) in places.sorted(by: { ($0.value.first ?? 0) < ($1.value.first ?? 0) }) {
      for place in places {
        results[place].state = job.flatMap { states[$0] } ?? .waiting
        audience.ended(results[place])
      }
    }
    return failure
  }
}
