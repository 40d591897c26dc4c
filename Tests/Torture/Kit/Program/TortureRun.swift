import Foundation
import PostgreSQL
import Synchronization
import TestSupport

/// One run: sets up, submits and causes faults at the same time, ends the faults, drains, checks.
struct TortureRun: Sendable {
  let settings: RunSettings
  let programs: ProgramRunner
  /// Gets a line now and then.
  let progress: @Sendable (String) -> Void

  func run() async throws -> Verdict {
    let tally = try Tally(folder: settings.folder)
    let rig = try await Rig.make(settings, programs, tally)
    let outcome: Result<Verdict, any Error>
    do {
      outcome = .success(try await torture(rig))
    } catch {
      outcome = .failure(error)
    }
    programs.killAll()
    if (try? outcome.get().broken.isEmpty) != true { await rig.dump() }
    await rig.remove()
    return try outcome.get()
  }

  private func torture(_ rig: Rig) async throws -> Verdict {
    let endpoint = try EndpointProcess(settings, rig.programs)
    let history = History()
    let month = try await PastMonth.plant(in: rig.owner, rig.pictures[0])
    history.add(month.records)
    let reports = ReportFiles(rig: rig)
    await reports.close(month.period)
    let statement = await reports.statement(of: month.period, named: "statement-first.csv")
    let fleet = WorkerFleet(rig, endpoint)
    try await endpoint.start(AnswerFaults.always)
    await fleet.keep(settings.workers)
    let injector = Injector(rig: rig, endpoint: endpoint, fleet: fleet, history: history, month: month)
    await causeAndSubmit(rig, injector, history)

    progress("The faults have ended; the queue is drained")
    await fleet.close()
    try await endpoint.restart(by: SIGKILL, away: .zero, [])
    let drain = try await Drain(rig: rig, fleet: fleet).run()
    progress("The queue is empty; what the noise would cover is measured")
    var calm = CalmChecks.Facts()
    if drain.finding.holds { calm = try await Calm(rig: rig, fleet: fleet, history: history).run() }
    await fleet.close()
    await endpoint.stop()

    progress("Everything has stopped; it is checked")
    var verdict = try await Checker(
      rig: rig, endpoint: endpoint, history: history, month: month, reports: reports,
      firstStatement: statement, calm: calm
    ).verdict(drain.finding)
    verdict.drained = drain.time
    verdict.workersStarted = await fleet.count
    return verdict
  }

  private func causeAndSubmit(_ rig: Rig, _ injector: Injector, _ history: History) async {
    let pace = Pace(backlog: RunSettings.backlog)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<3 {
        group.addTask { await SubmitterLoad(rig: rig, history: history, pace: pace, number: number).run() }
      }
      for number in 0..<2 {
        group.addTask { await BackendLoad(rig: rig, history: history, pace: pace, number: number).run() }
      }
      group.addTask { await CommandLoad(rig: rig, history: history, pace: pace).run() }
      group.addTask { await ErasureLoad(rig: rig, history: history, pace: pace).run() }
      group.addTask { await WaitingProbe(rig: rig, history: history, pace: pace).run() }
      group.addTask { await pace.watch(rig.owner) }
      let begin = ContinuousClock.now
      let reporter = Task {
        while !Task.isCancelled {
          try await Task.sleep(for: .seconds(10))
          let caused = rig.tally.caused.values.reduce(0, +)
          progress(
            "\(Int((.now - begin) / .seconds(1))) s: \(history.count) submits, \(caused) faults besides the endpoint's answers"
          )
        }
      }
      await injector.run(Schedule(seed: settings.seed, length: settings.length, kinds: settings.kinds))
      // A run of few kinds may have come to the end of its faults before its time.
      try? await Task.sleep(until: begin + settings.length)
      reporter.cancel()
      pace.end()
    }
  }
}
