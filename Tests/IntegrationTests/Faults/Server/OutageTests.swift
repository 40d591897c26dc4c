import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("The server goes away and comes back")
struct OutageTests {
  /// How the server goes.
  enum Outage: CaseIterable, CustomTestStringConvertible {
    case fastStop, immediateStop, killedBackend, killedPostmaster, refusedConnections

    var testDescription: String {
      switch self {
      case .fastStop: "fast stop"
      case .immediateStop: "immediate stop"
      case .killedBackend: "SIGKILL of one backend"
      case .killedPostmaster: "SIGKILL of the postmaster"
      case .refusedConnections: "connections refused"
      }
    }
  }

  @Test(
    "The worker is back within 5 s of the server, without a restart, and no job and no attempt is lost",
    arguments: Outage.allCases)
  func back(from outage: Outage) async throws {
    try await FaultyCluster.with(jobs: 600) { faulty in
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 40 }
      try await strike(outage, faulty) {
        // Until its pauses have grown to their longest.
        try await eventually { worker.messagesSoFar.contains(#""attempt":8"#) }
      }
      let back = try await faulty.timeOfReturn()
      // It claims again, not only stores what it had: these come when the server is back.
      let later = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(later.code == 0, "\(later.messages)")
      try await faulty.eventuallyThere {
        try await faulty.queue.results == faulty.installation.jobs.count + later.jobs.count
      }
      // The promise, by the server's clock: how long this test was held up meanwhile is not in it.
      let seconds = try await faulty.queue.number(
        "SELECT ceil(extract(epoch FROM min(finished_at) - '\(back)'))::int FROM analysis.result WHERE finished_at > '\(back)'"
      )
      #expect(seconds <= 5)
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed(also: later.jobs)
    }
  }

  private func strike(
    _ outage: Outage, _ faulty: FaultyCluster, whileAway: () async throws -> Void
  ) async throws {
    switch outage {
    case .fastStop, .immediateStop:
      try await faulty.cluster.stop(outage == .fastStop ? .fast : .immediate)
      try await whileAway()
      try await faulty.cluster.start()
    case .killedBackend:
      // The server cuts all others and recovers by itself, at once.
      let pid = try #require(try await faulty.backends().first)
      try faulty.cluster.killBackend(pid)
      try await eventually { faulty.cluster.log.contains("all server processes terminated; reinitializing") }
    case .killedPostmaster:
      try await faulty.cluster.kill()
      try await whileAway()
      try await faulty.cluster.start()
    case .refusedConnections:
      faulty.proxy.refuse()
      faulty.proxy.cutAll()
      try await whileAway()
      try faulty.proxy.admit()
    }
  }

  @Test("While it shuts down, starts up or recovers, commands say so and exit 75; the worker waits")
  func notAccepting() async throws {
    try await FaultyCluster.with(jobs: 100) { faulty in
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 10 }
      // A smart stop waits for whoever is connected, and takes nobody new.
      try await faulty.cluster.beginStop(.smart)
      let shuttingDown = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(shuttingDown.code == 75, "\(shuttingDown.messages)")
      #expect(shuttingDown.messages.contains("starting up or shutting down"), "\(shuttingDown.messages)")
      try await faulty.cluster.stop(.fast)

      // A standby that takes no readers is "starting up" until it is promoted.
      let signal = "\(faulty.cluster.dataFolder)/standby.signal"
      try Data().write(to: URL(fileURLWithPath: signal))
      try await faulty.cluster.set(["hot_standby": "off"])
      try await faulty.cluster.start(waits: false)
      try await eventually { faulty.cluster.log.contains("entering standby mode") }
      let startingUp = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(startingUp.code == 75, "\(startingUp.messages)")
      try await faulty.cluster.promote()

      try await faulty.eachHasResult()
      let again = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(again.code == 0, "\(again.messages)")
      try await faulty.eventuallyThere {
        try await faulty.queue.results == faulty.installation.jobs.count + again.jobs.count
      }
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed(also: again.jobs)
    }
  }

  @Test("With too many clients commands exit 75 and the worker waits for its connections")
  func tooManyClients() async throws {
    var options = ServerCluster.Options()
    options.settings = ["max_connections": "12", "superuser_reserved_connections": "0"]
    try await FaultyCluster.with(jobs: 60, options) { faulty in
      let configuration = ConnectionConfiguration(faulty.cluster.conninfo())
      var hogs: [Connection] = []
      while hogs.count < 20 {
        do {
          hogs.append(try await Connection.connect(configuration, on: faulty.queue.loop))
        } catch let error as PostgreSQLError {
          #expect(error.phase == .tooManyClients)
          break
        }
      }
      let submit = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(submit.code == 75, "\(submit.messages)")
      #expect(submit.messages.contains("no connection left"), "\(submit.messages)")
      let worker = try faulty.installation.worker()
      try await eventually { worker.messagesSoFar.contains("no connection left") }
      // One is not enough for its work, but it lives.
      await hogs.removeLast().close()
      try await eventually { worker.messagesSoFar.contains("The worker runs") }
      for hog in hogs { await hog.close() }
      try await faulty.eachHasResult()
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed()
    }
  }
}

extension Executable.Ended {
  /// The jobs that a submit with `--json` names.
  var jobs: [JobID] {
    output.split(separator: "\n").compactMap { line in
      let fields = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return (fields?["job"] as? String).flatMap { JobID($0) }
    }
  }
}
