internal import Endpoint
internal import EventLoop
internal import HTTPTransfer
internal import Images
internal import Queue
internal import Support

/// The calls: who begins one, and what its outcome means for the job and for the endpoint.
extension Pipeline {
  /// The next job to call for; nil when the worker stops.
  func nextJob() async -> ReadyJob? {
    guard stage == .running else { return nil }
    return await withCheckedContinuation { slot in
      // Another task may have run between the guard above and here.
      guard stage == .running else {
        slot.resume(returning: nil)
        return
      }
      idleSlots.append(slot)
      dispatch()
    }
  }

  /// Gives waiting slots what may begin now, the endpoints in turn.
  func dispatch() {
    let now = EventLoop.now
    let slots = EndpointShares(total: configuration.concurrency, endpoints: gates.count)
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
    meters.inFlight.set(inFlight)
    var shut = 0
    for index in gates.indices where gates[index].breaker.state != .closed { shut += 1 }
    meters.endpointsShut.set(shut)
    // A call that ended may have made room under the limit on bytes.
    if !toRead.isEmpty { readBell.ring() }
    // After starting, not before: asked before, the window would run half empty.
    if mayClaim { claimBell.ring() }
  }

  /// Who is called for a job.
  func client(for job: ClaimedJob) -> ModelClient? {
    gateOfKind[job.kind].map { gates[$0].client }
  }

  /// The call for a job has ended.
  func finished(_ ready: ReadyJob, _ outcome: CallOutcome, after duration: Duration) {
    let job = ready.job
    inFlight -= 1
    letGoImage(of: job)
    guard let gate = gateOfKind[job.kind] else { return }
    gates[gate].inFlight -= 1
    count(outcome, after: duration, gate)
    switch outcome {
    case .success(let answer): succeeded(job, answer, gate)
    case .failure(let failure): failed(ready, failure, gate)
    }
    dispatch()
  }

  /// Counts a call of which something was sent.
  private func count(_ outcome: CallOutcome, after duration: Duration, _ gate: Int) {
    let (calls, status): (Int, Int?) =
      switch outcome {
      case .success(let answer): (answer.calls, answer.status)
      case .failure(let failure): (failure.calls, failure.status)
      }
    meters.calls.add(calls)
    guard calls > 0 else { return }
    meters.answers.add(status.map(String.init) ?? "none")
    gates[gate].callDuration.observe(duration)
  }

  /// The job's image cannot be sent, and no call was made.
  func unusableImage(_ ready: ReadyJob, _ why: UnusableImage) {
    let job = ready.job
    inFlight -= 1
    letGoImage(of: job)
    if let gate = gateOfKind[job.kind] {
      gates[gate].inFlight -= 1
      gates[gate].breaker.abandoned(ready.admission, at: EventLoop.now)
    }
    if let reason = why.reason { meters.imagesRefused.add(reason) }
    switch why {
    case .refused(let refusal):
      record(
        job, .failed(.refusedImage(job, refusal, by: configuration.retryPolicy, using: &generator)))
    case .keyMissing(let message):
      meters.imagesLocked.add()
      record(job, .failed(.imageKeyMissing(job, message, until: keyWait)))
    case .tampered(let message):
      meters.imagesTampered.add()
      record(job, .failed(.tamperedImage(job, message)))
    case .plaintext(let message): record(job, .failed(.plaintextImage(job, message)))
    case .undecodable(let error):
      // Once, not for each of the jobs that wait.
      if reportedDecoderError != error {
        reportedDecoderError = error
        log.error(
          "Images that came in by SQL cannot be decoded; their jobs wait and none is failed",
          ["job": .string(job.id.description), "reason": .string(error.description)])
      }
      record(job, .failed(.noDecoder(job, error, until: keyWait)))
    case .cancelled: release(job)
    }
    dispatch()
  }

  /// How long a job waits for a key or a decoder. Not all alike, or all would come back at once; and beyond the
  /// horizon of a draining worker, which would else wait for it too.
  private var keyWait: Duration {
    let wait = configuration.keyWait * Double.random(in: 1...1.5, using: &generator)
    return configuration.drainHorizon.map { $0 + wait } ?? wait
  }

  private func succeeded(_ job: ClaimedJob, _ answer: CallAnswer, _ gate: Int) {
    if job.isUnsanitized { reportedDecoderError = nil }
    gates[gate].window.succeeded(after: answer.timing.total)
    if gates[gate].breaker.succeeded() {
      gates[gate].pauseReason = nil
      log.notice("The endpoint answers again", ["endpoint": .string(gates[gate].name)])
      claimBell.ring()
    }
    record(
      job,
      .completed(
        CompletedJob(
          lease: job.lease, job: job.id, analysis: answer.analysis, calls: answer.calls,
          callMilliseconds: Int(answer.timing.total.milliseconds), endpoint: answer.endpoint)))
  }

  private func failed(_ ready: ReadyJob, _ failure: CallFailure, _ gate: Int) {
    let job = ready.job
    if failure.wasCancelled {
      gates[gate].breaker.abandoned(ready.admission, at: EventLoop.now)
      if failure.calls > 0 {
        record(job, .failed(attempt(job, failure, .retry(after: .zero, consumes: false), gate)))
      } else {
        release(job)
      }
      return
    }
    let verdict = EndpointVerdict(failure)
    log.info(
      "A call failed",
      [
        "job": .string(job.id.description), "class": .string(failure.failureClass.rawValue),
        "status": .int(Int64(failure.status ?? 0)), "code": .string(failure.code ?? ""),
        "error_id": .string(failure.errorID ?? ""), "message": .string(failure.message),
      ])
    apply(verdict, of: ready.admission, toGate: gate, failure)
    if case .pauses = verdict {
      // Nothing was wrong with the job: it waits in the queue, for this endpoint or another worker's.
      record(job, .failed(attempt(job, failure, .retry(after: .zero, consumes: false), gate)))
      return
    }
    let decision = configuration.retryPolicy.decide(
      failure.failureClass, attempt: job.attempt, maxAttempts: job.maxAttempts, isFinal: failure.isFinal,
      consumes: failure.consumesAttempt, retryAfter: failure.retryAfter, using: &generator)
    record(job, .failed(attempt(job, failure, decision, gate)))
  }

  /// What is recorded of a failed call: also when it consumes nothing, so that every call can be accounted for.
  private func attempt(
    _ job: ClaimedJob, _ failure: CallFailure, _ decision: RetryDecision, _ gate: Int
  ) -> FailedAttempt {
    FailedAttempt(
      lease: job.lease, job: job.id, decision: decision, failureClass: failure.failureClass,
      code: failure.code, message: failure.storedMessage, errorID: failure.errorID, status: failure.status,
      calls: failure.calls, maybeCounted: failure.maybeCounted, endpoint: gates[gate].name)
  }

  /// What a failed call says of its endpoint.
  private func apply(
    _ verdict: EndpointVerdict, of admission: Breaker.Admission, toGate gate: Int, _ failure: CallFailure
  ) {
    let now = EventLoop.now
    switch verdict {
    case .healthy:
      if gates[gate].breaker.succeeded() { gates[gate].pauseReason = nil }
    case .overloaded:
      gates[gate].window.overloaded()
      gates[gate].breaker.succeeded()
    case .failing(let isSlow):
      if isSlow { gates[gate].window.overloaded() }
      guard gates[gate].breaker.failed(admission, at: now) else { return }
      gates[gate].pauseReason = "it fails (\(failure.failureClass.rawValue))"
      log.warning(
        "The endpoint fails and is not called for a while",
        ["endpoint": .string(gates[gate].name), "class": .string(failure.failureClass.rawValue)])
      releaseReadyIfLong(gate, now)
    case .pauses(let pause):
      guard gates[gate].breaker.pause(admission, for: pause.probeEvery, at: now) else { return }
      gates[gate].pauseReason = pause.reason
      log.error(
        "The endpoint is paused; jobs wait and none is failed",
        [
          "endpoint": .string(gates[gate].name), "reason": .string(pause.reason),
          "next_probe_in": .duration(pause.probeEvery), "message": .string(failure.message),
        ])
      releaseReadyIfLong(gate, now)
    }
  }

  /// Jobs that would wait here longer than a moment go back, so that others may run them.
  private func releaseReadyIfLong(_ gate: Int, _ now: ContinuousClock.Instant) {
    if isShutForLong(gate, now) { releaseReady(ofGate: gate) }
  }

  /// Whether a job would wait here for longer than a moment.
  func isShutForLong(_ gate: Int, _ now: ContinuousClock.Instant) -> Bool {
    gates[gate].breaker.reopens.map { $0 - now > .seconds(5) } ?? false
  }
}
