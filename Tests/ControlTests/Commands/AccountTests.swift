import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import StandIn

@Suite("analysisctl account, against an endpoint in both of its dialects")
struct AccountTests {
  private static let password = "correct horse battery"

  /// An endpoint without accounts, and the options that name it and an account.
  private struct Endpoint {
    let server: EndpointServer
    let files: TemporaryFolder
    let dialect: String

    init(_ dialect: EndpointConfiguration.Dialect, limit: Int? = nil) throws {
      var configuration = EndpointConfiguration()
      configuration.dialect = dialect
      configuration.limitPerUser = limit
      server = try EndpointServer(configuration)
      files = try TemporaryFolder()
      self.dialect = dialect == .guide ? "guide" : "server"
      try account("person@example.org", AccountTests.password)
    }

    func account(_ email: String, _ password: String) throws {
      try files.write("email = \(email)\npassword = \(password)\n", to: "account")
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: files.path("account"))
    }

    var options: [String] {
      ["--endpoint", server.baseURL, "--dialect", dialect, "--credentials", files.path("account")]
    }

    /// Runs `analysisctl account`; no password stands in what it says.
    func run(_ control: Control, _ arguments: String...) async -> Control.Ran {
      let ran = await control.run(["account"] + arguments + options)
      #expect(!(ran.output + ran.messages).contains(AccountTests.password))
      return ran
    }
  }

  private static let dialects: [EndpointConfiguration.Dialect] = [.guide, .server]

  @Test(
    "log-in offers to register an account that is not there; neither needs a database", arguments: dialects)
  func login(dialect: EndpointConfiguration.Dialect) async throws {
    let endpoint = try Endpoint(dialect)
    defer { endpoint.server.stop() }
    var control = Control(database: "host=/nonexistent")
    let refused = await endpoint.run(control, "login")
    #expect(refused.code == .refused)
    #expect(refused.messages.contains("the password may be wrong, or there may be no such account"))
    #expect(refused.messages.contains("--register --name NAME"))
    control.typed = "no"
    #expect(await endpoint.run(control, "login", "--name", "N").code == .refused)
    control.typed = nil
    #expect(await endpoint.run(control, "login", "--register").code == .usage, "it needs a name")
    control.typed = "yes"
    let made = await endpoint.run(control, "login", "--name", "N", "--json")
    #expect(made.code == .done, "\(made.messages)")
    #expect(
      made.output.hasPrefix(#"{"account":"user-1","subscription":"free","analysis_count":"#)
        && made.output.contains(#""done":"registered""#), "\(made.output)")
    #expect(!made.output.contains("person@"))
    control.typed = nil
    let known = await endpoint.run(control, "login")
    #expect(
      known.code == .done
        && known.output.hasPrefix("account           user-1\nsubscription      Basic (free)\n")
        || known.output.hasPrefix("account       user-1\nsubscription  Basic (free)\n"), "\(known.output)")

    // A wrong password: nothing is registered in its place.
    try endpoint.account("person@example.org", "wrong")
    let wrong = await endpoint.run(control, "login", "--register", "--name", "N")
    #expect(wrong.code == .refused)
    #expect(wrong.messages.contains("put its password into the credentials file"))
    let again = await endpoint.run(control, "register", "--name", "N")
    #expect(again.code == .refused)
    #expect(await endpoint.run(control, "history").code == .permission)
  }

  @Test("profile, subscription, history and deletion", arguments: dialects)
  func account(dialect: EndpointConfiguration.Dialect) async throws {
    try await withQueue { (queue) async throws in
      let endpoint = try Endpoint(dialect)
      defer { endpoint.server.stop() }
      var control = queue.control
      try await queue.addUser("u1", plan: "free")
      let registered = await endpoint.run(control, "register", "--name", "Before", "--user", "u1")
      #expect(registered.code == .done, "\(registered.messages)")
      #expect(registered.output.contains("name of u1: nothing, now Before\n"))
      #expect(registered.output.contains("email of u1: nothing, now person@example.org\n"))
      let nobody = await endpoint.run(control, "login", "--user", "nobody")
      #expect(nobody.code == .refused && nobody.messages.contains("there is no user nobody"))

      let shown = await endpoint.run(control, "profile")
      #expect(shown.code == .done && shown.output.contains("Before\n"), "\(shown.messages)")
      // What bills stays as it is: the plan here is not the one there.
      #expect(await control("users", "set-plan", "u1", "premium").code == .done)
      let changed = await endpoint.run(
        control, "profile", "--user", "u1", "--name", "After", "--email", "new@example.org", "--birthday",
        "1980-05-31", "--gender", "x", "--address", "Street 1")
      #expect(changed.code == .done, "\(changed.messages)")
      #expect(changed.output.contains("name of u1: Before, now After\n"))
      #expect(changed.output.contains("birthday of u1: nothing, now 1980-05-31\n"))
      #expect(changed.messages.contains("The credentials file has the former e-mail address"))
      #expect(
        changed.messages.contains(
          "The plan of u1 is premium here and free at the endpoint: analysisctl account sync")
      )
      #expect(await control("users", "show", "u1").output.contains("Premium (premium)"))
      #expect(await control("users", "set-plan", "u1", "free").code == .done)
      #expect(await endpoint.run(control, "login").code == .refused)
      try endpoint.account("new@example.org", Self.password)
      #expect(await endpoint.run(control, "login").code == .done)
      let local = await control("account", "profile", "--user", "u1", "--gender", "")
      #expect(local.output == "gender of u1: x, now nothing\n", "\(local.messages)")
      let future = await control("account", "profile", "--user", "u1", "--birthday", "2600-01-01")
      #expect(future.code == .refused && future.messages.contains("The birthday is not a day from 1850"))

      control.input = Array("tok-1\n".utf8)
      let premium = await endpoint.run(
        control, "subscribe", "premium", "--payment-token", "-", "--user", "u1")
      #expect(premium.code == .done, "\(premium.messages)")
      #expect(premium.output.contains("plan of u1: free, now premium\n"))
      #expect(await control("users", "show", "u1").output.contains("Premium (premium)"))

      // A result of ours is kept there, listed with its band, and deleted.
      let files = try TemporaryFolder()
      try files.write(TinyPicture.png(grey: 1), to: "p1.png")
      let submitted = await control("submit", "--user", "u1", "--type", "throat", files.path("p1.png"))
      #expect(submitted.code == .done, "\(submitted.messages)")
      let job = try #require(try await queue.claimJobs().first)
      let early = await endpoint.run(control, "save", "\(job.id)")
      #expect(early.code == .refused && early.messages.contains("has no analysis"))
      try await queue.complete(job)
      let saved = await endpoint.run(control, "save", "\(job.id)", "--json")
      #expect(saved.code == .done && saved.output.contains(#""analysis":"saved-1""#), "\(saved.messages)")
      #expect(try await queue.entries().contains { $0.action == "read_result" })
      let history = await endpoint.run(Control(database: "host=/nonexistent"), "history")
      #expect(history.code == .done, "\(history.messages)")
      try #require(history.lines.count == 2)
      #expect(history.lines[1].hasPrefix("saved-1   throat  "), "\(history.output)")
      #expect(history.lines[1].hasSuffix("Tonsillitis         79%  orange"), "\(history.output)")
      let deleted = await endpoint.run(control, "delete", "saved-1", "saved-9", "--yes")
      #expect(deleted.code == .refused)
      #expect(deleted.lines.first == "deleted saved-1")
      #expect(deleted.lines.last?.hasPrefix("refused saved-9: ") == true, "\(deleted.output)")
      #expect(await endpoint.run(control, "history").output == "No analyses.\n")
    }
  }

  @Test(
    "sync says what differed and takes it over; nothing is code 5; a limit is the plan's", arguments: dialects
  )
  func sync(dialect: EndpointConfiguration.Dialect) async throws {
    try await withQueue { (queue) async throws in
      let endpoint = try Endpoint(dialect, limit: 2)
      defer { endpoint.server.stop() }
      var control = queue.control
      try await queue.addUser("u1", plan: "premium")
      #expect(await endpoint.run(control, "register", "--name", "N").code == .done)
      let rehearsed = await endpoint.run(control, "sync", "--user", "u1", "--dry-run")
      #expect(rehearsed.code == .done, "\(rehearsed.messages)")
      #expect(rehearsed.output.contains("plan of u1: premium, would be free\n"))
      #expect(rehearsed.output.hasSuffix("Nothing was changed.\n"))
      #expect(await control("users", "show", "u1").output.contains("Premium (premium)"))
      // A plan is changed by who says yes, and by nobody else.
      let unasked = await endpoint.run(control, "sync", "--user", "u1")
      #expect(unasked.code == .usage && unasked.messages.contains("--yes"), "\(unasked.messages)")
      control.typed = "no"
      let declined = await endpoint.run(control, "sync", "--user", "u1")
      #expect(declined.code == .refused, "\(declined.messages)")
      #expect(
        declined.messages.contains("plan of u1: premium, would be free\nChange it?"), "\(declined.messages)")
      #expect(await control("users", "show", "u1").output.contains("Premium (premium)"))
      control.typed = "yes"
      let synced = await endpoint.run(control, "sync", "--user", "u1")
      control.typed = nil
      #expect(synced.output.contains("plan of u1: premium, now free\n"))
      #expect(synced.output.contains("count of u1: nothing, now 0\n"))
      #expect(await control("users", "show", "u1").output.contains("Basic (free)"))
      // Only one dialect says the limit.
      let isTold = dialect == .server
      #expect(
        synced.output.contains("limit of plan free: 5 here, 2 at the endpoint; analysisctl plans set-limit")
          == isTold, "\(synced.output)")
      let limited = await endpoint.run(control, "sync", "--user", "u1", "--set-limit", "--yes", "--json")
      #expect(limited.code == (isTold ? .done : .nothingToDo), "\(limited.messages)")
      #expect(limited.output.contains(#""changes":[]"#))
      let last = await endpoint.run(control, "sync", "--user", "u1")
      #expect(last.code == .nothingToDo && last.output == "Nothing differs.\n")
      #expect(try await queue.entries().contains { $0.action == "set_limit" } == isTold)
    }
  }

  @Test("an endpoint that is not there is code 69, one that answers pages 69 with advice")
  func unreachable() async throws {
    let endpoint = try Endpoint(.server)
    defer { endpoint.server.stop() }
    let control = Control(database: "host=/nonexistent")
    let away = await control(
      "account", "login", "--endpoint", "http://127.0.0.1:9", "--credentials", endpoint.files.path("account"))
    #expect(away.code == .unreachable, "\(away.messages)")
    #expect(await endpoint.run(control, "register", "--name", "N").code == .done)
    // The other dialect's path is a page there.
    let wrong = await control(
      "account", "history", "--endpoint", endpoint.server.baseURL, "--dialect", "guide", "--credentials",
      endpoint.files.path("account"))
    #expect(wrong.code == .unreachable && wrong.messages.contains("--dialect"), "\(wrong.messages)")
  }
}
