import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("Calls of functions of the schema")
struct CalledFunctionTests {
  /// What a program calls, as its source says.
  private struct Call {
    let file: String
    let name: String
    let arguments: Int
    let columns: [String]
  }

  /// What the server has of a function.
  private struct Function {
    let arguments: ClosedRange<Int>
    let columns: Set<String>
  }

  private static let sourceOfCalls = "Queue/Schema/SQLFunction.swift"

  private static func calls() throws -> [Call] {
    let pattern = #/SQLFunction\(\s*"(\w+)",\s*(\d+)((?:,\s*"\w+")*)\s*\)/#
    return try sources(with: "SQLFunction(").filter { $0 != sourceOfCalls }.flatMap { file in
      let text = try String(contentsOfFile: packagePath("Sources/\(file)"), encoding: .utf8)
      let calls = text.matches(of: pattern).map { match in
        let columns = match.output.3.matches(of: #/"(\w+)"/#).map { String($0.output.1) }
        return Call(
          file: file, name: String(match.output.1), arguments: Int(match.output.2) ?? -1,
          columns: columns.isEmpty ? [String(match.output.1)] : columns)
      }
      #expect(
        calls.count == text.components(separatedBy: "SQLFunction(").count - 1,
        "\(file) has a call that is not written out")
      return calls
    }
  }

  private static func functions(_ queue: QueueFixture) async throws -> [String: Function] {
    let rows = try await queue.pool.query(
      """
      SELECT p.proname::text AS name, p.pronargs - p.pronargdefaults AS least, p.pronargs::int AS most,
             CASE
               WHEN p.proargmodes && '{o,t}'::"char"[] THEN ARRAY(
                 SELECT a.name
                   FROM unnest(p.proargnames, p.proargmodes) a(name, mode)
                  WHERE a.mode IN ('o', 't'))
               WHEN t.typrelid <> 0 THEN ARRAY(
                 SELECT a.attname::text
                   FROM pg_attribute a
                  WHERE a.attrelid = t.typrelid AND a.attnum > 0)
               ELSE ARRAY[p.proname::text]
             END AS columns
        FROM pg_proc p
        JOIN pg_type t ON t.oid = p.prorettype
       WHERE p.pronamespace = 'analysis'::regnamespace
      """)
    return try Dictionary(
      rows.map { row in
        (
          try row.string("name"),
          Function(
            arguments: try row.int("least")...(try row.int("most")),
            columns: Set(try row.array("columns", of: String.self)))
        )
      }, uniquingKeysWith: { $1 })
  }

  @Test("name one that the database has, with as many arguments as it takes and with columns that it answers")
  func calls() async throws {
    try await withCheckedQueue { queue in
      let functions = try await Self.functions(queue)
      let calls = try Self.calls()
      #expect(calls.count > 60)
      for call in calls {
        guard let function = functions[call.name] else {
          Issue.record("\(call.file): there is no function \(call.name)")
          continue
        }
        #expect(function.arguments.contains(call.arguments), "\(call.file): arguments of \(call.name)")
        let unknown = Set(call.columns).subtracting(function.columns)
        #expect(unknown.isEmpty, "\(call.file): columns of \(call.name)")
      }
    }
  }

  @Test("are made in one place, and Swift has no other SQL of the schema")
  func onePlace() throws {
    let modules = ["Administration/", "JobQueue/", "Reports/", "Worker/"]
    let others = try sources(with: "FROM analysis.").filter { file in modules.contains { file.hasPrefix($0) }
    }
    #expect(others.isEmpty, "\(others)")
    #expect(try sources(with: "\"SELECT analysis.").isEmpty)
  }
}
