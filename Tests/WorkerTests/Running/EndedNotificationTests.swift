import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Worker

@Suite("Whoever listens hears which jobs have ended")
struct EndedNotificationTests {
  /// What is heard on the channel until the sentinel that the test sends at the end.
  private func heard(
    _ queue: QueueFixture, _ body: () async throws -> Void
  ) async throws -> [String] {
    let listener = try await queue.listener()
    let notifications = try await listener.listen("analysis_ended")
    try await body()
    try await queue.execute("NOTIFY analysis_ended, 'over'")
    var heard: [String] = []
    for await notification in notifications {
      if notification.payload == "over" { break }
      heard.append(notification.payload)
    }
    await listener.close()
    return heard
  }

  @Test("of a worker that is told to notify: those that succeeded and those that died, each once")
  func ended() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(30)
      let backend = try Backend { call in
        call.number == 3 ? .failure(400, "INVALID_IMAGE_FORMAT") : .analysis(call)
      }
      let heard = try await heard(queue) {
        let summary = try await Running.drain(queue, backend) { $0.notifiesEnded = true }
        #expect(summary.completed == 29 && summary.dead == 1)
      }
      #expect(heard.allSatisfy { $0.hasPrefix("0:") && $0.utf8.count < 8000 })
      let jobs = heard.flatMap { $0.dropFirst(2).split(separator: ",").compactMap { Int($0) } }
      #expect(try await jobs.sorted() == queue.numbers("SELECT id FROM analysis.job ORDER BY id"))
      try await queue.expectSound()
    }
  }

  @Test("Without that a worker says nothing")
  func silent() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let backend = try Backend()
      let heard = try await heard(queue) { _ = try await Running.drain(queue, backend) }
      #expect(heard == [])
    }
  }

  @Test("A notification has no more jobs than it can hold, and those of one shard")
  func size() async throws {
    try await withQueue { queue in
      let heard = try await heard(queue) {
        try await queue.execute(
          """
          SELECT analysis.notify_ended(array_fill(0::smallint, ARRAY[1000]) || '{5}'::smallint[],
            ARRAY(SELECT 9223372036854775807 - i FROM generate_series(0, 1000) i))
          """)
      }
      #expect(heard.count == 4 && heard.allSatisfy { $0.utf8.count < 8000 })
      #expect(heard.contains("5:\(Int64.max - 1000)"))
    }
  }
}
