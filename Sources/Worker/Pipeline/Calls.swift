internal import Endpoint
internal import EventLoop
internal import HTTPTransfer
internal import Images
internal import Queue
internal import Support

/// The jobs between their claim and the end of their call, and the endpoints that are called for them.
///
/// The rule: a job waits for its image, has it read, is ready, and is called for, one after the other. Its image counts
/// against the limit on bytes from the moment in which it is asked for until the call has ended. A call begins when a
/// slot is idle and the endpoint's gate lets it: its window has room, its breaker admits it, and no other endpoint needs
/// the slot for its share. Nothing begins for a type that an operator has paused.
struct Calls {
  private let context: WorkerContext
  /// Claimed jobs whose image has not been asked for.
  private var toRead = FairLine<ClaimedJob>()
  private var gates: [EndpointGate] = []
  /// The object store of images; nil where none was given.
  private var store: ImageStoreGate?
  private let gateOfKind: [AnalysisKind: Int]
  /// Tasks that wait for a job to call the endpoint for.
  private var idleSlots: [CheckedContinuation<ReadyJob?, Never>] = []
  private(set) var inFlight = 0
  /// What operators have paused, as last heard.
  private var pauses: [OperatorPause] = []
  /// What is sent of each type's images, as last heard.
  private var imageRules: [AnalysisKind: ImageRules] = [:]
  /// Why no image can be decoded, as it was logged; nil since the last that was.
  private var reportedDecoderError: ImageDecoderError?
  private var generator = SystemRandomNumberGenerator()

  /// How many images one statement reads at most: few enough that both connections have work. Of objects it reads the
  /// keys alone.
  private var imagesPerRead: Int { store == nil ? 32 : 64 }

  init(_ context: WorkerContext) {
    self.context = context
    // Types that name the same endpoint share one window and one breaker.
    var gateOfKind: [AnalysisKind: Int] = [:]
    for kind in context.configuration.kinds {
      guard let client = context.clients[kind] else { continue }
      if let index = gates.firstIndex(where: { $0.name == client.endpoint.name }) {
        gateOfKind[kind] = index
      } else {
        gateOfKind[kind] = gates.count
        gates.append(
          EndpointGate(
            client: client, greatestWindow: context.configuration.concurrency,
            callDuration: context.metrics.callDuration(of: client.endpoint.name)))
      }
    }
    self.gateOfKind = gateOfKind
    store = context.configuration.imageStore.map { _ in
      ImageStoreGate(probeEvery: context.configuration.storeProbe)
    }
  }

  // MARK: How much there is

  /// The types of each endpoint.
  var kindsOfGates: [[AnalysisKind]] {
    gates.indices.map { gate in context.configuration.kinds.filter { gateOfKind[$0] == gate } }
  }

  /// Jobs that have not been called for.
  var waiting: Int {
    var waiting = toRead.count
    for index in gates.indices { waiting += gates[index].reading + gates[index].ready.count }
    return waiting
  }

  var held: Int { waiting + inFlight }

  /// Whether images are still to be asked for.
  var hasToRead: Bool { !toRead.isEmpty }

  /// Whether a claim would find room.
  func hasRoom(besides unstored: Int) -> Bool {
    gates.indices.contains { room(ofGate: $0, besides: unstored) > 0 }
  }

  /// How many jobs may be claimed for an endpoint; 0 when they are too few to be worth a statement. That is fewer than
  /// three quarters of a prefetch: many small claims would cost the database more than they bring, and the last quarter
  /// is called for while the claim is on its way.
  ///
  /// - Parameter unstored: How many outcomes wait for the store. One that does not keep up (a database away) must stop
  ///   the claims, or memory would grow.
  func room(ofGate gate: Int, besides unstored: Int) -> Int {
    let total = context.configuration.concurrency + context.configuration.prefetch - unstored / 4
    let shares = EndpointShares(total: max(0, total), endpoints: gates.count)
    // With a single endpoint, as nearly always, all that is held is its own.
    let room = shares.allowance(of: gate) { gates.count == 1 ? held : held(forGate: $0) }
    let least =
      min(context.configuration.prefetch, context.configuration.claimSize, shares.floor) * 3 / 4
    return room >= max(1, least) ? room : 0
  }

  private func held(forGate index: Int) -> Int {
    gates[index].inFlight + gates[index].ready.count + gates[index].reading
      + toRead.elements.count { gateOfKind[$0.kind] == index }
  }

  /// The types that are not started at present: an operator paused them, or their endpoint or the image store is not
  /// called.
  func paused(at now: ContinuousClock.Instant) -> Set<AnalysisKind> {
    guard isStoreAsked(at: now) else { return Set(context.configuration.kinds) }
    return Set(
      context.configuration.kinds.filter { kind in
        guard let gate = gateOfKind[kind] else { return true }
        return isPausedByOperator(kind) || !gates[gate].wantsJobs(at: now)
      })
  }

  // MARK: Images

  /// By which rules images are cleaned from now on.
  mutating func follow(_ rules: [AnalysisKind: ImageRules]) { imageRules = rules }

  /// By which rules images of a type are cleaned.
  func imageRules(of kind: AnalysisKind) -> ImageRules { imageRules[kind] ?? .usual }

  /// A job's image is to be read.
  mutating func waitForImage(_ job: ClaimedJob) {
    toRead.append(job, for: job.requester, cost: job.imageBytes)
  }

  /// The next jobs whose images are read in one statement, of one shard; nil when there are none or the bytes held are at
  /// their limit.
  mutating func nextRead() -> (shard: Int16, jobs: [ClaimedJob])? {
    guard isStoreAsked(at: EventLoop.now) else { return nil }
    var blocked: Set<Int> = []
    var shard: Int16?
    var jobs: [ClaimedJob] = []
    while jobs.count < imagesPerRead,
      let next = toRead.next(where: { job in
        gateOfKind[job.kind].map { !blocked.contains($0) } == true && shard ?? job.shard == job.shard
      }), let gate = gateOfKind[next.element.kind]
    {
      guard mayHold(next.element, gate) else {
        // Smaller ones behind it do not overtake it, or it might never be read.
        blocked.insert(gate)
        continue
      }
      shard = next.element.shard
      beginReading(next, gate)
      jobs.append(next.element)
    }
    return shard.map { ($0, jobs) }
  }

  /// The next job of a shard whose image came with its claim, and may be held.
  mutating func nextRead(of images: [ImageKey: StoredImage], in shard: Int16) -> (ClaimedJob, StoredImage)? {
    guard
      let next = toRead.next(where: { job in
        job.shard == shard && images[job.image] != nil
          && gateOfKind[job.kind].map { mayHold(job, $0) } == true
      }), let image = images[next.element.image], let gate = gateOfKind[next.element.kind]
    else { return nil }
    beginReading(next, gate)
    return (next.element, image)
  }

  /// A job's image is on its way.
  private mutating func beginReading(_ next: FairLine<ClaimedJob>.Next, _ gate: Int) {
    toRead.take(next)
    gates[gate].imageBytes += next.element.imageBytes
    gates[gate].reading += 1
  }

  /// Whether a job's image may be had beside those that are held. One image of each endpoint may always be
  /// read, however large, or a limit set too low would stop the worker.
  private func mayHold(_ job: ClaimedJob, _ gate: Int) -> Bool {
    gates[gate].imageBytes == 0 || job.imageBytes <= imageRoom(ofGate: gate)
  }

  private func imageRoom(ofGate gate: Int) -> Int {
    EndpointShares(total: context.configuration.imageBytes, endpoints: gates.count)
      .allowance(of: gate) { gates[$0].imageBytes }
  }

  /// How many bytes of images are worth having with a claim: some where a claimed job would be called for at once, for
  /// then the round trip is all that its call waits for. In a busy worker claims run ahead of the calls, and it is
  /// better that images stream.
  func imageBytesOfClaim(forGate gate: Int) -> Int {
    waiting == 0 && idleSlots.count > inFlight ? imageRoom(ofGate: gate) : 0
  }

  /// An image came: the job may be called for. False when it is not to be, since the endpoint or the type was paused
  /// while the image was on its way.
  mutating func ready(_ job: ClaimedJob, _ image: StoredImage, at now: ContinuousClock.Instant) -> Bool {
    guard let gate = gateOfKind[job.kind] else { return true }
    guard !isShutForLong(gate, now), !isPausedByOperator(job.kind) else {
      notRead(job)
      return false
    }
    gates[gate].reading -= 1
    gates[gate].ready.append(ReadyJob(job: job, image: image), for: job.requester, cost: job.imageBytes)
    return true
  }

  /// A job's image was on its way, and will not come or is not wanted any more.
  mutating func notRead(_ job: ClaimedJob) {
    guard let gate = gateOfKind[job.kind] else { return }
    gates[gate].reading -= 1
    gates[gate].imageBytes -= job.imageBytes
  }

  /// The database has no image for the job, which can never run; or, with an error, has it and cannot read it, as with a
  /// damaged disk: somebody may mend that before the attempts are over.
  mutating func unreadable(_ job: ClaimedJob, _ error: JobQueueError?) -> JobOutcome {
    notRead(job)
    context.metrics.imagesRefused.add(error == nil ? "missing" : "unreadable")
    guard let error else {
      return .failed(
        FailedAttempt(image: job, .dead, "image_missing", "The job's image is not stored any more."))
    }
    let decision = context.configuration.retryPolicy.decide(
      .image, attempt: job.attempt, maxAttempts: job.maxAttempts, using: &generator)
    return .failed(FailedAttempt(image: job, decision, "image_unreadable", error.description))
  }

  // MARK: The image store

  private func isStoreAsked(at now: ContinuousClock.Instant) -> Bool {
    store.map { $0.breaker.mayAdmit(at: now) } ?? true
  }

  /// How an image may be asked of the store now, and when once more; nil when it may not.
  mutating func admitsFetch() -> (admission: Breaker.Admission, patience: Duration?)? {
    store?.admits(at: EventLoop.now)
  }

  /// Whether an image that is late is asked for once more.
  mutating func hedgesFetch() -> Bool {
    guard store?.hedges() == true else { return false }
    context.metrics.imageHedges.add()
    return true
  }

  /// The store has answered after a time, or has not. Where it is left alone for longer than a moment, jobs whose images
  /// have not been asked for go back, and are answered.
  mutating func fetched(
    _ admission: Breaker.Admission, after time: Duration, _ error: ImageStoreError?
  ) -> [ClaimedJob] {
    let now = EventLoop.now
    guard var gate = store else { return [] }
    defer { store = gate }
    guard let error else {
      if gate.answered(after: time, at: now) {
        context.log.notice("The image store answers again")
      }
      return []
    }
    if gate.failed(admission, error, at: now) {
      context.log.error(
        "The image store is left alone for a while; jobs wait and none is failed",
        ["reason": .string(error.description)])
    }
    return gate.breaker.isShutForLong(at: now) ? toRead.remove { _ in true } : []
  }

  /// Whether a job would wait for the store for longer than a moment.
  var isStoreShutForLong: Bool { store?.breaker.isShutForLong(at: EventLoop.now) ?? false }

  /// The job's image is in an object store, and none was given to this worker: it waits for one that has it.
  mutating func withoutStore(_ job: ClaimedJob) -> JobOutcome {
    notRead(job)
    return .failed(
      FailedAttempt(
        image: job, later(), "image_store_missing",
        "The job's image is in an object store, and this worker was given none (--image-store)."))
  }

  /// Takes out jobs that have not been called for; those whose image is on its way stay.
  mutating func remove(where isOver: (ClaimedJob) -> Bool = { _ in true }) -> [ClaimedJob] {
    var removed = toRead.remove(where: isOver)
    for gate in gates.indices { removed += removeReady(ofGate: gate, where: isOver) }
    return removed
  }

  private mutating func removeReady(
    ofGate gate: Int, where isOver: (ClaimedJob) -> Bool = { _ in true }
  ) -> [ClaimedJob] {
    gates[gate].ready.remove { isOver($0.job) }.map { ready in
      gates[gate].imageBytes -= ready.job.imageBytes
      return ready.job
    }
  }

  // MARK: Calls

  /// Who is called for jobs of a type.
  func client(for kind: AnalysisKind) -> ModelClient? { gateOfKind[kind].map { gates[$0].client } }

  /// A task waits for a job to call the endpoint for.
  mutating func wait(_ slot: CheckedContinuation<ReadyJob?, Never>) { idleSlots.append(slot) }

  /// No slot gets a job any more.
  mutating func endWaits() {
    for slot in idleSlots { slot.resume(returning: nil) }
    idleSlots = []
  }

  /// Gives waiting slots what may begin now, the endpoints in turn.
  mutating func dispatch() {
    let now = EventLoop.now
    let slots = EndpointShares(total: context.configuration.concurrency, endpoints: gates.count)
    var progress = true
    while progress, !idleSlots.isEmpty {
      progress = false
      for index in gates.indices {
        guard !idleSlots.isEmpty, slots.allowance(of: index, used: { gates[$0].inFlight }) > 0,
          let ready = gates[index].take(at: now)
        else { continue }
        inFlight += 1
        progress = true
        idleSlots.removeLast().resume(returning: ready)
      }
    }
    context.metrics.inFlight.set(inFlight)
    var shut = 0
    for index in gates.indices where gates[index].breaker.state != .closed { shut += 1 }
    if let store, store.breaker.state != .closed { shut += 1 }
    context.metrics.endpointsShut.set(shut)
  }

  /// What comes of a call that has ended, and jobs that would wait here too long for the endpoint: they go back, so that
  /// others may run them.
  typealias Ended = (outcome: JobOutcome, released: [ClaimedJob])

  /// The call for a job has ended.
  mutating func ended(_ ready: ReadyJob, _ outcome: CallOutcome, after duration: Duration) -> Ended? {
    guard let gate = end(ready.job) else { return nil }
    let (calls, status): (Int, Int?) =
      switch outcome {
      case .success(let answer): (answer.calls, answer.status)
      case .failure(let failure): (failure.calls, failure.status)
      }
    context.metrics.calls.add(calls)
    if calls > 0 {
      context.metrics.answers.add(status.map(String.init) ?? "none")
      gates[gate].callDuration.observe(duration)
    }
    return switch outcome {
    case .success(let answer): (succeeded(ready.job, answer, gate), [])
    case .failure(let failure): failed(ready, failure, gate)
    }
  }

  /// A job is not in flight any more, and the bytes of its image are needed no more; answers its gate.
  private mutating func end(_ job: ClaimedJob) -> Int? {
    inFlight -= 1
    guard let gate = gateOfKind[job.kind] else { return nil }
    gates[gate].inFlight -= 1
    gates[gate].imageBytes -= job.imageBytes
    return gate
  }

  /// The job's image cannot be sent, and no call was made.
  mutating func unusable(_ ready: ReadyJob, _ why: UnusableImage) -> JobOutcome {
    let job = ready.job
    if let gate = end(job) { gates[gate].breaker.abandoned(ready.admission, at: EventLoop.now) }
    if let reason = why.reason { context.metrics.imagesRefused.add(reason) }
    switch why {
    case .cancelled: return .released(job.held)
    case .refused(let refusal):
      return .failed(
        .refusedImage(job, refusal, by: context.configuration.retryPolicy, using: &generator))
    case .keyMissing(let message):
      context.metrics.imagesLocked.add()
      return .failed(FailedAttempt(image: job, later(), "image_key_missing", message))
    case .undecodable(let error):
      // Once, not for each of the jobs that wait.
      if reportedDecoderError != error {
        reportedDecoderError = error
        context.log.error(
          "Images that came in by SQL cannot be decoded; their jobs wait and none is failed",
          ["job": .string(job.id.description), "reason": .string(error.description)])
      }
      return .failed(FailedAttempt(image: job, later(), "image_decoder_missing", error.description))
    case .tampered(let message):
      context.metrics.imagesTampered.add()
      return .failed(FailedAttempt(image: job, .dead, "image_tampered", message))
    case .plaintext(let message):
      return .failed(FailedAttempt(image: job, .dead, "image_not_encrypted", message))
    }
  }

  /// A job waits until somebody may have brought the key or mended the machine, and consumes no attempt. Not all wait
  /// alike, or all would come back at once; and beyond the horizon of a draining worker, which would else wait too.
  private mutating func later() -> RetryDecision {
    let wait = context.configuration.keyWait * Double.random(in: 1...1.5, using: &generator)
    return .retry(after: (context.configuration.drainHorizon ?? .zero) + wait, consumes: false)
  }

  private mutating func succeeded(_ job: ClaimedJob, _ answer: CallAnswer, _ gate: Int) -> JobOutcome {
    if job.isUnsanitized { reportedDecoderError = nil }
    gates[gate].window.succeeded(after: answer.timing.total)
    if gates[gate].breaker.succeeded() {
      gates[gate].pauseReason = nil
      context.log.notice("The endpoint answers again", ["endpoint": .string(gates[gate].name)])
    }
    return .completed(
      CompletedJob(
        lease: job.lease, job: job.id, analysis: answer.analysis, calls: answer.calls,
        callMilliseconds: Int(answer.timing.total.milliseconds), endpoint: answer.endpoint))
  }

  private mutating func failed(_ ready: ReadyJob, _ failure: CallFailure, _ gate: Int) -> Ended {
    let job = ready.job
    if failure.wasCancelled {
      gates[gate].breaker.abandoned(ready.admission, at: EventLoop.now)
      guard failure.calls > 0 else { return (.released(job.held), []) }
      return (attempt(job, failure, .retry(after: .zero, consumes: false), gate), [])
    }
    let verdict = EndpointVerdict(failure)
    context.log.info(
      "A call failed",
      [
        "job": .string(job.id.description), "class": .string(failure.failureClass.rawValue),
        "status": .int(Int64(failure.status ?? 0)), "code": .string(failure.code ?? ""),
        "error_id": .string(failure.errorID ?? ""), "message": .string(failure.message),
      ])
    let isShut = apply(verdict, of: ready.admission, toGate: gate, failure)
    let decision: RetryDecision
    if case .pauses = verdict {
      // Nothing was wrong with the job: it waits in the queue, for this endpoint or another worker's.
      decision = .retry(after: .zero, consumes: false)
    } else {
      decision = context.configuration.retryPolicy.decide(
        failure.failureClass, attempt: job.attempt, maxAttempts: job.maxAttempts, isFinal: failure.isFinal,
        consumes: failure.consumesAttempt, retryAfter: failure.retryAfter, using: &generator)
    }
    return (attempt(job, failure, decision, gate), isShut ? removeReady(ofGate: gate) : [])
  }

  /// What is recorded of a failed call: also when it consumes nothing, so that every call can be accounted for.
  private func attempt(
    _ job: ClaimedJob, _ failure: CallFailure, _ decision: RetryDecision, _ gate: Int
  ) -> JobOutcome {
    .failed(
      FailedAttempt(
        lease: job.lease, job: job.id, decision: decision, failureClass: failure.failureClass,
        code: failure.code, message: failure.storedMessage, errorID: failure.errorID, status: failure.status,
        calls: failure.calls, maybeCounted: failure.maybeCounted, endpoint: gates[gate].name))
  }

  /// What a failed call says of its endpoint; says whether that is now not called for longer than a moment.
  private mutating func apply(
    _ verdict: EndpointVerdict, of admission: Breaker.Admission, toGate gate: Int, _ failure: CallFailure
  ) -> Bool {
    let now = EventLoop.now
    switch verdict {
    case .healthy:
      if gates[gate].breaker.succeeded() { gates[gate].pauseReason = nil }
      return false
    case .overloaded:
      gates[gate].window.overloaded()
      gates[gate].breaker.succeeded()
      return false
    case .failing(let isSlow):
      if isSlow { gates[gate].window.overloaded() }
      guard gates[gate].breaker.failed(admission, at: now) else { return false }
      gates[gate].pauseReason = failure.endpointReason
      context.log.warning(
        "The endpoint fails and is not called for a while",
        ["endpoint": .string(gates[gate].name), "class": .string(failure.failureClass.rawValue)])
    case .pauses(let pause):
      guard gates[gate].breaker.pause(admission, for: pause.probeEvery, at: now) else { return false }
      gates[gate].pauseReason = pause.reason
      context.log.error(
        "The endpoint is paused; jobs wait and none is failed",
        [
          "endpoint": .string(gates[gate].name), "reason": .string(pause.reason),
          "next_probe_in": .duration(pause.probeEvery), "message": .string(failure.message),
        ])
    }
    return isShutForLong(gate, now)
  }

  /// Whether a job would wait here for longer than a moment.
  private func isShutForLong(_ gate: Int, _ now: ContinuousClock.Instant) -> Bool {
    gates[gate].breaker.isShutForLong(at: now)
  }

  /// By which shares the priorities are served from now on.
  mutating func share(_ shares: LaneShares) {
    toRead.shares = shares
    for gate in gates.indices { gates[gate].ready.shares = shares }
  }

  // MARK: Pauses of operators

  /// Takes note of the operators' pauses. Calls in flight go on; jobs that were claimed and not called for go back.
  ///
  /// - Returns: These jobs, and whether a type is paused no more.
  mutating func obey(_ pauses: [OperatorPause]) -> (released: [ClaimedJob], resumes: Bool) {
    let kinds = context.configuration.kinds
    let before = kinds.filter(isPausedByOperator)
    self.pauses = pauses
    let after = kinds.filter(isPausedByOperator)
    let (new, over) = (after.filter { !before.contains($0) }, before.filter { !after.contains($0) })
    for kind in new {
      context.log.notice(
        "An operator has paused jobs",
        ["type": .string(kind.rawValue), "why": .string(pause(of: kind).map(message) ?? "")])
    }
    for kind in over {
      context.log.notice("Jobs are not paused by an operator any more", ["type": .string(kind.rawValue)])
    }
    return (new.isEmpty ? [] : remove { new.contains($0.kind) }, !over.isEmpty)
  }

  /// Whether an operator wants no jobs of a type to be started.
  func isPausedByOperator(_ kind: AnalysisKind) -> Bool { pause(of: kind) != nil }

  /// The pause that holds longest, when an operator has paused a type.
  private func pause(of kind: AnalysisKind) -> OperatorPause? {
    guard !pauses.isEmpty, let gate = gateOfKind[kind] else { return nil }
    return pauses.filter { $0.stops(kind, endpoint: gates[gate].name) }
      .max { ($0.secondsLeft ?? .infinity) < ($1.secondsLeft ?? .infinity) }
  }

  private func message(_ pause: OperatorPause) -> String {
    "paused by an operator (\(pause.by))" + (pause.reason.map { ": \($0)" } ?? "")
  }

  private func pause(of kind: AnalysisKind, beyond horizon: Duration) -> OperatorPause? {
    pause(of: kind).flatMap { $0.secondsLeft.map { $0 > horizon.inSeconds } ?? true ? $0 : nil }
  }

  /// What will not be called within a time, each with its reason.
  func pausedBeyond(_ horizon: Duration) -> [String] {
    let now = EventLoop.now
    var shut = gates.compactMap { gate -> String? in
      guard gate.breaker.isShut(beyond: horizon, at: now) else { return nil }
      return "\(gate.name): \(gate.pauseReason ?? "it fails")"
    }
    if let store, store.breaker.isShut(beyond: horizon, at: now) {
      shut.append(store.pauseReason ?? "the image store")
    }
    let wished = context.configuration.kinds.compactMap { kind -> String? in
      pause(of: kind, beyond: horizon).map { "\(kind.rawValue): \(message($0))" }
    }
    return shut + wished
  }

  /// The types that will not be called within a time.
  func kindsPausedBeyond(_ horizon: Duration) -> Set<AnalysisKind> {
    let now = EventLoop.now
    if store?.breaker.isShut(beyond: horizon, at: now) == true { return Set(gateOfKind.keys) }
    return Set(
      gateOfKind.filter { kind, index in
        gates[index].breaker.isShut(beyond: horizon, at: now) || pause(of: kind, beyond: horizon) != nil
      }.keys)
  }

  /// Each endpoint as it is found here.
  func endpointReports() -> [WorkerReport.Endpoint] {
    let now = EventLoop.now
    return zip(gates, kindsOfGates).map { gate, kinds in
      var report = WorkerReport.Endpoint(
        name: gate.name, kinds: kinds.map(\.rawValue), state: .open, inFlight: gate.inFlight,
        window: gate.window.size)
      let ended = gate.callDuration.reading
      (report.calls, report.callSeconds) = (ended.count, ended.sum)
      switch gate.breaker.state {
      case .closed: break
      case .probing: report.state = .probing
      case .open(let until):
        report.state = .shut
        report.nextTrySeconds = max(0, (until - now).inSeconds)
      }
      if report.state != .open { report.reason = gate.pauseReason ?? "it fails" }
      let wishes = kinds.compactMap(pause)
      if report.state == .open, !wishes.isEmpty, wishes.count == kinds.count, let wish = wishes.first {
        report.state = .paused
        report.reason = message(wish)
        report.nextTrySeconds = wish.secondsLeft
      }
      return store?.told(in: report, at: now) ?? report
    }
  }
}
