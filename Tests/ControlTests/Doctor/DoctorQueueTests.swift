import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("doctor sees of workers and jobs")
struct DoctorQueueTests {
  /// A worker as it tells of itself.
  private func addWorker(
    _ queue: QueueFixture, host: String = "w1", version: String = ProductVersion.current,
    silentFor seconds: Int = 0,
    report: String? =
      #"{"endpoints":[{"name":"https://a.example.org","kinds":["throat"],"state":"open","in_flight":0,"window":8}]}"#
  ) async throws {
    _ = try await queue.pool.query(
      """
      INSERT INTO analysis.worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight, report)
      VALUES (0, (random() * 1e9)::bigint, $1, 42, $2, now(), now() - $3 * interval '1 second', 0, $4)
      """,
      [.text(host), .text(version), .double(Double(seconds)), .jsonb(report)])
  }

  private func submit(_ queue: QueueFixture, type: String = "throat") async throws {
    try await queue.addUser("u1")
    let files = try TemporaryFolder()
    try files.write(TinyPicture.png(), to: "p.png")
    #expect(await queue.control("submit", "--user", "u1", "--type", type, files.path).code == .done)
  }

  @Test("that nobody works: a warning, and wrong when jobs wait")
  func nobody() async throws {
    try await withQueue { (queue) async throws in
      let empty = try await queue.control.doctor().found
      #expect(
        empty.state("workers.alive") == "warning" && empty.of("workers.state").map(\.seen) == ["no worker"])
      try await submit(queue)
      let found = try await queue.control.doctor().found.of("workers.alive")
      #expect(found.map(\.state) == ["wrong"] && found[0].seen.hasSuffix("1 jobs wait"))
      try await addWorker(queue)
      let served = try await queue.control.doctor().found
      #expect(served.state("workers.alive") == "ok" && served.of("workers.state").map(\.seen) == ["working"])
    }
  }

  @Test("a worker that fell silent, and one of another version")
  func silent() async throws {
    try await withQueue { (queue) async throws in
      try await addWorker(queue, host: "gone", silentFor: 300)
      try await addWorker(queue, host: "old", version: "0.0.1", report: nil)
      let found = try await queue.control.doctor().found
      #expect(
        found.of("workers.silent").map(\.seen) == [
          "worker gone 42 sent its last heartbeat 5 min ago and was not stopped normally"
        ])
      #expect(found.state("workers.versions") == "warning")
    }
  }

  @Test("jobs of a type that no worker takes on: wrong; of one that says nothing it is not known")
  func types() async throws {
    try await withQueue { (queue) async throws in
      try await submit(queue, type: "ear")
      try await addWorker(queue)
      let found = try await queue.control.doctor().found.of("workers.types")
      #expect(found.map(\.seen) == ["1 ear jobs wait, and no worker takes on that type"])
      try await addWorker(queue, host: "w2", report: nil)
      #expect(try await queue.control.doctor().found.of("workers.types").isEmpty)
    }
  }

  @Test(
    "an endpoint that a live worker does not call: wrong, with the reason; not of a lost worker, nor a paused one"
  )
  func endpoint() async throws {
    func report(_ state: String) -> String {
      #"{"endpoints":[{"name":"https://a.example.org","kinds":["throat","ear"],"state":"\#(state)","#
        + #""reason":"it fails (server)","in_flight":0,"window":8}]}"#
    }
    try await withQueue { (queue) async throws in
      try await addWorker(queue, host: "gone", silentFor: 300, report: report("shut"))
      try await addWorker(queue, host: "paused", report: report("paused"))
      #expect(try await queue.control.doctor().found.of("workers.endpoint").isEmpty)
      try await addWorker(queue, report: report("shut"))
      try await addWorker(queue, host: "w2", report: report("probing"))
      let found = try await queue.control.doctor().found.of("workers.endpoint")
      #expect(found.map(\.state) == ["wrong", "wrong"])
      #expect(found[0].seen == "worker w1 42 does not call https://a.example.org: it fails (server)")
      #expect(await queue.control("doctor").code == .jobFailed)
    }
  }

  @Test("a job that waits for longer than --max-wait: wrong; without it no job waits too long")
  func wait() async throws {
    try await withQueue { (queue) async throws in
      try await addWorker(queue)
      #expect(try await queue.control.doctor("--max-wait", "10m").found.state("workers.wait") == "ok")
      try await submit(queue)
      #expect(try await queue.control.doctor("--max-wait", "10m").found.state("workers.wait") == "ok")
      try await queue.execute("UPDATE analysis.job SET created_at = now() - interval '11 minutes'")
      let found = try await queue.control.doctor("--max-wait", "10m").found.of("workers.wait")
      #expect(found.map(\.state) == ["wrong"])
      #expect(found[0].seen == "the oldest waiting job waits for 11 min, more than 10 min")
      #expect(try await queue.control.doctor().found.of("workers.wait").isEmpty)
    }
  }

  @Test("what an operator paused, and when it was resumed")
  func paused() async throws {
    try await withQueue { (queue) async throws in
      _ = await queue.control("pause", "--type", "ear", "--reason", "upgrade")
      let found = try await queue.control.doctor().found.of("workers.paused")
      #expect(found.map(\.state) == ["warning"] && found[0].seen.hasPrefix("ear: paused by postgres since "))
      _ = await queue.control("resume", "--type", "ear")
      #expect(try await queue.control.doctor().found.of("workers.paused").isEmpty)
    }
  }

  @Test("leases that ran out and that nobody rescued")
  func overdue() async throws {
    try await withQueue { (queue) async throws in
      try await submit(queue)
      #expect(try await queue.claimJobs().count == 1)
      #expect(try await queue.control.doctor().found.state("queue.leases") == "ok")
      try await queue.execute("UPDATE analysis.lease SET deadline = now() - interval '1 minute'")
      let found = try await queue.control.doctor().found.of("queue.leases")
      #expect(
        found.map(\.state) == ["wrong"] && found[0].seen.hasPrefix("1 leases with 1 jobs ran out up to "))
    }
  }

  @Test("jobs that died in the last day, by cause, with one to look at")
  func dead() async throws {
    try await withQueue { (queue) async throws in
      try await submit(queue)
      try await queue.kill(try await queue.claimJobs()[0])
      let job = try await queue.texts("SELECT job_id::text FROM analysis.dead")[0]
      let found = try await queue.control.doctor().found.of("queue.dead")
      #expect(found.map(\.seen) == ["1 jobs died in the last day: permanent INVALID_IMAGE_FORMAT"])
      #expect(found[0].advice?.contains("analysisctl jobs show \(job).") == true)
      try await queue.execute("UPDATE analysis.dead SET failed_at = now() - interval '2 days'")
      #expect(try await queue.control.doctor().found.state("queue.dead") == "ok")
    }
  }
}
