import Glibc
import StandIn

extension Injector {
  func cause(_ fault: EndpointFault, _ event: FaultEvent) async throws {
    try await endpoint.exclusively {
      switch fault {
      case .killed:
        try await endpoint.restart(
          by: SIGKILL, away: event.lasting(.zero, .milliseconds(800)), AnswerFaults.always)
      case .restarted:
        try await endpoint.restart(
          by: SIGTERM, away: event.lasting(.zero, .milliseconds(300)), AnswerFaults.always)
      case .frozen:
        await endpoint.signal(SIGSTOP)
        await sleep(event.lasting(.milliseconds(200), RunSettings.callDeadline * 1.3))
        await endpoint.signal(SIGCONT)
      case .failing:
        try await misbehave(AnswerFaults.failing, for: event.lasting(.milliseconds(300), .milliseconds(1200)))
      case .limitReached:
        try await misbehave(
          AnswerFaults.limitReached, for: event.lasting(.milliseconds(200), .milliseconds(600)))
        // They would ask again in a quarter of an hour; whoever raises a limit does not wait so long.
        await fleet.stopAll()
      case .allForbidden:
        try await misbehave(
          AnswerFaults.allForbidden, for: event.lasting(.milliseconds(200), .milliseconds(600)))
        await fleet.stopAll()
      }
    }
  }

  private func misbehave(_ faults: [FaultRule], for time: Duration) async throws {
    try await endpoint.restart(by: SIGKILL, away: .zero, faults)
    await sleep(time)
    try await endpoint.restart(by: SIGKILL, away: .zero, AnswerFaults.always)
  }
}
