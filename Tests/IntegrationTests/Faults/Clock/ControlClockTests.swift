import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite(
  "analysisctl on a machine whose clock is three days off",
  .enabled(if: WrongClock.isAvailable, "needs libfaketime, and no sanitizer"))
struct ControlClockTests {
  @Test("submits into the server's month, at the server's time", arguments: WrongClock.both)
  func submit(clock: WrongClock) async throws {
    try await withQueue { queue in
      let environment = queue.environment
      func run(_ arguments: String...) async throws -> Executable.Ended {
        let program = try clock.start("analysisctl", arguments, environment: environment)
        defer { WrongClock.clean(after: program.processID) }
        let ended = await program.ended()
        #expect(ended.code == 0, "\(arguments): \(ended.messages)")
        return ended
      }
      _ = try await run("users", "add", "clinic-1", "--plan", "premium")
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      _ = try await run("submit", "--user", "clinic-1", "--type", "throat", picture)
      // A time that lies between the two clocks: it is the server's that decides whether it has come.
      let soon = Date(timeIntervalSinceNow: 86_400).formatted(.iso8601)
      let past = Date(timeIntervalSinceNow: -86_400).formatted(.iso8601)
      _ = try await run("submit", "--user", "clinic-1", "--type", "ear", "--at", soon, picture)
      _ = try await run("submit", "--user", "clinic-1", "--type", "ear", "--at", past, "--again", picture)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 2)
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.scheduled WHERE run_at > now()") == 1)
      #expect(
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.job
          WHERE abs(extract(epoch FROM now() - created_at)) > 3600
             OR period <> analysis.period_of(coalesce(run_at, now()), 'UTC') AND run_at > now()
             OR period <> analysis.period_of(now(), 'UTC') AND coalesce(run_at, now()) <= now()
          """) == 0)
      let status = try await run("status", "--json")
      #expect(status.output.contains("\"waiting\""), "\(status.output)")
      try await queue.expectSound()
    }
  }

  @Test(
    "closes no month that runs, and dates a report, by the server's time; a right clock finds the same bytes",
    arguments: WrongClock.both)
  func report(clock: WrongClock) async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic-1")
      let picture = try await drawnPicture()
      _ = try await queue.submit(2, user: "clinic-1", image: picture)
      let folder = try TemporaryFolder()
      func report(_ file: String, _ clock: WrongClock?) async throws -> Executable.Ended {
        try await run(
          ["report", "usage", "--month", "current", "--format", "csv", "--out", folder.path(file)], clock)
      }
      func run(_ arguments: [String], _ clock: WrongClock?) async throws -> Executable.Ended {
        let environment = queue.environment
        guard let clock else {
          return await (try Executable("analysisctl", arguments, environment: environment)).ended()
        }
        let program = try clock.start("analysisctl", arguments, environment: environment)
        defer { WrongClock.clean(after: program.processID) }
        return await program.ended()
      }
      // The running month stays a draft, though a clock ahead may be in the next one.
      let wrong = try await report("wrong.csv", clock)
      #expect(wrong.code == 0, "\(wrong.messages)")
      let early = try await run(["month", "close", "current", "--yes"], clock)
      #expect(early.code == 75, "\(early.messages)")
      #expect(try await run(["month", "close", "--due", "--yes"], clock).code == 5)
      let right = try await report("right.csv", nil)
      #expect(right.code == 0, "\(right.messages)")
      #expect(
        try Data(contentsOf: URL(filePath: folder.path("wrong.csv")))
          == Data(contentsOf: URL(filePath: folder.path("right.csv"))))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 0)
      let sidecar = try #require(
        try JSONSerialization.jsonObject(
          with: Data(contentsOf: URL(filePath: folder.path("wrong.csv.json")))) as? [String: Any])
      let text = try #require(sidecar["generated_at"] as? String)
      let age = try await queue.number(
        "SELECT abs(extract(epoch FROM now() - '\(text)'::timestamptz))::int")
      #expect(age < 3600, "\(text)")
    }
  }
}
