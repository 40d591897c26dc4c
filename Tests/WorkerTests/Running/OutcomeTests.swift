import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("What becomes of a job")
struct OutcomeTests {
  @Test("An analysis is stored with its conditions, their bands and the number of calls")
  func analysed() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let throat = try await queue.submit(5)
      let ear = try await queue.submit(2, kind: .ear, priority: .urgent)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.completed == 7 && summary.calls == 7 && summary.dead == 0 && summary.retried == 0)
      #expect(summary.left == [] && !summary.isParked && summary.unstored == 0)
      #expect(
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.result WHERE outcome = 1 AND attempt = 1 AND calls = 1
            AND primary_id = 'strep_throat' AND primary_band = 4 AND secondary_id = 'tonsillitis'
            AND secondary_band = 2 AND serious AND model = 'model-v3' AND endpoint = '\(backend.url)'
            AND analysis_id = 'a-' || job_id
          """) == 7)
      #expect(Set(backend.calls.filter { $0.kind == "ear" }.map(\.job)) == Set(ear.map { Int($0.value) }))
      #expect(
        Set(backend.calls.filter { $0.kind == "throat" }.map(\.job)) == Set(throat.map { Int($0.value) }))
      try await queue.expectSound()
    }
  }

  @Test("An image that was submitted by SQL leaves without its metadata")
  func unsanitizedImage() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      _ = try await queue.pool.query(
        "SELECT * FROM analysis.submit_image('clinic', 'throat', $1)", [.bytes(Photo.withMetadata())])
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.completed == 1)
      let body = try #require(backend.calls.first).body
      #expect(body.contains("image/jpeg"))
      for secret in Photo.secrets { #expect(!body.contains(secret)) }
      try await queue.expectSound()
    }
  }

  @Test("An image that is none is dead without a call, with the reason")
  func refusedImage() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      // As a submitter gives it that does not look at what it stores.
      _ = try await queue.pool.query(
        """
        SELECT * FROM analysis.submit(0::smallint, '{clinic}', '{1}', '{1}', ARRAY[sha256('no picture')],
          ARRAY['no picture'::bytea], NULL, NULL, '{true}', NULL, NULL, NULL, NULL, 10::smallint, NULL, NULL)
        """)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.dead == 1 && summary.calls == 0)
      #expect(backend.calls.isEmpty)
      #expect(try await queue.text("SELECT class FROM analysis.dead") == "image")
      #expect(try await queue.text("SELECT message FROM analysis.dead").contains("JPEG and PNG"))
      try await queue.expectSound()
    }
  }

  @Test("A permanent failure is dead with its cause, and its unit is given back")
  func permanent() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit()
      let backend = try Backend { _ in .failure(400, "INVALID_IMAGE_FORMAT") }
      let summary = try await Running.drain(queue, backend)
      #expect(summary.dead == 1 && summary.completed == 0)
      #expect(backend.calls.count == 1)
      #expect(
        try await queue.text("SELECT class || ' ' || code || ' ' || message FROM analysis.dead")
          == "permanent INVALID_IMAGE_FORMAT As told.")
      #expect(
        try await queue.number(
          "SELECT (SELECT sum(used) FROM analysis.usage)::int - (SELECT count(*) FROM analysis.refund)::int")
          == 0)
      try await queue.expectSound()
    }
  }

  static let failing: [(String, @Sendable (Backend.Call) throws -> Backend.Reply, FailureClass)] = [
    ("500", { _ in .failure(500, "SERVER_ERROR") }, .server),
    ("analysis_error", { .analysisError($0) }, .invalidAnswer),
    ("HTML", { _ in Backend.Reply(body: "<html>Welcome</html>") }, .invalidAnswer),
  ]

  @Test("A failing backend uses the attempts up, until the job is dead", arguments: failing)
  func consuming(
    name: String, answer: @escaping @Sendable (Backend.Call) throws -> Backend.Reply, kind: FailureClass
  ) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(maxAttempts: 3)
      let backend = try Backend(answer)
      let summary = try await Running.drain(queue, backend)
      #expect(summary.retried == 2 && summary.dead == 1 && summary.completed == 0)
      #expect(backend.calls.count == 3)
      #expect(Set(backend.calls.map(\.job)).count == 1)
      #expect(try await queue.number("SELECT attempts::int FROM analysis.dead") == 3)
      #expect(try await queue.number("SELECT calls::int FROM analysis.dead") == 3)
      #expect(try await queue.text("SELECT class FROM analysis.dead") == kind.rawValue)
      #expect(try await queue.results == 0)
      try await queue.expectSound()
    }
  }

  @Test("A backend that asks for later uses up no attempt", arguments: [[], ["Retry-After: 0"]])
  func later(headers: [String]) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(maxAttempts: 2)
      let backend = try Backend { call in
        call.number <= 5 ? .failure(429, "TOO_MANY", headers: headers) : .analysis(call)
      }
      let summary = try await Running.drain(queue, backend)
      let failures = try await queue.texts(
        "SELECT concat_ws(' ', status, class, consumed, message) FROM analysis.attempt_error ORDER BY at")
      // On a machine that stands still for long the summary and the failures say which other path a job took.
      #expect(summary.completed == 1 && summary.dead == 0, "\(summary)")
      #expect(summary.retried == 5, "\(summary) \(failures)")
      #expect(try await queue.number("SELECT attempt::int FROM analysis.result") == 1)
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE NOT consumed AND status = 429")
          == 5)
      try await queue.expectSound()
    }
  }

  @Test("A job that was not started before its expiry is dead without a call")
  func expired() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let job = try #require(try await queue.submit().first)
      _ = try await queue.pool.query(
        "UPDATE analysis.job SET expires_at = clock_timestamp() - interval '1 second' WHERE id = \(job)")
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.dead == 1)
      #expect(backend.calls.isEmpty)
      #expect(try await queue.text("SELECT class FROM analysis.dead") == "expired")
      try await queue.expectSound()
    }
  }

  @Test("A job whose image is gone is dead, and the others of its statement are not held up")
  func missingImage() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      _ = try await queue.pool.query(
        "DELETE FROM analysis.image WHERE id = (SELECT image_id FROM analysis.job ORDER BY id LIMIT 1)")
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.dead == 1 && summary.completed == 2)
      #expect(backend.calls.count == 2)
      #expect(try await queue.text("SELECT class || ' ' || code FROM analysis.dead") == "image image_missing")
      try await queue.expectSound()
    }
  }

  @Test("Jobs that run within the horizon are waited for; those beyond it are told of")
  func scheduled() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let soon = try await queue.submit(2, in: 1.5)
      try await queue.submit(3, in: 3600)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend, horizon: .seconds(30))
      #expect(summary.completed == 2)
      #expect(Set(backend.calls.map(\.job)) == Set(soon.map { Int($0.value) }))
      #expect(summary.left == ["scheduled for later: 3"])
      #expect(!summary.isParked)
      try await queue.expectSound()
    }
  }
}
