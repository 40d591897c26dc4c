import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("What a login with one role can do by analysisctl")
struct CommandRoleTests {
  /// A user with a picture in a folder and a job with it, which a worker has claimed.
  private func withClaimedJob(
    plan: String = "free",
    _ body: (_ queue: QueueFixture, _ files: TemporaryFolder, _ job: ClaimedJob) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: plan)
      let files = try TemporaryFolder()
      try files.write(TinyPicture.png(grey: 1), to: "p1.png")
      #expect(await queue.control("submit", "--user", "u1", "--type", "throat", files.path).code == .done)
      try await body(queue, files, try await queue.claimJobs()[0])
    }
  }

  /// Runs a command as one role; the job asked for has an analysis.
  private func run(_ role: String, _ arguments: (_ folder: String, _ job: String) -> [String]) async throws
    -> Control.Ran
  {
    var ran: Control.Ran?
    try await withClaimedJob { (queue, files, job) async throws in
      try await queue.complete(job)
      var control = try await queue.direct(as: role).control
      control.runKey = "as-the-role"
      ran = await control.run(arguments(files.path, "\(job.id)"))
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

  @Test("A clinician sees jobs, and a job with its analysis; an operator sees the job without it")
  func shown() async throws {
    for state in [[], ["--state", "dead"]] {
      let ran = try await run("clinician") { _, _ in ["jobs", "list"] + state }
      #expect(ran.code == .done, "\(ran.messages)")
    }
    let shown = try await run("clinician") { ["jobs", "show", $1] }
    #expect(shown.code == .done && shown.output.contains("Tonsillitis"), "\(shown.messages)")
    let without = try await run("operator") { ["jobs", "show", $1] }
    #expect(without.code == .done && !without.output.contains("onsillitis"), "\(without.messages)")
    #expect(without.output.contains("not shown: only a clinician's role may read it"))
    let json = try await run("operator") { ["jobs", "show", $1, "--json"] }
    #expect(
      json.output.contains(#""result":null,"death":null,"holder":null,"result_hidden":true"#),
      "\(json.output)")
    let refused = try await run("submitter") { ["jobs", "show", $1] }
    #expect(refused.code == .permission, "\(refused.output)")
  }

  @Test("An operator who retries dead jobs sees why they died")
  func causes() async throws {
    try await withClaimedJob { (queue, _, claimed) async throws in
      try await queue.kill(claimed)
      let job = "\(claimed.id)"
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { login in
        let control = queue.acting(as: login).control
        let shown = await control("jobs", "show", job)
        #expect(shown.code == .done, "\(shown.messages)")
        #expect(
          shown.output.contains("permanent: INVALID_IMAGE_FORMAT: the image was refused"), "\(shown.output)")
        #expect(await control("jobs", "retry", job).code == .done)
      }
    }
  }

  @Test("A worker's role sees what is left in the queue, which a drain asks")
  func worker() async throws {
    let ran = try await run("worker") { _, _ in ["status"] }
    #expect(ran.code == .done, "\(ran.messages)")
  }

  @Test(
    "Every command is some role's",
    arguments: [
      ("operator", ["pause", "--type", "ear"]),
      ("operator", ["pause", "--endpoint", "https://model.example.org"]),
      ("operator", ["resume"]), ("operator", ["status"]), ("operator", ["reconcile"]),
      ("operator", ["jobs", "list"]), ("operator", ["doctor"]), ("operator", ["batches", "list"]),
      ("clinician", ["batches", "list"]), ("submitter", ["batches", "list"]),
      ("administrator", ["users", "add", "u2", "--name", "N N"]), ("administrator", ["users", "show", "u1"]),
      ("administrator", ["users", "list"]), ("administrator", ["users", "set-plan", "u1", "premium"]),
      ("administrator", ["users", "set-zone", "u1", "Asia/Jakarta"]), ("administrator", ["plans"]),
      ("administrator", ["users", "add", "u2", "--anchor", "15"]),
      ("administrator", ["users", "set-period", "u1", "--anchor", "15"]),
      ("administrator", ["users", "set-photo", "u1", "--remove"]),
      ("administrator", ["users", "rename", "u1", "u2", "--yes"]),
      ("administrator", ["users", "code", "u1"]), ("administrator", ["users", "token", "add", "u1"]),
      ("administrator", ["users", "token", "list", "u1"]),
      ("administrator", ["users", "token", "revoke", "u1", "--all"]),
      ("administrator", ["share", "list"]), ("clinician", ["share", "list"]),
      ("administrator", ["account", "profile", "--user", "u1", "--gender", "x"]),
      ("administrator", ["plans", "set-limit", "free", "9"]), ("administrator", ["clinics"]),
      ("administrator", ["plans", "add", "pro", "9"]),
      ("administrator", ["plans", "set-price", "free", "0.50", "EUR"]),
      ("reporter", ["statement", "--user", "u1", "--month", "current"]),
      ("administrator", ["settings", "set", "keep_images", "90 days", "--yes"]), ("worker", ["settings"]),
      ("administrator", ["clinics", "add", "north"]),
      ("administrator", ["clinics", "assign", "u1", "--none"]),
      ("reporter", ["report", "usage"]), ("reporter", ["report", "usage", "--month", "2024-01"]),
      ("reporter", ["report", "conditions"]), ("reporter", ["report", "summary"]),
      ("reporter", ["users", "list"]),
      ("reporter", ["plans"]), ("reporter", ["month"]), ("auditor", ["month", "list"]),
      ("auditor", ["report", "usage", "--month", "2024-01"]),
      ("privacy", ["erase", "--user", "u1", "--dry-run"]),
      ("privacy", ["erase", "--user", "u1", "--confirm", "u1"]),
      ("auditor", ["audit", "list"]), ("auditor", ["audit", "verify"]),
      ("auditor", ["status"]), ("auditor", ["reconcile"]), ("auditor", ["users", "list"]),
      ("auditor", ["plans"]),
      ("auditor", ["clinics"]), ("auditor", ["report", "usage"]), ("auditor", ["report", "summary"]),
      ("clinician", ["reviews", "list"]), ("clinician", ["report", "agreement"]),
      ("reviewer", ["reviews", "list"]), ("reviewer", ["jobs", "list"]), ("reviewer", ["batches", "list"]),
      ("reviewer", ["report", "calibration"]),
      ("reporter", ["report", "agreement"]), ("reporter", ["report", "calibration"]),
    ])
  func each(role: String, arguments: [String]) async throws {
    let ran = try await run(role) { _, _ in arguments }
    // The server of all tests is fast rather than durable, which doctor finds wrong.
    #expect(ran.code == (arguments == ["doctor"] ? .jobFailed : .done), "\(ran.messages)")
  }

  @Test("An operator cancels, and retries what is dead; an administrator takes over profiles")
  func changes() async throws {
    let cancelled = try await run("operator") { ["jobs", "cancel", $1] }
    #expect(cancelled.code == .refused, "\(cancelled.messages)")  // it has ended
    let retried = try await run("operator") { _, _ in ["jobs", "retry", "--state", "dead"] }
    #expect(retried.code == .nothingToDo, "\(retried.messages)")
    let closed = try await run("reporter") { _, _ in ["month", "close", "--due", "--yes"] }
    #expect(closed.code == .nothingToDo, "\(closed.messages)")
    let purged = try await run("retention") { _, _ in ["purge", "--yes"] }
    #expect(purged.code == .nothingToDo, "\(purged.messages)")
    let files = try TemporaryFolder()
    let exported = try await run("privacy") { _, _ in ["users", "export", "u1", "--out", files.path("u1")] }
    #expect(
      exported.code == .done && exported.output.hasPrefix("1 jobs and 1 images of u1"), "\(exported.messages)"
    )
    try files.write(
      #"{"id": "u9", "email": "e@example.org", "subscription": "premium"}"#, to: "profiles.json")
    let imported = try await run("administrator") { _, _ in ["users", "import", files.path("profiles.json")] }
    #expect(imported.code == .done && imported.output == "created u9\n", "\(imported.messages)")
  }

  @Test(
    "What is another role's is refused with 77, and names the role and who may, or that nobody may",
    arguments: [
      ("worker", ["users", "list"]), ("worker", ["jobs", "list"]), ("worker", ["report", "usage"]),
      ("submitter", ["pause"]), ("submitter", ["jobs", "list"]), ("submitter", ["users", "add", "u2"]),
      ("submitter", ["reconcile"]), ("submitter", ["batches", "retry", "B1", "--yes"]),
      ("clinician", ["batches", "cancel", "B1", "--yes"]), ("worker", ["batches", "list"]),
      ("submitter", ["plans", "set-limit", "free", "9"]), ("reporter", ["plans", "add", "pro", "9"]),
      ("reporter", ["plans", "set-price", "free", "0", "EUR"]), ("auditor", ["statement", "--user", "u1"]),
      ("retention", ["settings", "set", "keep_images", "1 hour", "--yes"]),
      ("submitter", ["report", "usage"]),
      ("reporter", ["report", "analyses"]), ("reporter", ["users", "show", "u1"]),
      ("reporter", ["jobs", "list"]),
      ("reporter", ["status"]), ("reporter", ["clinics", "add", "north"]),
      ("reporter", ["clinics", "set", "north", "--kind", "both"]),
      ("reporter", ["clinics", "show", "north"]),
      ("auditor", ["pause"]), ("auditor", ["users", "show", "u1"]), ("auditor", ["report", "analyses"]),
      ("auditor", ["month", "close", "2024-01", "--yes"]),
      ("auditor", ["month", "close", "--due", "--dry-run"]),
      ("operator", ["month", "close", "--due", "--yes"]), ("submitter", ["month"]),
      ("auditor", ["clinics", "grant", "x", "--all"]),
      ("operator", ["users", "add", "u2"]), ("operator", ["report", "analyses"]),
      ("operator", ["erase", "--user", "u1", "--confirm", "u1"]), ("administrator", ["purge", "--yes"]),
      ("retention", ["status"]), ("gateway", ["jobs", "list"]),
      ("gateway", ["users", "token", "list", "u1"]),
      ("administrator", ["share", "accept", "S1"]),
      ("clinician", ["share", "request", "u1", "--carer", "u2"]),
      ("privacy", ["jobs", "list"]), ("privacy", ["purge", "--yes"]), ("reporter", ["audit", "list"]),
      ("administrator", ["pause"]), ("administrator", ["report", "analyses"]),
      ("administrator", ["jobs", "list"]), ("operator", ["reviews", "list"]),
      ("reporter", ["reviews", "add", "1", "--verdict", "agree"]), ("auditor", ["report", "agreement"]),
    ])
  func others(role: String, arguments: [String]) async throws {
    let ran = try await run(role) { _, _ in arguments }
    #expect(ran.code == .permission, "\(ran.output) \(ran.messages)")
    #expect(ran.messages.contains("needs the role analysis_"), "\(ran.messages)")
    #expect(ran.messages.contains(/Who may:|No login has it:/), "\(ran.messages)")
    for word in ["permission denied", "function", "table", "GRANT"] {
      #expect(!ran.messages.contains(word), "\(ran.messages)")
    }
  }

  /// How a command of the table is called; what would change the rest of the test is only rehearsed.
  private static func arguments(
    _ command: String, _ files: TemporaryFolder, job: String, key: String, as role: DatabaseRole
  )
    -> [String]
  {
    let keys = ["--key-file", files.path("image.keys")]
    // Nobody answers there: what is asked of the database is asked before.
    let endpoint = ["--endpoint", "http://127.0.0.1:9", "--credentials", files.path("account")]
    let account = endpoint + ["--user", "u1"]
    let rest: [String: [String]] = [
      "account login": account, "account profile": account, "account register": account + ["--name", "N"],
      "account save": [job] + endpoint, "account subscribe": ["free"] + account, "account sync": account,
      "audit keep": ["--audit-ends", files.path("audit-ends")],
      "batches cancel": ["B1", "--yes"], "batches retry": ["B1", "--yes"], "batches show": ["B1"],
      "batches wait": ["B1"], "batches watch": ["B1"],
      "clinics add": ["north"], "clinics assign": ["u1", "--none"], "clinics grant": ["nobody", "north"],
      "clinics revoke": ["nobody", "north"], "clinics set": ["north", "--kind", "both"],
      "clinics show": ["north"],
      "images migrate": ["--to", "database", "--image-store", files.path("store")],
      "erase": ["--user", "u1", "--dry-run"], "jobs cancel": [job],
      "jobs retry": [job], "jobs show": [job], "keys list": keys,
      "jobs uncancel": [job],
      "keys remove": ["--at-once", "--yes", key] + keys, "month close": ["2024-01", "--yes"],
      "products apply": ["--products", files.path("products-\(role.rawValue)")], "purge": ["--yes"],
      "keys rotate": keys, "plans set-limit": ["free", "9"],
      "plans add": ["pro-\(role.rawValue)", "9"],
      "plans set-price": ["free", "1", "EUR", "--from", "2099-01-01", "--replace"],
      "statement": ["--user", "u1", "--month", "current"],
      "reviews add": [job, "--verdict", "agree"], "reviews comment": [job, "Clear."],
      "settings set": ["keep_images", "90 days", "--dry-run"],
      "submit": ["--user", "u1", "--type", "ear", files.path("p1.png")], "users add": ["u2"],
      "users export": ["u1", "--out", files.path("export-\(role.rawValue)")],
      "users import": [files.path("profiles.json")], "users rename": ["nobody", "somebody", "--yes"],
      "users prefetch-photos": ["--url-cache", files.path("cache"), "--url-hosts", "x.example.org"] + keys,
      "users set-photo": ["u1", "--remove"], "users set-plan": ["u1", "premium"],
      "users set-period": ["u1", "--anchor", "15"], "users set-zone": ["u1", "UTC"],
      "share accept": ["S1"], "share request": ["u1", "--carer", "u2"], "share revoke": ["S1"],
      "users code": ["u1"], "users token add": ["u1"], "users token list": ["u1"],
      "users token revoke": ["u1", "--all"],
      "users show": ["u1"], "watch": ["--since", "1h", "--count", "1"],
      "webhooks add": ["https://r.example.org/", "--user", "u1"] + keys, "webhooks remove": ["W1", "--yes"],
      "webhooks replay": ["W1", "--failed"], "webhooks test": ["W1", "--timeout", "0s"],
    ]
    return command.split(separator: " ").map(String.init) + (rest[command] ?? [])
  }

  @Test("Who may run which command is as roles check says, for every command and every role")
  func table() async throws {
    try await withClaimedJob(plan: "premium") { (queue, files, claimed) async throws in
      try files.write(
        #"{"id": "u9", "email": "e@example.org", "subscription": "premium"}"#, to: "profiles.json")
      try files.write("", to: "audit-ends")
      try files.write("address = http://127.0.0.1:9/images\naccess-key = k\nsecret-key = s\n", to: "store")
      try files.write("email = e@example.org\npassword = p\n", to: "account")
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: files.path("account"))
      #expect(await queue.control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      try await queue.complete(claimed)
      let job = "\(claimed.id)"
      for role in DatabaseRole.allCases {
        try files.write("name = P\n", to: "products-\(role.rawValue)/p-\(role.rawValue).conf")
        let control = try await queue.direct(as: role.rawValue).control
        // One that is not the current key any more.
        let made = await queue.control("keys", "new", "--json", "--key-file", files.path("image.keys"))
        let key = try #require(made.output.firstMatch(of: /"keys":\["([0-9a-f]{16})"/).map { String($0.1) })
        let allowed = CommandRoles.commands(for: [role])
        // Doctor says of each check whether this login may look, and is refused to nobody. What serves does not end by
        // itself: ServeProcessTests starts it as each role.
        for entry in CommandRoles.all where !["doctor", "serve"].contains(entry.command) {
          let ran = await control.run(Self.arguments(entry.command, files, job: job, key: key, as: role))
          #expect(
            (ran.code == .permission) == !allowed.contains(entry.command),
            "\(role) \(entry.command): \(ran.code) \(ran.messages)")
          #expect(ran.code != .usage, "\(entry.command): \(ran.messages)")
          #expect(!ran.messages.contains("GRANT"), "\(role) \(entry.command): \(ran.messages)")
        }
      }
    }
  }

  @Test("Every command that asks the database is in the table")
  func complete() {
    func names(_ command: Command, _ above: [String]) -> [String] {
      let path = above + [command.name]
      let own = command.run == nil ? [] : [path.dropFirst().joined(separator: " ")]
      return own + command.subcommands.flatMap { names($0, path) }
    }
    let others = [
      "account delete", "account history", "keys new", "products check", "products list", "roles setup",
    ]
    #expect(
      Set(names(ControlProgram.root(), [])) == Set(CommandRoles.all.map(\.command)).union(others))
  }
}
