import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue

@Suite("Programs of the version before")
struct ReleasedTests {
  private func text(_ file: String) throws -> String {
    try String(contentsOfFile: packagePath("Tests/Released/\(file)"), encoding: .utf8)
  }

  @Test("find every function and view as they and back-ends use it", arguments: ["1.0"])
  func released(version: String) async throws {
    let before = try text("\(version).txt").split(separator: "\n").map(String.init)
    try #require(before.contains { $0.hasPrefix("claim(") })
    try await withQueue { queue async throws in
      let now = try await queue.texts(try text("interface.sql"))
      #expect(Set(before).subtracting(now).sorted() == [])
    }
  }

  /// Functions of that version as they were called, each with a body, settings and rights of its own.
  private func functions(of version: String, without there: Set<String>) throws -> String {
    let lines = try ["\(version).txt", "\(version).internal.txt"].flatMap {
      try text($0).split(separator: "\n").map(String.init).filter { !$0.hasPrefix("view ") }
    }
    return lines.compactMap { line in
      guard !there.contains(String(line.prefix { $0 != "(" })) else { return nil }
      var depth = 0
      let end = line.firstIndex { character in
        depth += character == "(" ? 1 : character == ")" ? -1 : 0
        return character == ")" && depth == 0
      }
      guard let end else { return nil }
      return """
        CREATE FUNCTION analysis.\(line[...end]) RETURNS\(line[line.index(after: end)...])
        LANGUAGE plpgsql SECURITY DEFINER COST 7 SET work_mem = '1MB'
        AS $$ BEGIN RAISE EXCEPTION 'of version \(version)'; END $$;

        """
    }.joined()
  }

  @Test("leave nothing behind: their database is as a new one when it has been migrated", arguments: ["1.0"])
  func upgraded(version: String) async throws {
    let catalogue = try text("catalogue.sql")
    let new = try await withQueue { try await $0.texts(catalogue) }
    try await withQueue(from: nil) { (queue) async throws in
      let embedded = MigrationSource.embedded
      _ = try await Migrator(
        queue.pool,
        source: MigrationSource(
          migrations: embedded.migrations.filter { $0.number <= embedded.baseline },
          baseline: embedded.baseline)
      ).migrate()
      let there = try await queue.texts(
        "SELECT DISTINCT proname::text FROM pg_proc WHERE pronamespace = 'analysis'::regnamespace")
      let functions = try functions(of: version, without: Set(there))
      #expect(functions.matches(of: /CREATE FUNCTION/).count > 150)
      try await queue.pool.execute(script: functions)
      _ = try await Migrator(queue.pool).migrate()
      let migrated = try await queue.texts(catalogue)
      #expect(Set(migrated).subtracting(new).sorted() == [], "only where it was migrated")
      #expect(Set(new).subtracting(migrated).sorted() == [], "only where it is new")
      #expect(migrated.count == new.count)
    }
  }
}
