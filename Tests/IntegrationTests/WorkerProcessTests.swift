import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("The worker as a process")
struct WorkerProcessTests {
  private let endpoint = ["--endpoint", "http://127.0.0.1:9"]

  @Test("told to stop while it waits for the database, ends with 0")
  func stopsAtItsStart() async throws {
    let worker = try Executable(
      "analysis-worker", endpoint, environment: ["ANALYSIS_DATABASE": "host=/nonexistent"])
    while !worker.messagesSoFar.contains("trying again") { try await Task.sleep(for: .milliseconds(10)) }
    worker.send(SIGTERM)
    let ended = await worker.ended()
    #expect(ended.code == 0, "\(ended.messages)")
  }

  @Test("without a schema says what to do and ends with 69")
  func withoutSchema() async throws {
    try await withTestDatabase { database async throws in
      let worker = try Executable(
        "analysis-worker", endpoint, environment: ["ANALYSIS_DATABASE": database.conninfo])
      let ended = await worker.ended()
      #expect(ended.code == 69)
      #expect(ended.messages.contains("analysisctl migrate"), "\(ended.messages)")
    }
  }

  @Test("without an endpoint ends with 64", arguments: [[], ["--endpoint-for", "nose=http://127.0.0.1:9"]])
  func withoutEndpoint(options: [String]) async throws {
    let ended = await (try Executable("analysis-worker", options)).ended()
    #expect(ended.code == 64)
    #expect(ended.messages.contains("--endpoint"), "\(ended.messages)")
  }

  @Test(
    "with settings by which no database can ever be reached ends with 64, and does not wait",
    arguments: ["host=192.0.2.1 sslmode=require", "host=192.0.2.1 sslmode=allow", "no such=setting"])
  func hopelessSettings(conninfo: String) async throws {
    let worker = try Executable("analysis-worker", endpoint, environment: ["ANALYSIS_DATABASE": conninfo])
    let ended = await worker.ended()
    #expect(ended.code == 64, "\(ended.messages)")
  }

  @Test("reads images by themselves beside the schema before, which answers none with a claim")
  func schemaBefore() async throws {
    try await Installation.with(jobs: 6) { installation in
      try await installation.queue.execute(
        "DROP FUNCTION analysis.images_of_claim(smallint, bytea, bigint, int, int, int)")
      let worker = try installation.worker(["--drain"])
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try installation.lastWords(of: ended)["completed"] == 6)
      try await installation.expectEachEnded()
    }
  }

  @Test("that ends in order is listed as ended")
  func retires() async throws {
    try await withQueue { queue async throws in
      let worker = try Executable("analysis-worker", endpoint, environment: queue.environment)
      while try await queue.number("SELECT count(*)::int FROM analysis.worker") == 0 {
        try await Task.sleep(for: .milliseconds(10))
      }
      worker.send(SIGTERM)
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      let listed = try await queue.number(
        "SELECT count(*)::int FROM analysis.worker WHERE ended_at IS NOT NULL AND in_flight = 0")
      #expect(listed == 1)
      #expect(!ended.messages.contains("A call of the database failed"), "\(ended.messages)")
    }
  }
}
