internal import EventLoop
internal import Queue
internal import Support

/// What is not called, whether by an operator's wish or because the endpoint does not answer, and what is told
/// of it.
extension Pipeline {
  /// Takes note of the operators' pauses. Calls in flight go on; jobs that were claimed and not called for go back.
  func obey(_ pauses: [OperatorPause]) {
    let before = configuration.kinds.filter(isPausedByOperator)
    self.pauses = pauses
    let after = configuration.kinds.filter(isPausedByOperator)
    for kind in after where !before.contains(kind) {
      log.notice(
        "An operator has paused jobs",
        ["type": .string(kind.rawValue), "why": .string(pause(of: kind).map(message) ?? "")])
      releaseWaiting(of: kind)
    }
    for kind in before where !after.contains(kind) {
      log.notice("Jobs are not paused by an operator any more", ["type": .string(kind.rawValue)])
    }
    if before.contains(where: { !after.contains($0) }) { wakeUp() }
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

  private func releaseWaiting(of kind: AnalysisKind) {
    for job in toRead.remove(where: { $0.kind == kind }) { release(job) }
    guard let gate = gateOfKind[kind] else { return }
    releaseReady(ofGate: gate) { $0.job.kind == kind }
  }

  // MARK: Draining

  /// What will not be called within a time, each with its reason.
  func pausedBeyond(_ horizon: Duration) -> [String] {
    let now = EventLoop.now
    let shut = gates.compactMap { gate -> String? in
      guard gate.breaker.isShut(beyond: horizon, at: now) else { return nil }
      return "\(gate.name): \(gate.pauseReason ?? "it fails")"
    }
    let wished = configuration.kinds.compactMap { kind -> String? in
      pause(of: kind, beyond: horizon).map { "\(kind.rawValue): \(message($0))" }
    }
    return shut + wished
  }

  /// The types for which a draining worker does not wait.
  var kindsPausedBeyondHorizon: Set<AnalysisKind> {
    guard let horizon = configuration.drainHorizon else { return [] }
    let now = EventLoop.now
    return Set(
      gateOfKind.filter { kind, index in
        gates[index].breaker.isShut(beyond: horizon, at: now) || pause(of: kind, beyond: horizon) != nil
      }.keys)
  }

  private func pause(of kind: AnalysisKind, beyond horizon: Duration) -> OperatorPause? {
    pause(of: kind).flatMap { $0.secondsLeft.map { $0 > horizon.inSeconds } ?? true ? $0 : nil }
  }

  // MARK: Telling

  /// Each endpoint as it is found here.
  func endpointReports() -> [WorkerReport.Endpoint] {
    let now = EventLoop.now
    return gates.enumerated().map { index, gate in
      let kinds = configuration.kinds.filter { gateOfKind[$0] == index }
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
      return report
    }
  }
}
