import CommandLineTool
import Testing

@testable import ControlCommands

@Suite("What a role with one duty can do by analysisctl")
struct DutyTests {
  /// A role that every server has, and that nobody else here is given a duty for.
  private let role = "pg_monitor"

  /// Runs a command as the role with one duty; the job asked for has an analysis.
  private func run(_ duty: String, _ arguments: (_ folder: String, _ job: String) -> [String]) async throws
    -> Control.Ran
  {
    var ran: Control.Ran?
    try await Installed.with { (installed) async throws in
      try await installed.addUser("u1", plan: "free")
      let files = try Files()
      try files.write("p1.png", TinyPicture.png(grey: 1))
      #expect(
        await installed.control("submit", "--user", "u1", "--type", "throat", files.path).code == .done)
      try await installed.complete(try await installed.claim()[0])
      let job = try #require(try await installed.texts("SELECT id::text FROM analysis.job").first)
      _ = try await installed.texts("SELECT analysis.allow('\(role)', '\(duty)')::text")
      var control = installed.control
      let database = try #require(control.environment["ANALYSIS_DATABASE"])
      control.environment["ANALYSIS_DATABASE"] = "\(database) options='-c role=\(role)'"
      control.runKey = "as-the-role"
      ran = await control.run(arguments(files.path, job))
    }
    return try #require(ran)
  }

  @Test("A submitter submits, waits, looks and cancels")
  func submitter() async throws {
    let submitted = try await run("submitter") { folder, _ in
      ["submit", "--user", "u1", "--type", "ear", "--wait", "--timeout", "1ms", folder]
    }
    #expect(submitted.code == .tryLater, "\(submitted.messages)")  // no worker runs
    let shown = try await run("submitter") { ["jobs", "show", $1] }
    #expect(shown.code == .done, "\(shown.messages)")
    let cancelled = try await run("submitter") { ["jobs", "cancel", $1] }
    #expect(cancelled.code == .refused, "\(cancelled.messages)")  // it has ended
  }

  @Test(
    "A reader sees jobs and the queue",
    arguments: [["jobs", "list"], ["jobs", "list", "--state", "dead"], ["status"]])
  func reader(arguments: [String]) async throws {
    let ran = try await run("reader") { _, _ in arguments }
    #expect(ran.code == .done, "\(ran.messages)")
  }

  @Test("A worker's role sees what is left in the queue, which a drain asks")
  func worker() async throws {
    let ran = try await run("worker") { _, _ in ["status"] }
    #expect(ran.code == .done, "\(ran.messages)")
  }

  @Test("Nobody does more than the duty", arguments: ["reader", "worker"])
  func refused(duty: String) async throws {
    let ran = try await run(duty) { ["jobs", "cancel", $1] }
    #expect(ran.code == .permission)
    let added = try await run(duty) { _, _ in ["users", "add", "u2"] }
    #expect(added.code == .permission)
  }
}
