import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images
@testable import Queue
@testable import Support

@Suite("A submit that is interrupted, against a server")
struct InterruptedSubmitTests {
  private func items(_ count: Int, in files: TemporaryFolder) throws -> [SubmitItem] {
    try files.write(TinyPicture.png(), to: "p.png")
    return (1...count).map { number in
      SubmitItem(
        name: "p\(number).png", source: .file(files.path("p.png")), user: "u1", kind: .throat,
        priority: .normal,
        runAt: nil, expiresAt: nil, key: "key \(number)")
    }
  }

  /// Is a signal when the first result is written.
  private struct Interrupting: TextWriter {
    let interruption: Interruption
    func write(_ text: String) { if !interruption.isAsked { interruption.signalArrived() } }
  }

  private func run(
    _ items: [SubmitItem], on queue: QueueFixture, _ interruption: Interruption,
    output: any TextWriter = MemoryWriter()
  ) async -> SubmitResponse {
    let console = Console(output: output, messages: MemoryWriter())
    let report = SubmitReport(
      view: View(console: console, isJSON: false), total: items.count, isWaiting: false, isVerbose: true)
    return await SubmitRun(
      items: items, database: queue.pool, interruption: interruption, report: report
    ).run()
  }

  @Test("before the first call: nothing is submitted, code 75, and the way to go on is told")
  func before() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let messages = MemoryWriter()
      let console = Console(output: MemoryWriter(), messages: messages)
      let files = try TemporaryFolder()
      let items = try items(2, in: files)
      let interruption = Interruption()
      interruption.signalArrived()
      let report = SubmitReport(view: View(console: console, isJSON: false), total: 2, isWaiting: false)
      let response = await SubmitRun(
        items: items, database: queue.pool, interruption: interruption, report: report
      ).run()
      try report.finish(response, runKey: "the-run")
      withExtendedLifetime(files) {}
      #expect(response.isInterrupted && response.failure == nil)
      #expect(response.tally.exitCode == .tryLater)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 0)
      #expect(
        messages.text.hasSuffix(
          "0 submitted, 2 not submitted.\n"
            + "To submit the rest, and nothing twice, repeat the command with --key the-run\n"))
    }
  }

  @Test("in the middle: the call that is under way is whole, and a repeat submits exactly the rest")
  func between() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      let items = try items(450, in: files)
      let interruption = Interruption()
      let first = await run(
        items, on: queue, interruption, output: Interrupting(interruption: interruption))
      #expect(first.isInterrupted && first.failure == nil)
      #expect(first.tally.created > 0 && first.tally.notReached > 0)
      #expect(first.tally.created + first.tally.notReached == 450)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == first.tally.created)

      let second = await run(items, on: queue, Interruption())
      #expect(second.tally.duplicates == first.tally.created)
      #expect(second.tally.created == first.tally.notReached)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 450)
    }
  }

  @Test("by a machine that cannot start a decoder: nothing is refused, code 75, and the way to go on is told")
  func noDecoder() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let messages = MemoryWriter()
      let console = Console(output: MemoryWriter(), messages: messages)
      let files = try TemporaryFolder()
      let report = SubmitReport(view: View(console: console, isJSON: false), total: 2, isWaiting: false)
      let decoders = ImageDecoders(program: "/nonexistent/image-decoder")
      let response = await SubmitRun(
        items: try items(2, in: files), intake: ImageIntake(limits: ImageLimits(), decoders: decoders),
        database: queue.pool, interruption: Interruption(), report: report
      ).run()
      try report.finish(response, runKey: "the-run")
      withExtendedLifetime(files) {}
      let failure = try #require(response.failure)
      #expect(FailureMessage.failure(for: failure)?.exitCode == .tryLater)
      #expect(response.tally.notReached == 2 && response.tally.refusedOtherwise == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 0)
      #expect(messages.text.contains("repeat the command with --key the-run"))
    }
  }

  @Test("while it waits: the jobs stay, code 75")
  func waiting() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      var control = queue.control
      let (signals, source) = AsyncStream.makeStream(of: Signal.self)
      control.interruptions = { signals }
      let files = try TemporaryFolder(["a.png": TinyPicture.png()])
      async let ran = control("submit", "--user", "u1", "--type", "throat", "--wait", files.path("a.png"))
      while try await queue.number("SELECT count(*)::int FROM analysis.ready") == 0 { await Task.yield() }
      source.yield(.interrupt)
      let result = await ran
      #expect(result.code == .tryLater)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 1)
    }
  }
}
