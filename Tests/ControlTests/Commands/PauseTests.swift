import PostgreSQL
import QueueTestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl pause and resume, against a server")
struct PauseTests {
  @Test("a pause is kept with who, since when and why; repeated, it changes nothing")
  func idempotent() async throws {
    try await withQueue { (queue) async throws in
      let pause = ["pause", "--type", "ear", "--reason", "model upgrade"]
      let first = await queue.control.run(pause)
      #expect(first.code == .done)
      #expect(first.output.hasPrefix("ear: paused by postgres since 20"))
      #expect(first.output.hasSuffix("Z: model upgrade\n"))
      let rows = "SELECT row_to_json(p)::text FROM analysis.pause p ORDER BY id"
      let kept = try await queue.texts(rows)
      let again = await queue.control.run(pause)
      #expect(again.code == .done && again.output.hasSuffix("model upgrade (unchanged)\n"))
      #expect(try await queue.texts(rows) == kept)
    }
  }

  @Test("another reason or end replaces it, and what was stays on record")
  func changed() async throws {
    try await withQueue { (queue) async throws in
      _ = await queue.control("pause")
      let longer = await queue.control("pause", "--until", "2999-01-01T00:00:00Z", "--json")
      #expect(
        longer.output.hasPrefix(#"{"target":"everything","outcome":"changed","pauses":[{"endpoint":null,"#))
      #expect(longer.output.contains(#""by":"postgres""#) && longer.output.contains(#""until":"2999-01-01T"#))
      #expect(
        try await queue.texts(
          "SELECT (resumed_at IS NOT NULL)::text || ' ' || coalesce(resumed_by, '') FROM analysis.pause ORDER BY id"
        )
          == ["true postgres", "false "])
    }
  }

  @Test("it may end after a time, by the server's clock")
  func after() async throws {
    try await withQueue { (queue) async throws in
      #expect(await queue.control("pause", "--until", "30m").code == .done)
      #expect(
        try await queue.number(
          "SELECT count(*) FROM analysis.pause WHERE until_at BETWEEN now() AND now() + interval '30 minutes'"
        )
          == 1)
    }
  }

  @Test("resume ends the pause of the same thing, tells of others, and is idempotent too")
  func resume() async throws {
    try await withQueue { (queue) async throws in
      _ = await queue.control("pause")
      _ = await queue.control("pause", "--endpoint", "https://model.example.org")
      let resumed = await queue.control("resume")
      #expect(resumed.code == .done)
      #expect(resumed.lines.count == 2 && resumed.lines[0] == "everything: not paused any more")
      #expect(resumed.lines[1].hasPrefix("https://model.example.org: paused by postgres since "))
      let again = await queue.control("resume")
      #expect(again.code == .done && again.lines[0] == "everything: was not paused")
      let other = await queue.control("resume", "--endpoint", "https://model.example.org")
      #expect(other.output == "https://model.example.org: not paused any more\n")
    }
  }

  @Test("status shows what is paused, by whom and why")
  func status() async throws {
    try await withQueue { (queue) async throws in
      _ = await queue.control("pause", "--type", "throat", "--reason", "audit")
      let text = await queue.control("status")
      #expect(
        text.lines.contains { $0.hasPrefix("throat: paused by postgres since ") && $0.hasSuffix(": audit") })
      let json = await queue.control("status", "--json")
      #expect(
        json.output.contains(#""pauses":[{"endpoint":null,"type":"throat","reason":"audit","by":"postgres""#))
    }
  }

  @Test("a pause that is over counts as none, and can be made again")
  func over() async throws {
    try await withQueue { (queue) async throws in
      _ = await queue.control("pause")
      _ = try await queue.pool.query("UPDATE analysis.pause SET until_at = now() - interval '1 second'")
      #expect(await !queue.control("status").output.contains("paused by"))
      let again = await queue.control("pause", "--json")
      #expect(again.output.contains(#""outcome":"paused""#))
      _ = try await queue.pool.query(
        "UPDATE analysis.pause SET until_at = now() - interval '1 second' WHERE resumed_at IS NULL")
      #expect(await queue.control("resume").output == "everything: was not paused\n")
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.pause WHERE resumed_at = until_at AND resumed_by IS NULL") == 2)
    }
  }

  @Test("two at once make one pause")
  func together() async throws {
    try await withQueue { (queue) async throws in
      let codes = await withTaskGroup(of: ExitCode.self) { group in
        for _ in 0..<10 { group.addTask { await queue.control("pause", "--type", "ear").code } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(codes == Array(repeating: .done, count: 10))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.pause") == 1)
    }
  }

  @Test("what cannot be meant is refused, and nobody but the owner pauses")
  func refused() async throws {
    try await withQueue { (queue) async throws in
      let past = await queue.control("pause", "--until", "2020-01-01T00:00:00Z")
      #expect(past.code == .refused && past.messages.contains("a pause ends in the future"))
      let both = await queue.control("pause", "--type", "ear", "--endpoint", "https://x.example.org")
      #expect(both.code == .usage)
      #expect(await queue.control("pause", "--endpoint", "").code == .usage)
      #expect(await queue.control("pause", "--reason", String(repeating: "x", count: 501)).code == .usage)
      #expect(await (try await queue.direct(as: "worker")).control("pause").code == .permission)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.pause") == 0)
    }
  }
}
