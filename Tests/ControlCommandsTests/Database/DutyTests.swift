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

  @Test("A submitter submits, waits and cancels")
  func submitter() async throws {
    let submitted = try await run("submitter") { folder, _ in
      ["submit", "--user", "u1", "--type", "ear", "--wait", "--timeout", "1ms", folder]
    }
    #expect(submitted.code == .tryLater, "\(submitted.messages)")  // no worker runs
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

  @Test("A reader sees a job with its analysis, which a submitter does not")
  func shown() async throws {
    let shown = try await run("reader") { ["jobs", "show", $1] }
    #expect(shown.code == .done, "\(shown.messages)")
    let refused = try await run("submitter") { ["jobs", "show", $1] }
    #expect(refused.code == .permission, "\(refused.output)")
  }

  @Test("A worker's role sees what is left in the queue, which a drain asks")
  func worker() async throws {
    let ran = try await run("worker") { _, _ in ["status"] }
    #expect(ran.code == .done, "\(ran.messages)")
  }

  @Test(
    "Every command but migrate is some duty's",
    arguments: [
      ("operator", ["pause", "--type", "ear"]),
      ("operator", ["pause", "--endpoint", "https://model.example.org"]),
      ("operator", ["resume"]), ("operator", ["status"]), ("operator", ["reconcile"]),
      ("operator", ["jobs", "list"]), ("operator", ["doctor"]),
      ("administrator", ["users", "add", "u2", "--name", "N N"]), ("administrator", ["users", "show", "u1"]),
      ("administrator", ["users", "list"]), ("administrator", ["users", "set-plan", "u1", "premium"]),
      ("administrator", ["users", "set-zone", "u1", "Asia/Jakarta"]), ("administrator", ["plans"]),
      ("administrator", ["users", "set-photo", "u1", "--remove"]),
      ("administrator", ["plans", "set-limit", "free", "9"]), ("administrator", ["clinics"]),
      ("administrator", ["clinics", "add", "north"]),
      ("administrator", ["clinics", "assign", "u1", "--none"]),
      ("reporter", ["report", "usage"]), ("reporter", ["report", "usage", "--month", "2024-01"]),
      ("reporter", ["report", "conditions"]), ("reporter", ["report", "summary"]),
      ("reporter", ["users", "list"]),
      ("reporter", ["plans"]),
      ("privacy", ["erase", "--user", "u1", "--dry-run"]), ("privacy", ["erase", "--user", "u1"]),
      ("auditor", ["audit", "list"]), ("auditor", ["audit", "verify"]),
      ("auditor", ["status"]), ("auditor", ["reconcile"]), ("auditor", ["users", "list"]),
      ("auditor", ["plans"]),
      ("auditor", ["clinics"]), ("auditor", ["report", "usage"]), ("auditor", ["report", "summary"]),
    ])
  func each(duty: String, arguments: [String]) async throws {
    let ran = try await run(duty) { _, _ in arguments }
    // The server of all tests is fast rather than durable, which doctor finds wrong.
    #expect(ran.code == (arguments == ["doctor"] ? .jobFailed : .done), "\(ran.messages)")
  }

  @Test("An operator cancels, and retries what is dead; an administrator takes over profiles")
  func changes() async throws {
    let cancelled = try await run("operator") { ["jobs", "cancel", $1] }
    #expect(cancelled.code == .refused, "\(cancelled.messages)")  // it has ended
    let retried = try await run("operator") { _, _ in ["jobs", "retry", "--state", "dead"] }
    #expect(retried.code == .nothingToDo, "\(retried.messages)")
    let purged = try await run("retention") { _, _ in ["purge"] }
    #expect(purged.code == .nothingToDo, "\(purged.messages)")
    let files = try Files()
    let exported = try await run("privacy") { _, _ in ["users", "export", "u1", "--out", files("u1")] }
    #expect(
      exported.code == .done && exported.output.hasPrefix("1 jobs and 1 images of u1"), "\(exported.messages)"
    )
    try files.write("profiles.json", #"{"id": "u9", "email": "e@example.org", "subscription": "premium"}"#)
    let imported = try await run("administrator") { _, _ in ["users", "import", files("profiles.json")] }
    #expect(imported.code == .done && imported.output == "created u9\n", "\(imported.messages)")
  }

  @Test(
    "What is another duty's is refused with 77, and says what to do",
    arguments: [
      ("worker", ["users", "list"]), ("worker", ["jobs", "list"]), ("worker", ["report", "usage"]),
      ("submitter", ["pause"]), ("submitter", ["jobs", "list"]), ("submitter", ["users", "add", "u2"]),
      ("submitter", ["reconcile"]),
      ("submitter", ["plans", "set-limit", "free", "9"]), ("submitter", ["report", "usage"]),
      ("submitter", ["migrate"]),
      ("reporter", ["report", "analyses"]), ("reporter", ["users", "show", "u1"]),
      ("reporter", ["jobs", "list"]),
      ("reporter", ["status"]), ("reporter", ["clinics", "add", "north"]),
      ("auditor", ["pause"]), ("auditor", ["users", "show", "u1"]), ("auditor", ["report", "analyses"]),
      ("auditor", ["report", "usage", "--month", "2024-01"]),
      ("auditor", ["clinics", "grant", "x", "--all"]),
      ("operator", ["users", "add", "u2"]), ("operator", ["report", "analyses"]),
      ("operator", ["erase", "--user", "u1"]), ("administrator", ["purge"]), ("retention", ["status"]),
      ("privacy", ["jobs", "list"]), ("privacy", ["purge"]), ("reporter", ["audit", "list"]),
      ("administrator", ["pause"]), ("administrator", ["report", "analyses"]),
      ("administrator", ["jobs", "list"]),
    ])
  func others(duty: String, arguments: [String]) async throws {
    let ran = try await run(duty) { _, _ in arguments }
    #expect(ran.code == .permission, "\(ran.output) \(ran.messages)")
    #expect(ran.messages.contains("analysis_"), "\(ran.messages)")
  }

  @Test("Nobody does more than the duty", arguments: ["reader", "worker"])
  func refused(duty: String) async throws {
    let ran = try await run(duty) { ["jobs", "cancel", $1] }
    #expect(ran.code == .permission)
    let added = try await run(duty) { _, _ in ["users", "add", "u2"] }
    #expect(added.code == .permission)
  }
}
