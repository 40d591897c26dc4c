import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("analysisctl watch beside a worker")
struct WatchProcessTests {
  private struct Event: Decodable {
    let event: String
    let job: String?
  }

  /// Runs a worker while somebody watches, and answers what was seen of each job.
  private func watched(
    _ installation: Installation, _ arguments: [String], worker: [String], isListening: Bool
  ) async throws -> [JobID: [String]] {
    let queue = isListening ? try await installation.queue.direct() : installation.queue
    let watch = try Executable(
      "analysisctl", ["watch", "--json"] + arguments, environment: queue.environment)
    try await eventually("it has looked") {
      let sessions = try await installation.queue.number(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle' AND application_name = 'analysisctl'
          AND (query LIKE '%analysis.watch(%' OR query LIKE 'LISTEN%ended%')
        """)
      return sessions >= (isListening ? 2 : 1)
    }
    let further = try await installation.submitFurther(3)
    let worker = try installation.worker(worker)
    try await eventually("every end is seen") {
      watch.outputSoFar.split(separator: "\n").count { $0.hasPrefix(#"{"event":"done""#) }
        == installation.jobs.count + further.count
    }
    await installation.stop(worker)
    watch.send(SIGINT)
    let ended = await watch.ended()
    #expect(ended.code == 0 && ended.messages.isEmpty, "\(ended.messages)")
    var seen: [JobID: [String]] = [:]
    for line in ended.output.split(separator: "\n") {
      let event = try JSONDecoder().decode(Event.self, from: Data(line.utf8))
      if let job = event.job.flatMap({ JobID($0) }) { seen[job, default: []].append(event.event) }
    }
    for job in further { #expect(seen[job] == ["submitted", "started", "done"], "\(ended.output)") }
    for job in installation.jobs { #expect(seen[job] == ["started", "done"], "\(ended.output)") }
    return seen
  }

  @Test("sees each job's events once and in order, woken by the worker's notifications alone")
  func notified() async throws {
    try await Installation.with(jobs: 5) { installation in
      let seen = try await watched(
        installation, ["--every", "1h"], worker: ["--notify-ended"], isListening: true)
      #expect(seen.count == 8)
    }
  }

  @Test("sees them behind a pooler, where it hears nothing", .enabled(if: Pooler.isAvailable))
  func pooled() async throws {
    try await Installation.pooled(jobs: 5) { (installation, _) async throws in
      let seen = try await watched(
        installation, ["--every", "100ms"], worker: [], isListening: false)
      #expect(seen.count == 8)
    }
  }
}
