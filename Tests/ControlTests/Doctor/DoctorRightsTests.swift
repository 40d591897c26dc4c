import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("doctor sees of the rights of roles")
struct DoctorRightsTests {
  @Test("that the owner owns, and that a superuser is more than is needed")
  func owner() async throws {
    try await withQueue { (queue) async throws in
      let found = try await queue.control.doctor().found
      #expect(found.state("rights.role") == "ok" && found.state("rights.superuser") == "warning")
      #expect(
        found.of("rights.owner").map(\.seen) == ["everything belongs to analysis_owner, which cannot log in"])
      #expect(found.of("rights.roles").isEmpty && found.of("rights.clinics").isEmpty)
    }
  }

  @Test(
    "which role a login has; what it may not look at is said, and is no fault",
    arguments: ["worker", "operator", "auditor"])
  func role(group: String) async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, in: ["analysis_\(group)"]) { (login) async throws in
        let found = try await queue.acting(as: login).control.doctor().found
        #expect(found.of("rights.role").map(\.seen) == ["login \(login) has the role analysis_\(group)"])
        #expect(found.of("rights.superuser").isEmpty)
        #expect(found.state("sessions") == "skipped" && found.state("horizon.transaction") == "skipped")
        #expect(found.state("workers.alive") == "warning" && found.state("queue.leases") == "ok")
        // The server of all tests is fast rather than durable; nothing else is wrong.
        #expect(found.findings.filter { $0.state == "wrong" }.map(\.check) == ["server.durability"])
      }
    }
  }

  @Test("a login without a role: wrong, with who can grant one")
  func none() async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, named: "login$1") { (login) async throws in
        try await queue.execute("GRANT USAGE ON SCHEMA analysis TO \(login)")
        try await queue.execute(
          "GRANT SELECT ON analysis.schema_migration, analysis.schema_function TO \(login)")
        try await queue.execute(
          "GRANT EXECUTE ON FUNCTION analysis.role_prefix, analysis.role_rights TO \(login)")
        let (found, code) = try await queue.acting(as: login).control.doctor()
        #expect(found.state("rights.role") == "wrong" && code == .jobFailed)
        #expect(found.of("rights.role")[0].advice?.contains("GRANT analysis_worker TO \"\(login)\"") == true)
      }
    }
  }

  @Test("which roles a login has that has two")
  func member() async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, in: ["analysis_worker", "analysis_auditor"]) {
        (login) async throws in
        let found = try await queue.acting(as: login).control.doctor().found
        #expect(
          found.of("rights.role").map(\.seen) == [
            "login \(login) has the role analysis_auditor and analysis_worker"
          ])
        #expect(found.state("rights.owner") == "ok" && found.of("rights.superuser").isEmpty)
      }
    }
  }

  @Test(
    "what belongs to others, and a role of the installation that lost a right: told, and mended by a migrate")
  func mended() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        """
        ALTER FUNCTION analysis.record_report OWNER TO postgres;
        REVOKE SELECT ON analysis.pause FROM analysis_worker
        """)
      let found = try await queue.control.doctor().found
      #expect(found.state("rights.owner") == "warning")
      #expect(found.of("rights.owner")[0].seen.contains("record_report (postgres)"))
      #expect(
        found.of("rights.roles").map(\.seen) == ["the role analysis_worker may not use pause"])
      #expect(await queue.control("migrate").code == .done)
      let mended = try await queue.control.doctor().found
      #expect(mended.state("rights.owner") == "ok" && mended.of("rights.roles").isEmpty)
    }
  }

  @Test("a role that is restricted to clinics and has more than reports: a warning; one that is gone too")
  func viewers() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute("SELECT analysis.add_clinic('north')")
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (role) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '{north}')")
        #expect(try await queue.control.doctor().found.of("rights.clinics").isEmpty)
        try await queue.execute("GRANT analysis_submitter TO \(role)")
        let found = try await queue.control.doctor().found
        #expect(found.state("rights.clinics") == "warning")
        #expect(found.of("rights.clinics")[0].seen.contains("as submitter"))
        try await queue.execute(
          "REVOKE analysis_submitter FROM \(role); UPDATE analysis.clinic_viewer SET role_id = 'pg_monitor'::regrole"
        )
        let stale = try await queue.control.doctor().found.of("rights.clinics")
        #expect(
          stale.map(\.state) == ["warning"] && stale[0].seen.contains("under a number that is pg_monitor's"))
        #expect(await queue.control("migrate").code == .done)
        #expect(try await queue.control.doctor().found.of("rights.clinics").isEmpty)
        try await queue.execute("ALTER ROLE \(role) RENAME TO \(role)_late")
        let renamed = try await queue.control.doctor().found.of("rights.clinics")
        #expect(
          renamed.map(\.state) == ["warning"]
            && renamed[0].seen.contains("\(role)_late, which has its number"))
        try await queue.execute("ALTER ROLE \(role)_late RENAME TO \(role)")
      }
      let gone = try await queue.control.doctor().found.of("rights.clinics")
      #expect(gone.map(\.state) == ["warning"] && gone[0].seen.hasSuffix("there is no such role"))
    }
  }
}
