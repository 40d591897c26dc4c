import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("A database of version 1.0 that is migrated")
struct UpgradeTests {
  private func withUpgraded(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withQueue(from: nil) { (queue) async throws in
      try await queue.makeReleasedSchema(
        then: String(contentsOfFile: packagePath("Tests/Released/1.0.sql"), encoding: .utf8))
      let applied = try await Migrator(queue.pool).migrate().map(\.name)
      #expect(applied.first == "0010_since_1_0")
      try await body(queue)
      try await queue.expectInvariants()
    }
  }

  @Test("is at this program's version, whole, and a second run finds nothing to do")
  func whole() async throws {
    try await withUpgraded { (queue) async throws in
      let migrator = Migrator(queue.pool)
      #expect(try await migrator.requireCompatible() == Migrator.version)
      #expect(try await migrator.status().isCurrent)
      #expect(try await migrator.altered() == [])
      #expect(try await migrator.migrate().isEmpty)
      let made = try await queue.texts("SELECT created_at::text FROM analysis.plan")
      #expect(made == ["-infinity", "-infinity"])
      #expect(try await queue.texts("SELECT kind FROM analysis.clinic") == ["clinic", "clinic"])
      #expect(
        try await queue.texts(
          """
          SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = 'analysis' AND c.relname LIKE 'attempt\\_error%' AND c.relkind IN ('r', 'p')
            AND c.relreplident <> 'f'
          """) == [])
      // The new setting is nobody's change.
      #expect(try await queue.text("SELECT analysis.setting_value('report_threshold')") == "5")
      #expect(try await queue.texts("SELECT action FROM analysis.audit_entry") == ["add_user"])
    }
  }

  @Test("has the same jobs and units, and goes on with them")
  func jobs() async throws {
    try await withUpgraded { (queue) async throws in
      #expect(
        try await queue.states() == [
          1: "waiting", 2: "succeeded", 3: "dead", 4: "cancelled", 5: "scheduled", 6: "running",
        ])
      #expect(try await Reconciliation.run(queue.pool, month: nil).isEmpty)
      #expect(try await queue.usage("plain") == QueueFixture.Usage(used: 3))
      // Its key is kept as 1.0 kept it.
      #expect(
        try await queue.texts(
          "SELECT outcome || job_id FROM analysis.submit_image('plain', 'throat', E'\\\\xffd8ff01', 'key')")
          == ["duplicate1"])
      #expect(
        try await queue.texts("SELECT o_outcome FROM analysis.retry_dead(0::smallint, '{3}')") == ["requeued"]
      )
      #expect(try await queue.number("SELECT o_requeued FROM analysis.rescue(0::smallint, 10, 0)") == 1)
      #expect(
        try await queue.numbers(
          """
          SELECT o_job::int FROM analysis.claim(
            0::smallint, \(QueueFixture.workerSecret), 77, '{5}', '{0}', '{10}', 10, 60000)
          ORDER BY 1
          """) == [1, 3, 6])
    }
  }

  @Test("lets nobody change what its closed months state")
  func statements() async throws {
    try await withUpgraded { (queue) async throws in
      for table in ["statement", "statement_line"] {
        await #expect(throws: (any Error).self) { try await queue.execute("DELETE FROM analysis.\(table)") }
      }
      #expect(try await queue.count("statement_line") == 1)
    }
  }
}
