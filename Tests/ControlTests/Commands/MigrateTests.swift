import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("analysisctl migrate, against a server")
struct MigrateTests {
  @Test("without a schema every other command says to migrate, with code 69")
  func missing() async throws {
    try await withQueue(from: nil) { (queue) async throws in
      for line in [
        ["status"], ["jobs", "list"], ["users", "show", "u"], ["report", "usage"], ["reconcile"],
      ] {
        let ran = await queue.control.run(line)
        #expect(ran.code == .unreachable)
        #expect(ran.messages.contains("Run analysisctl migrate."))
      }
    }
  }

  @Test("a dry run prints all that a run does, and changes nothing")
  func dryRun() async throws {
    let catalogue = try String(contentsOfFile: packagePath("Tests/Released/catalogue.sql"), encoding: .utf8)
    let recorded =
      "SELECT concat_ws(' ', name, checksum) FROM analysis.schema_migration UNION ALL "
      + "SELECT concat_ws(' ', name, checksum) FROM analysis.schema_function ORDER BY 1"
    let (made, known) = try await withQueue { queue in
      (try await queue.texts(catalogue), try await queue.texts(recorded))
    }
    try await withQueue(from: nil) { (queue) async throws in
      let dry = await queue.control("migrate", "--dry-run")
      #expect(dry.code == .done)
      #expect(dry.output.contains("CREATE TABLE analysis.job"))
      #expect(
        try await queue.number("SELECT count(*)::int FROM pg_namespace WHERE nspname = 'analysis'") == 0)
      try await queue.pool.execute(script: dry.output, deadline: patience)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.plan") == 2)
      let ran = try await queue.texts(catalogue)
      #expect(Set(made).symmetricDifference(ran).sorted() == [])
      #expect(try await queue.texts(recorded) == known)
      // What is run where nothing is missing restores what somebody took away.
      let lines = await queue.control("migrate", "--dry-run")
      #expect(
        lines.output.hasPrefix(
          "-- The schema is up to date (version \(Migrator.version)). What is run all the same:\n"))
      try await queue.execute("ALTER FUNCTION analysis.list_settings() RESET client_min_messages")
      try await queue.pool.execute(script: lines.output, deadline: patience)
      #expect(try await Set(made).symmetricDifference(queue.texts(catalogue)).sorted() == [])
    }
  }

  @Test("a run makes the schema, a second finds nothing to do, and both end with 0")
  func twice() async throws {
    try await withQueue(from: nil) { (queue) async throws in
      let first = await queue.control("migrate")
      #expect(first.code == .done)
      #expect(first.output.contains("applied migration 0001_"))
      #expect(first.messages == "")
      let second = await queue.control("migrate", "--json")
      #expect(second.code == .done)
      #expect(second.output == #"{"dry_run":false,"version":\#(Migrator.version),"steps":[]}"# + "\n")
    }
  }
  @Test("a database of a development version is refused, and it says what to do")
  func development() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        """
        UPDATE analysis.schema_migration SET name = '0010_operations', checksum = 'x' WHERE number = 10;
        INSERT INTO analysis.schema_migration (number, name, checksum)
        VALUES (11, '0011_billing', 'x'), (30, '0030_doors', 'x')
        """)
      let said = [
        "The database was made by a development version: it has the migration 0010_operations, which no release has.",
        "Run analysisctl migrate on a new, empty database, or on one that a release made.",
      ]
      for line in [["migrate"], ["migrate", "--dry-run"], ["status"]] {
        let ran = await queue.control.run(line)
        #expect(ran.code == .unreachable)
        #expect(said.allSatisfy(ran.messages.contains), "\(ran.messages)")
      }
      let finding = try await queue.control.doctor().found.of("schema.version")
      #expect(finding.map(\.state) == ["wrong"])
      #expect(finding[0].seen.contains("a development version"))
      #expect(try await queue.number("SELECT count(*) FROM analysis.schema_migration") == 12)
    }
  }
}
