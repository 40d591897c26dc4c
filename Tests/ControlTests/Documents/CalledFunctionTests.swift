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
    /// What is read: with the prefix where it is read column by column, without where a type names the columns.
    let columns: Set<String>
    /// Whether it is read as a value of one column, whatever that is called.
    let isValue: Bool
  }

  /// What the server has of a function.
  private struct Function {
    let arguments: ClosedRange<Int>
    let columns: Set<String>
  }

  private static let sourceOfCalls = "Queue/Statements/Statement.swift"

  private static func calls() throws -> [Call] {
    let types = try DecodedTypes()
    let pattern = #/SQLFunction\(\s*"(\w+)",\s*(\d+)((?:,\s*"\w+")*)\s*\)/#
    return try sources(with: "SQLFunction(").filter { $0 != sourceOfCalls }.flatMap { file in
      let text = try String(contentsOfFile: packagePath("Sources/\(file)"), encoding: .utf8)
      let matches = text.matches(of: pattern)
      #expect(
        matches.count == text.components(separatedBy: "SQLFunction(").count - 1,
        "\(file) has a call that is not written out")
      var reading = ""
      return try matches.indices.reversed().map { index in
        let match = matches[index]
        let next = index + 1 < matches.count ? matches[index + 1].range.lowerBound : text.endIndex
        let rest = text[match.range.upperBound..<next]
        // Of two calls between which a condition chooses, what follows the second reads the answer of both.
        if rest.contains(where: { !$0.isWhitespace && $0 != ":" }) {
          // What is read stands in the same function, or in the same list of properties.
          reading = String(rest[..<(rest.firstRange(of: #/\n(?:  )?\}\n/#)?.lowerBound ?? rest.endIndex)])
        }
        let named = Set(match.output.3.matches(of: #/"(\w+)"/#).map { String($0.output.1) })
        let read = named.isEmpty ? try Self.columns(reading, in: file, types) : named
        return Call(
          file: file, name: String(match.output.1), arguments: Int(match.output.2) ?? -1, columns: read ?? [],
          isValue: read == nil)
      }
    }
  }

  /// The columns that are read in what follows a call; nil where it is a value of one column.
  private static func columns(_ text: String, in file: String, _ types: DecodedTypes) throws -> Set<String>? {
    let given = text.firstMatch(of: #/beside: \[((?:[^\[\]]|\[\w+\])*)\]/#)?.output.1 ?? ""
    let besides = Set(given.matches(of: #/"(\w+)":/#).map { String($0.output.1) })
    var decoded = text.matches(of: #/as: ([^"{}]*?)\.self\b/#).map { String($0.output.1) }
    if decoded.isEmpty {
      decoded = text.matches(of: #/decode\(([^"{}]*?)\.self\b/#).map { String($0.output.1) }
    }
    if let only = decoded.first, decoded.count == 1,
      try types.columns(of: only, in: file, without: besides) == nil
    {
      return nil
    }
    let byName = text.matches(of: #/(?:row|\$0|\))\.\w+\("(\w+)"/#).map { String($0.output.1) }
    return try decoded.reduce(into: Set(byName)) {
      $0.formUnion(try types.columns(of: $1, in: file, without: besides) ?? [])
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
      #expect(calls.count { !$0.columns.isEmpty } > 80)
      for call in calls {
        guard let function = functions[call.name] else {
          Issue.record("\(call.file): there is no function \(call.name)")
          continue
        }
        #expect(function.arguments.contains(call.arguments), "\(call.file): arguments of \(call.name)")
        let unknown = call.columns.filter {
          !function.columns.contains($0) && !function.columns.contains("o_\($0)")
        }
        #expect(unknown.isEmpty, "\(call.file): columns of \(call.name)")
        if call.isValue { #expect(function.columns.count == 1, "\(call.file): the value of \(call.name)") }
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
