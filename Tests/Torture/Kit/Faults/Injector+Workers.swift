import Worker

extension Injector {
  func cause(_ fault: WorkerFault, _ event: FaultEvent) async throws {
    if fault == .added { return try await addWorker(for: event.lasting(.seconds(1), .seconds(4))) }
    if fault == .drainsShortly { return try await drainShortly(event) }
    guard let worker = await fleet.victim(event.choice) else { throw Missed("no worker is free") }
    switch fault {
    case .killed: worker.kill()
    case .frozen:
      await worker.freeze(for: event.lasting(RunSettings.leaseDuration * 1.5, RunSettings.leaseDuration * 3))
    case .paused:
      await worker.freeze(
        for: event.lasting(RunSettings.leaseDuration * 0.1, RunSettings.leaseDuration * 0.8))
    case .stopped: worker.stop()
    case .stoppedAtOnce:
      worker.stop()
      // Its handler must have seen the first: two signals that wait are one.
      await sleep(event.lasting(.milliseconds(50), .milliseconds(300)))
      worker.stop()
    case .added, .drainsShortly: break
    }
  }

  private func addWorker(for time: Duration) async throws {
    let worker = try await fleet.start("added")
    async let end = fleet.ended(worker)
    await sleep(time)
    worker.stop()
    _ = await end
  }

  /// Each drains for less than a second, and is gone before it has told anybody how far it came.
  private func drainShortly(_ event: FaultEvent) async throws {
    for _ in 0..<4 {
      let worker = try await fleet.start(
        "drains-shortly", options: ["--drain", "--drain-horizon", "1s"], told: [.drainsShortly])
      let patience = Task {
        try await Task.sleep(for: event.lasting(.milliseconds(300), .milliseconds(900)))
        worker.stop()
      }
      await fleet.ended(worker)
      patience.cancel()
    }
  }

  /// Starts a worker that dies when it reaches a failpoint for the nth time. One that is not reached while it
  /// works may be on its way out, so it is told to stop then.
  func cause(_ failpoint: Failpoint, _ event: FaultEvent) async throws {
    // Jobs are released once at its end, and hardly before.
    let isAtEnd = failpoint == .beforeRelease || failpoint == .releaseAnswered
    let occasion = isAtEnd ? 1 : 1 + event.choice % 3
    let worker = try await fleet.start(
      "dies-\(failpoint.rawValue)", failpoints: "\(failpoint.rawValue)=kill@\(occasion)", told: [.dies])
    let patience = Task {
      try await Task.sleep(for: isAtEnd ? .seconds(2) : .seconds(8))
      worker.stop()
    }
    let died = await fleet.ended(worker)
    patience.cancel()
    guard died else { throw Missed("its worker never came there") }
  }
}
