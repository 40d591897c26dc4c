import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("analysisctl submit --wait, against a server")
struct WaitTests {
  /// Claims as a worker does until so many jobs have come; completes the first, and fails the others for good.
  private func work(off count: Int, in queue: QueueFixture) async throws {
    var seen = 0
    while seen < count {
      for job in try await queue.claimJobs(lease: Int64(1000 + seen * 10)) {
        if seen == 0 { try await queue.complete(job) } else { try await queue.kill(job) }
        seen += 1
      }
      await Task.yield()
    }
  }

  @Test("ends when the jobs have, with 0 where all were analysed")
  func succeeded() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["a.png": TinyPicture.png()])
      async let ran = queue.control(
        "submit", "--user", "u1", "--type", "throat", "--wait", "--json", files.path("a.png"))
      try await work(off: 1, in: queue)
      let result = await ran
      #expect(result.code == .done)
      #expect(result.lines.count == 1)
      #expect(result.output.contains(#""outcome":"created""#))
      #expect(
        result.output.hasSuffix(#""state":"succeeded","batch":"B1","reference":null,"result":null}"# + "\n"))
    }
  }

  @Test("with 1 where one died")
  func died() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["a.png": TinyPicture.png(), "b.png": TinyPicture.png(grey: 1)])
      async let ran = queue.control(
        "submit", "--user", "u1", "--type", "throat", "--wait", "--verbose", files.path)
      try await work(off: 2, in: queue)
      let result = await ran
      #expect(result.code == .jobFailed)
      #expect(result.output.contains("succeeded ") && result.output.contains("dead "))
      #expect(result.messages.hasSuffix("2 submitted, 1 failed.\n"))
    }
  }

  @Test("and with 75 when the time is over before; the jobs stay")
  func timeOver() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["a.png": TinyPicture.png()])
      let ran = await queue.control(
        "submit", "--user", "u1", "--type", "throat", "--wait", "--timeout", "1ms", files.path("a.png"))
      #expect(ran.code == .tryLater)
      #expect(ran.output.hasPrefix("waiting "))
      #expect(ran.messages.hasSuffix("1 submitted, 1 not finished.\n"))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 1)
    }
  }

  @Test("where everything was refused there is nothing to wait for")
  func allRefused() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder(["a.png": TinyPicture.png()])
      let ran = await queue.control(
        "submit", "--user", "nobody", "--type", "ear", "--wait", files.path("a.png"))
      #expect(ran.code == .refused)
      #expect(ran.messages.contains("There is no user nobody."))
    }
  }
}
