import CommandLineTool
import PostgreSQL
import Queue
import QueueTestSupport
import TestSupport
import Testing

@testable import Control

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

  @Test("a dry run prints SQL that makes the schema, and changes nothing")
  func dryRun() async throws {
    try await withQueue(from: nil) { (queue) async throws in
      let dry = await queue.control("migrate", "--dry-run")
      #expect(dry.code == .done)
      #expect(dry.output.contains("CREATE TABLE analysis.job"))
      #expect(
        try await queue.number("SELECT count(*)::int FROM pg_namespace WHERE nspname = 'analysis'") == 0)
      try await queue.pool.execute(script: dry.output)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.plan") == 2)
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
}
