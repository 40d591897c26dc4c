import Foundation
import PostgreSQL
import TestSupport

/// Causes the faults of a schedule, each beside the others.
struct Injector: Sendable {
  let rig: Rig
  let endpoint: EndpointProcess
  let fleet: WorkerFleet
  let history: History
  let month: PastMonth
  let serverTurns = Semaphore(1)
  let cutTurns = Semaphore(1)
  let limitTurns = Semaphore(1)

  /// Runs through the schedule, and waits until the last of its faults has passed.
  func run(_ schedule: Schedule) async {
    let begin = ContinuousClock.now
    await withTaskGroup(of: Void.self) { group in
      for event in schedule.events {
        try? await Task.sleep(until: begin + event.time)
        group.addTask { await cause(event) }
      }
    }
  }

  private func cause(_ event: FaultEvent) async {
    let name = event.kind.name
    rig.tally.note("begins \(name) (\(event.number))")
    for turn in 1... {
      do {
        try await causeOnce(event)
        rig.tally.cause(name)
        return rig.tally.note("passed \(name) (\(event.number))")
      } catch {
        // Another fault may have taken the server away from under this one.
        guard turn < 4, !(error is Missed) else { return rig.tally.miss(name, "\(error)") }
        await sleep(.milliseconds(700))
      }
    }
  }

  private func causeOnce(_ event: FaultEvent) async throws {
    switch event.kind {
    case .worker(let fault): try await cause(fault, event)
    case .death(let failpoint): try await cause(failpoint, event)
    case .server(let fault): try await cause(fault, event)
    case .connection(let fault): try await cause(fault, event)
    case .endpoint(let fault): try await cause(fault, event)
    case .operation(let action): try await carryOut(action, event)
    case .transaction(let transaction): try await leaveOpen(transaction, event)
    case .stress(let part):
      let end = ContinuousClock.now + (rig.settings.length - event.time)
      if case .killer = part { return await StressSession.kill(in: rig, until: end) }
      try await StressSession(rig: rig, part: part).run(until: end)
    }
  }

  /// Why a fault could not be caused.
  struct Missed: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  func sleep(_ time: Duration) async { try? await Task.sleep(for: time) }
}
