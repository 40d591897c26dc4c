import Administration
import EventLoop
import JobQueue
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import ControlCommands

@Suite("The SQL that sql.md shows")
struct DocumentedSQLTests {
  @Test("is run by a submitter as it stands, and does what is said")
  func blocks() async throws {
    let page = try #require(MarkdownFile.named("docs/sql.md"))
    let blocks = page.codeBlocks.filter { $0.language == "sql" }.map { $0.lines.joined(separator: "\n") }
    try #require(blocks.count == 9)
    try await withQueue { queue in
      try await queue.addUser("u1")
      let database = try #require(queue.control.environment["ANALYSIS_DATABASE"])
      let submitter = ConnectionPool(
        ConnectionConfiguration("\(database) options='-c role=analysis_submitter'"),
        on: try EventLoop(name: "back-end"), size: 1)
      let picture = Parameter.bytes(TinyPicture.png(grey: 1))
      let row = try await submitter.query(blocks[0], [picture]).single()
      #expect(try row.string("outcome") == "created")
      let job = try row.int64("job_id")
      let many = try await submitter.query(blocks[2], [picture, .bytes(TinyPicture.png(grey: 2))])
      #expect(try many.map { try $0.string("outcome") } == ["created", "created"])
      _ = try await submitter.query(blocks[1])

      let named = blocks.map { $0.replacing("4711", with: "\(job)") }
      #expect(try await submitter.query(named[3]).single().string("state") == "waiting")
      try await queue.complete(try await queue.claimJobs()[0])
      #expect(try await submitter.query(named[4]).single().string(0) == "succeeded")
      try await submitter.execute(script: named[5])
      let reading = named[6].split(separator: "\n").map(String.init)
      let opened = try await submitter.query(reading[0]).single().string(0)
      let columns = reading[1].replacing("SELECT *", with: "SELECT job_id, primary_name, conditions::text")
      let result = try await submitter.query(columns, [.text(opened)]).single()
      #expect(try result.int64("job_id") == job)
      #expect(try result.string("primary_name") == "Tonsillitis")
      #expect(try result.string("conditions").contains(#""band": "orange""#))

      let second = "\(try many[1].int64("job_id"))"
      let cancel = blocks[7].replacing("4711", with: second)
      try await submitter.execute(script: cancel)
      let undone = try await submitter.query(blocks[8].replacing("4711", with: second)).single()
      #expect(try undone.string("o_outcome") == "requeued")
      await submitter.close()
    }
  }

  @Test("every reason by SQL alone, and every outcome of an undone cancellation, is explained")
  func words() throws {
    let page = try #require(MarkdownFile.named("docs/sql.md"))
    let words =
      ["not_an_image", "requeued", "busy", "quota"] + UncancelOutcome.Reason.allCases.map(\.rawValue)
    for word in words {
      #expect(page.prose.contains { $0.hasPrefix("| ") && $0.contains("`\(word)`") }, "\(word)")
    }
  }

  @Test("every reason of a refusal is explained", arguments: Refusal.Reason.allCases.filter { $0 != .other })
  func reasons(reason: Refusal.Reason) throws {
    let page = try #require(MarkdownFile.named("docs/sql.md"))
    #expect(page.prose.contains { $0.hasPrefix("| `\(reason.rawValue)` | ") })
  }
}
