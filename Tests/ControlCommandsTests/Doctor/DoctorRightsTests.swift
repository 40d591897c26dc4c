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
      #expect(
        found.of("rights.owner").map(\.seen) == ["everything belongs to analysis_owner, which cannot log in"])
      #expect(found.of("rights.duties").isEmpty && found.of("rights.clinics").isEmpty)
    }
  }

  @Test(
    "which duty a role has; what it may not look at is said, and is no fault",
    arguments: ["worker", "reader", "operator", "auditor"])
  func duty(duty: String) async throws {
    try await Installed.with { (installed) async throws in
      try await installed.withRole { (role) async throws in
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
      try await installed.withRole { (role) async throws in
        try await installed.execute("GRANT USAGE ON SCHEMA analysis TO \(role)")
        try await installed.execute(
          "GRANT SELECT ON analysis.schema_migration, analysis.schema_function TO \(role)")
        try await installed.execute(
          "GRANT EXECUTE ON FUNCTION analysis.duties, analysis.duties_held, analysis.missing_rights TO \(role)"
        )
        let (found, code) = try await installed.acting(as: role).doctor()
        #expect(found.state("rights.role") == "wrong" && code == .jobFailed)
      }
    }
  }

  @Test("which duty a login role has as a member of the installation's roles")
  func member() async throws {
    try await Installed.with { (installed) async throws in
      try await withLoginRole(
        on: installed.pool, named: "both", in: ["analysis_worker", "analysis_auditor"]
      ) { (role) async throws in
        let found = try await installed.acting(as: role).doctor().found
        #expect(found.of("rights.role").map(\.seen) == ["role \(role) is auditor and worker"])
        #expect(found.state("rights.owner") == "ok" && found.of("rights.superuser").isEmpty)
      }
    }
  }

  @Test(
    "what belongs to others, and a role of the installation that lost a right: told, and mended by a migrate")
  func mended() async throws {
    try await Installed.with { (installed) async throws in
      try await installed.execute(
        """
        ALTER FUNCTION analysis.record_report OWNER TO postgres;
        REVOKE SELECT ON analysis.pause FROM analysis_worker
        """)
      let found = try await installed.doctor().found
      #expect(found.state("rights.owner") == "warning")
      #expect(found.of("rights.owner")[0].seen.contains("tell (postgres)"))
      #expect(
        found.of("rights.duties").map(\.seen) == [
          "role analysis_worker is worker and may not use pause"
        ])
      #expect(await installed.control("migrate").code == .done)
      let mended = try await installed.doctor().found
      #expect(mended.state("rights.owner") == "ok" && mended.of("rights.duties").isEmpty)
    }
  }

  @Test("a role that is restricted to clinics and has more than reports: a warning; one that is gone too")
  func viewers() async throws {
    try await Installed.with { (installed) async throws in
      try await installed.execute("SELECT analysis.add_clinic('north')")
      try await withLoginRole(on: installed.pool, named: "north", in: ["analysis_reporter"]) {
        (role) async throws in
        try await installed.execute("SELECT analysis.grant_clinics('\(role)', '{north}')")
        #expect(try await installed.doctor().found.of("rights.clinics").isEmpty)
        try await installed.execute("GRANT analysis_submitter TO \(role)")
        let found = try await installed.doctor().found
        #expect(found.state("rights.clinics") == "warning")
        #expect(found.of("rights.clinics")[0].seen.contains("as submitter"))
        try await installed.execute(
          "REVOKE analysis_submitter FROM \(role); UPDATE analysis.clinic_viewer SET role_id = 'pg_monitor'::regrole"
        )
        let stale = try await installed.doctor().found.of("rights.clinics")
        #expect(
          stale.map(\.state) == ["warning"] && stale[0].seen.contains("under a number that is pg_monitor's"))
        #expect(await installed.control("migrate").code == .done)
        #expect(try await installed.doctor().found.of("rights.clinics").isEmpty)
        try await installed.execute("ALTER ROLE \(role) RENAME TO \(role)_late")
        let renamed = try await installed.doctor().found.of("rights.clinics")
        #expect(
          renamed.map(\.state) == ["warning"]
            && renamed[0].seen.contains("\(role)_late, which has its number"))
        try await installed.execute("ALTER ROLE \(role)_late RENAME TO \(role)")
      }
      let gone = try await installed.doctor().found.of("rights.clinics")
      #expect(gone.map(\.state) == ["warning"] && gone[0].seen.hasSuffix("there is no such role"))
    }
  }

  @Test("a duty of which something was taken: wrong, with what is missing")
  func incomplete() async throws {
    try await Installed.with { (installed) async throws in
      try await installed.withRole { (role) async throws in
        try await installed.execute("SELECT analysis.allow('\(role)', 'worker')")
        #expect(try await installed.doctor().found.of("rights.duties").isEmpty)
        try await installed.execute("REVOKE EXECUTE ON FUNCTION analysis.record_report FROM \(role)")
        try await installed.execute("REVOKE SELECT ON analysis.pause FROM \(role)")
        let found = try await installed.doctor().found.of("rights.duties")
        #expect(found.map(\.state) == ["wrong"])
        #expect(found[0].seen == "role \(role) is worker and may not use pause, tell")
        #expect(found[0].advice?.hasPrefix("Run analysisctl migrate") == true)
      }
    }
  }
}
