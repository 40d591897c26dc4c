import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("The SQL that sql.md shows")
struct DocumentedSQLTests {
  @Test("is run by a submitter as it stands, and does what is said")
  func blocks() async throws {
    let blocks = try Self.blocks().filter { !$0.contains("batch") && !$0.contains("submit_object") }
    try #require(blocks.count == 9)
    try await withQueue { queue in
      try await queue.addUser("u1")
      var configuration = ConnectionConfiguration(
        try await queue.direct(as: "submitter").database.conninfo)
      configuration.settings = HostileSettings.ofLogins
      let submitter = ConnectionPool(configuration, on: try EventLoop(name: "back-end"), size: 1)
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

  @Test("submits an object, once its key and its hash are given")
  func objects() async throws {
    let block = try #require(try Self.blocks().first { $0.contains("submit_object") })
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await queue.execute(
        "UPDATE analysis.setting SET value = 's3-plaintext' WHERE name = 'image_store'")
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let prefix = try await login.query("SELECT o_prefix FROM analysis.image_store()").single().string(0)
        let key = "\(prefix)202101/ab/\(String(repeating: "0", count: 32))"
        let row = try await login.query(
          block, [.text(key), .bytes(QueueFixture.hash(1)), .int32(500)]
        ).single()
        #expect(try row.string("outcome") == "created")
      }
    }
  }

  private static func blocks() throws -> [String] {
    let page = try #require(MarkdownFile.named("docs/sql.md"))
    return page.codeBlocks.filter { $0.language == "sql" }.map { $0.lines.joined(separator: "\n") }
  }

  @Test("makes a batch, submits in it with a reference, and counts it")
  func batches() async throws {
    let blocks = try Self.blocks().filter { $0.contains("batch") }
    try #require(blocks.count == 3)
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let batch = try await login.query(blocks[0]).single().int64(0)
        let row = try await login.query(blocks[1], [.int64(batch), .bytes(TinyPicture.png(grey: 1))]).single()
        #expect(try row.string("outcome") == "created")
        let counts = try await login.query(blocks[2], [.int64(batch)]).single()
        #expect(try counts.int("o_jobs") == 1 && counts.int("o_succeeded") == 0)
        let found = try await queue.text("SELECT reference FROM analysis.job_label WHERE batch_id = \(batch)")
        #expect(found == "visit-4711")
      }
    }
  }

  @Test("every reason by SQL alone, and every outcome of an undone cancellation, is explained")
  func words() throws {
    let page = try #require(MarkdownFile.named("docs/sql.md"))
    let uncancelled: [JobChangeOutcome.Reason] = [.tooLate, .imageGone, .erased, .notCancelled, .unknown]
    let words =
      ["not_an_image", "objects_refused", "object_taken", "requeued", "busy", "quota"]
      + uncancelled.map(\.rawValue)
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
