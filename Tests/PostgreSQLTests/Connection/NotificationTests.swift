import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("Notifications")
struct NotificationTests {
  @Test("are heard on their channel, with their payload, while the connection serves other calls")
  func heard() async throws {
    try await withTestDatabase { database in
      let loop = try EventLoop()
      let listener = try await database.connect(on: loop)
      let sender = try await database.connect(on: loop)
      let channel = "Jobs \"quoted\""
      var heard = try await listener.listen(channel).makeAsyncIterator()
      _ = try await listener.listen("other")
      for (name, payload) in [("elsewhere", "no"), ("other", "no"), (channel, "one"), (channel, "")] {
        _ = try await sender.query("SELECT pg_notify($1, $2)", [.text(name), .text(payload)])
      }
      #expect(try await listener.query("SELECT 1").count == 1)
      let expected = Notification(channel: channel, payload: "one", backendPID: sender.backendPID)
      #expect(await heard.next() == expected)
      #expect(await heard.next()?.payload == "")
    }
  }

  @Test("end with unlisten and with the connection")
  func ends() async throws {
    try await withConnection { connection in
      var first = try await connection.listen("a").makeAsyncIterator()
      var second = try await connection.listen("b").makeAsyncIterator()
      try await connection.unlisten("a")
      #expect(await first.next() == nil)
      _ = try await connection.query("NOTIFY b, 'still here'")
      #expect(await second.next()?.payload == "still here")
      await connection.close()
      #expect(await second.next() == nil)
    }
  }

  @Test("of the server's own, its warnings, go to whom the configuration names")
  func notices() async throws {
    let (notices, continuation) = AsyncStream.makeStream(of: Notice.self)
    try await withConnection {
      // Where the session's own settings have plans printed, they come too.
      $0.onNotice = { if $0.severity != "LOG" { continuation.yield($0) } }
    } _: { connection in
      try await connection.execute(script: "DO $$ BEGIN RAISE WARNING 'mind the gap'; END $$")
      var iterator = notices.makeAsyncIterator()
      #expect(await iterator.next()?.message == "mind the gap")
      _ = try await connection.query("DROP TABLE IF EXISTS nowhere")
      let notice = await iterator.next()
      #expect(notice?.severity == "NOTICE")
      #expect(notice?.sqlState == "00000")
    }
  }
}
