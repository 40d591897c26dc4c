import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images

@Suite("The same submit from twenty places at once")
struct SubmitRaceTests {
  /// Twenty processes that submit the same picture; what each wrote to its output.
  private func submitAtOnce(_ queue: QueueFixture, _ options: [String]) async throws -> [Executable
    .Ended]
  {
    let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
    let arguments = ["submit", "--user", "clinic-1", "--type", "throat", "--json"] + options + [picture]
    let programs = try (0..<20).map { _ in
      try Executable("analysisctl", arguments, environment: queue.environment)
    }
    var ended: [Executable.Ended] = []
    for program in programs { ended.append(await program.ended()) }
    return ended
  }

  @Test("with one key, by twenty processes, makes one job and takes one unit, and all are told its number")
  func sameKey() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic-1")
      let ended = try await submitAtOnce(queue, ["--key", "visit-4711"])
      #expect(ended.allSatisfy { $0.code == 0 }, "\(ended.map(\.messages))")
      let job = try await queue.text("SELECT id::text FROM analysis.job")
      #expect(ended.allSatisfy { $0.output.contains("\"\(job)\"") }, "\(ended.map(\.output))")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 1)
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 1)
      try await queue.expectSound()
    }
  }

  @Test("without a key, by twenty processes, makes twenty jobs of one stored picture")
  func withoutKey() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic-1")
      // A late process finds the picture paid for, so each submits with --again.
      let ended = try await submitAtOnce(queue, ["--again"])
      #expect(ended.allSatisfy { $0.code == 0 }, "\(ended.map(\.messages))")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 20)
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 20)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 1)
      try await queue.expectSound()
    }
  }

  @Test(
    "by SQL on twenty connections, with a key or without one", arguments: [("'visit-1'", 1), ("NULL", 20)])
  func bySQL(key: String, jobs: Int) async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic-1")
      let picture = try await drawnPicture().bytes
      let connections = ConnectionPool(queue.database.configuration, on: queue.loop, size: 20)
      let answers = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<20 {
          group.addTask {
            try await connections.query(
              "SELECT outcome || ' ' || job_id FROM analysis.submit_image('clinic-1', 'throat', $1, \(key))",
              [.bytes(picture)]
            ).single().string(0)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      await connections.close()
      #expect(answers.count { $0.hasPrefix("created") } == jobs, "\(answers)")
      #expect(Set(answers.map { $0.split(separator: " ").last }).count == jobs)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == jobs)
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == jobs)
      try await queue.expectSound()
    }
  }

  @Test("of the last units of a limit: exactly those that are left are taken, the others are refused with 3")
  func lastUnits() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic-1", plan: "free")
      // A late process finds the picture paid for, so each submits with --again.
      let ended = try await submitAtOnce(queue, ["--again"])
      #expect(ended.count { $0.code == 0 } == 5)
      #expect(ended.count { $0.code == 3 } == 15, "\(ended.map(\.code))")
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 5)
      try await queue.expectSound()
    }
  }
}
