import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("analysisctl doctor and pause, by the executables")
struct DoctorProcessTests {
  private func doctor(
    _ queue: QueueFixture, _ arguments: [String] = [], environment: [String: String] = [:]
  ) async throws -> Diagnosis {
    let ran = await
      (try Executable(
        "analysisctl", ["doctor", "--json"] + arguments,
        environment: queue.environment.merging(environment) { $1 })).ended()
    #expect(ran.messages == "")
    return try Diagnosis(ran.output)
  }

  @Test("doctor looks at a worker that runs, at its endpoint and at its account, by the worker's own file")
  func well() async throws {
    try await withQueue { queue async throws in
      let folder = try TemporaryFolder()
      try "correct horse\n".write(toFile: folder.path("password"), atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("password"))
      let accounts = ["--require-auth", "--account", "service@example.org:\(folder.path("password"))"]
      try await RunningEndpoint.with(accounts) { endpoint in
        let (file, credentials) = (folder.path("worker.conf"), folder.path("account"))
        try """
        database = "\(queue.database.conninfo)"
        endpoint = \(endpoint.url)
        credentials = \(credentials)

        """.write(toFile: file, atomically: true, encoding: .utf8)
        try "email = service@example.org\npassword = correct horse\n".write(
          toFile: credentials, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: credentials)
        let worker = try Executable("analysis-worker", ["--config", file])
        try await eventually {
          try await queue.number(
            "SELECT count(*)::int FROM analysis.worker WHERE report ? 'clock_ahead'") == 1
        }
        let found = try await doctor(queue, ["--worker-config", file])
        for check in ["workers.alive", "workers.versions", "workers.clock", "endpoint.health"] {
          #expect(found.state(check) == "ok", "\(check): \(found.of(check))")
        }
        // The development endpoint's accounts are free ones.
        #expect(found.state("credentials.login") == "warning", "\(found.of("credentials.login"))")
        try "email = service@example.org\npassword = wrong\n".write(
          toFile: credentials, atomically: false, encoding: .utf8)
        let refused = try await doctor(queue, ["--worker-config", file])
        #expect(refused.state("credentials.login") == "wrong", "\(refused.of("credentials.login"))")
        worker.send(SIGKILL)
        _ = await worker.ended()
        #expect(try endpoint.calls.isEmpty)
      }
    }
  }

  @Test("a drain with a paused type ends with 75 and says who paused it and why")
  func drainPaused() async throws {
    let picture = try await drawnPicture()
    try await withQueue { queue async throws in
      try await queue.addUser("u1")
      _ = try await queue.submit(2, user: "u1", kind: .ear, image: picture)
      _ = try await queue.submit(2, user: "u1", kind: .throat, image: picture)
      func control(_ arguments: String...) async throws -> Executable.Ended {
        await (try Executable("analysisctl", arguments, environment: queue.environment)).ended()
      }
      #expect(try await control("pause", "--type", "ear", "--reason", "upgrade").code == 0)
      try await RunningEndpoint.with { endpoint in
        let drain = ["--drain", "--drain-horizon", "1s", "--endpoint", endpoint.url]
        let parked = await (try Executable("analysis-worker", drain, environment: queue.environment))
          .ended()
        #expect(parked.code == 75, "\(parked.messages)")
        #expect(parked.messages.contains("not called: ear: paused by an operator (postgres): upgrade"))
        #expect(try endpoint.calls.count == 2)
        #expect(try await control("resume", "--type", "ear").code == 0)
        let done = await (try Executable("analysis-worker", drain, environment: queue.environment))
          .ended()
        #expect(done.code == 0, "\(done.messages)")
        #expect(try endpoint.calls.count == 4)
      }
      try await queue.expectSound()
    }
  }

  @Test(
    "doctor tells how far a clock is off, its own or a worker's",
    .enabled(if: WrongClock.isAvailable, "needs libfaketime, and no sanitizer"), arguments: WrongClock.both)
  func clocks(clock: WrongClock) async throws {
    try await withQueue { queue async throws in
      let doctor = try clock.start(
        "analysisctl", ["doctor", "--json"], environment: queue.environment)
      let found = try Diagnosis(await doctor.ended().output)
      WrongClock.clean(after: doctor.processID)
      #expect(found.state("clock.server") == "warning", "\(found.of("clock.server"))")

      let worker = try clock.start(
        "analysis-worker", ["--endpoint", "http://127.0.0.1:9"], environment: queue.environment)
      try await eventually {
        try await queue.number(
          "SELECT count(*)::int FROM analysis.worker WHERE report ? 'clock_ahead'") == 1
      }
      let seen = try await self.doctor(queue)
      #expect(seen.state("clock.server") == "ok", "\(seen.of("clock.server"))")
      #expect(seen.state("workers.clock") == "warning", "\(seen.of("workers.clock"))")
      #expect(seen.of("workers.clock").first?.seen.contains(" 259") == true, "\(seen.of("workers.clock"))")
      worker.send(SIGTERM)
      _ = await worker.ended()
      WrongClock.clean(after: worker.processID)
    }
  }
}
