import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("analysisctl watch, against a server")
struct WatchTests {
  /// What a run has written so far, and who waits for a part of it.
  private final class Output: TextWriter {
    let kept = MemoryWriter()
    func write(_ text: String) throws(WriteError) { try kept.write(text) }
  }

  private static let sessions = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'analysisctl' AND datname = current_database()
    """

  /// Returns when the first look is over.
  private func looked(_ queue: QueueFixture) async throws {
    try await eventually("it has looked") {
      try await queue.number("\(Self.sessions) AND state = 'idle' AND query LIKE '%analysis.watch(%'") == 1
    }
  }

  /// Runs the command while a body does something, and ends it by a signal.
  private func watching(
    _ queue: QueueFixture, _ arguments: [String], login: String? = nil,
    terminal: Terminal = .plain, _ body: (_ written: @escaping @Sendable () -> String) async throws -> Void
  ) async throws -> Control.Ran {
    let (stream, signals) = AsyncStream<Signal>.makeStream()
    let output = Output()
    // What listens comes past a pooler, which passes no notification on.
    var control = try await queue.direct().control
    control.brokenOutput = output
    control.outputTerminal = terminal
    control.interruptions = { stream }
    let running = control
    async let ran = running.run(["watch"] + arguments)
    do {
      try await looked(queue)
      try await eventually("it listens") {
        try await queue.number("\(Self.sessions) AND query LIKE 'LISTEN%ended%'") == 1
      }
      try await body { output.kept.text }
    } catch {
      signals.yield(.interrupt)
      _ = await ran
      throw error
    }
    signals.yield(.interrupt)
    let end = await ran
    return Control.Ran(code: end.code, output: output.kept.text, messages: end.messages)
  }

  @Test("a notification has it look at once; Ctrl-C ends it with 0")
  func woken() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let ran = try await watching(queue, ["--json", "--every", "1h"]) { written in
        let job = try await queue.submit(1, user: "u1")[0]
        try await queue.execute("SELECT analysis.notify_workers(0::smallint)")
        try await eventually("the job is seen") { written().contains(#""event":"submitted""#) }
        let claimed = try await queue.claimJobs()
        try await queue.complete(claimed[0])
        try await queue.execute("SELECT analysis.notify_ended('{0}', '{\(job)}')")
        try await eventually("its end is seen") { written().contains(#""event":"done""#) }
      }
      #expect(ran.code == .done && ran.messages.isEmpty, "\(ran.messages)")
      let lines = ran.output.split(separator: "\n")
      #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix(#"{"event":""#) && $0.hasSuffix("}") })
      for field in [
        "job", "user", "type", "lane", "batch", "reference", "file", "attempt", "call_milliseconds", "class",
        "code", "message", "by", "result",
      ] {
        #expect(lines[2].contains("\"\(field)\":"), "\(field)")
      }
      #expect(lines[2].contains(#""user":"u1","type":"throat""#) && lines[2].contains(#""result":null"#))
    }
  }

  @Test("without a notification it looks every second, and ends after as many events as were asked for")
  func polled() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let jobs = try await queue.submit(2, user: "u1")
      async let ran = queue.control("watch", "--every", "100ms", "--count", "2", "--user", "u1")
      try await looked(queue)
      _ = try await queue.cancel(jobs.map(\.value))
      let found = await ran
      #expect(found.code == .done)
      #expect(found.lines.count == 2, "\(found.output)")
      for (line, job) in zip(found.lines, jobs) {
        let words = line.split(separator: " ").map(String.init)
        #expect(words.dropFirst().prefix(3) == ["cancelled", job.description, "u1"], "\(line)")
      }
    }
  }

  @Test("a connection that is cut is made again: nothing is lost or shown twice")
  func cut() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let ran = try await watching(queue, ["--json", "--every", "100ms"]) { written in
        try await queue.submit(1, user: "u1")
        try await eventually("the first is seen") { written().contains("submitted") }
        try await queue.execute(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'analysisctl' AND datname = current_database()"
        )
        let claimed = try await queue.claimJobs()
        try await queue.complete(claimed[0])
        try await eventually("the end is seen") { written().contains(#""event":"done""#) }
      }
      #expect(ran.code == .done)
      let events = ran.output.split(separator: "\n").map { $0.dropFirst(10).prefix { $0 != "\"" } }
      #expect(events == ["submitted", "started", "done"], "\(ran.output)")
    }
  }

  @Test("what was found is shown to a clinician who asks for it, and recorded; to nobody else")
  func conditions() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await queue.submit(1, user: "u1")
      let claimed = try await queue.claimJobs()
      try await queue.complete(claimed[0])
      let past = ["watch", "--since", "1h", "--count", "3"]
      try await withLoginRole(on: queue.pool, named: "doctor", in: ["analysis_clinician"]) {
        (login) async throws in
        let control = Control(database: "\(queue.database.conninfo) user=\(login)")
        let usual = await control.run(past)
        #expect(usual.code == .done && !usual.output.contains("Tonsillitis"))
        let found = await control.run(past + ["--conditions"])
        #expect(found.code == .done && found.lines.last?.contains("Tonsillitis 79% (orange)") == true)
        #expect(
          try await queue.number("SELECT count(*) FROM analysis.audit_entry WHERE action = 'read_result'")
            == 1)
      }
      try await withLoginRole(on: queue.pool, named: "ops", in: ["analysis_operator"]) {
        (login) async throws in
        let refused = await Control(database: "\(queue.database.conninfo) user=\(login)").run(
          past + ["--conditions"])
        #expect(refused.code == .permission && refused.messages.contains("may not read what was found"))
      }
    }
  }

  @Test(
    "a login that is restricted to clinics learns that it sees no such user, whether there is one or not")
  func unseen() async throws {
    try await withQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_clinician"]) {
        (login) async throws in
        try await queue.execute(
          """
          SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'ann', 'north');
          SELECT analysis.grant_clinics('\(login)', '{north}');
          """)
        let control = Control(database: "\(queue.database.conninfo) user=\(login)")
        for user in ["bob", "nobody"] {
          let ran = await control.run(["watch", "--user", user, "--count", "1"])
          #expect(ran.code == .refused, "\(user)")
          #expect(
            ran.messages.contains("This login is restricted to clinics, and sees no user \(user)."),
            "\(ran.messages)")
          #expect(ran.messages.contains("analysisctl clinics grant"), "\(ran.messages)")
          #expect(!ran.messages.contains("Add the user"), "\(ran.messages)")
        }
      }
    }
  }

  @Test("a batch that is not there is refused")
  func batch() async throws {
    try await withQueue { (queue) async throws in
      #expect(await queue.control("watch", "--batch", "B77").code == .refused)
      let nobody = await queue.control("watch", "--user", "nobody", "--count", "1")
      #expect(nobody.code == .refused && nobody.messages.contains("There is no user nobody."))
    }
  }
}
