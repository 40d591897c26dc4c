import CommandLineTool
import PostgreSQL
import TestSupport
import Testing

@testable import ControlCommands

@Suite("doctor sees of the rights of roles")
struct DoctorRightsTests {
  @Test("that the owner owns, and that a superuser is more than is needed")
  func owner() async throws {
    try await Installed.with { (installed) async throws in
      let found = try await installed.doctor().found
      #expect(found.state("rights.role") == "ok" && found.state("rights.superuser") == "warning")
    }
  }

  @Test(
    "which duty a role has; what it may not look at is said, and is no fault",
    arguments: ["worker", "reader"])
  func duty(duty: String) async throws {
    try await Installed.with { (installed) async throws in
      try await installed.withRole { role in
        try await installed.execute("SELECT analysis.allow('\(role)', '\(duty)')")
        let found = try await installed.acting(as: role).doctor().found
        #expect(found.of("rights.role").map(\.seen) == ["role \(role) is \(duty)"])
        #expect(found.of("rights.superuser").isEmpty)
        #expect(found.state("sessions") == "skipped" && found.state("horizon.transaction") == "skipped")
        #expect(found.state("workers.alive") == "warning" && found.state("queue.leases") == "ok")
        // The server of all tests is fast rather than durable; nothing else is wrong.
        #expect(found.findings.filter { $0.state == "wrong" }.map(\.check) == ["server.durability"])
      }
    }
  }

  @Test("a role without a duty: wrong")
  func none() async throws {
    try await Installed.with { (installed) async throws in
      try await installed.withRole { role in
        try await installed.execute("GRANT USAGE ON SCHEMA analysis TO \(role)")
        try await installed.execute(
          "GRANT SELECT ON analysis.schema_migration, analysis.schema_function TO \(role)")
        try await installed.execute("GRANT EXECUTE ON FUNCTION analysis.duties() TO \(role)")
        let (found, code) = try await installed.acting(as: role).doctor()
        #expect(found.state("rights.role") == "wrong" && code == .jobFailed)
      }
    }
  }

  @Test("a duty that was not granted again after a migrate: wrong, with what is missing")
  func incomplete() async throws {
    try await Installed.with { (installed) async throws in
      try await installed.withRole { role in
        try await installed.execute("SELECT analysis.allow('\(role)', 'worker')")
        #expect(try await installed.doctor().found.of("rights.duties").isEmpty)
        try await installed.execute("REVOKE EXECUTE ON FUNCTION analysis.tell FROM \(role)")
        try await installed.execute("REVOKE SELECT ON analysis.pause FROM \(role)")
        let found = try await installed.doctor().found.of("rights.duties")
        #expect(found.map(\.state) == ["wrong"])
        #expect(found[0].seen == "role \(role) is worker and may not use pause, tell")
        #expect(found[0].advice?.hasSuffix("SELECT analysis.allow('\(role)', 'worker').") == true)
      }
    }
  }
}
