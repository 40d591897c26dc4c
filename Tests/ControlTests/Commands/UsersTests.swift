import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl users and plans, against a server")
struct UsersTests {
  @Test("add, show and list; a second add changes nothing and is code 5")
  func add() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      let added = await control(
        "users", "add", "u1", "--plan", "free", "--zone", "Asia/Jakarta", "--name", "N N")
      #expect(added.code == .done)
      #expect(added.output == "added user u1\n")
      let again = await control("users", "add", "u1", "--plan", "premium")
      #expect(again.code == .nothingToDo)
      let shown = await control("users", "show", "u1")
      #expect(shown.output.contains("plan       Basic (free)\nzone       Asia/Jakarta\n"))
      #expect(shown.output.contains("name       N N\n"))
      #expect(await control("users", "add", "u2").code == .done)
      let list = await control("users", "list", "--limit", "1")
      #expect(list.lines.count == 2 && list.lines[1].hasPrefix("u1 "))
      #expect(list.messages == "There may be more: --after u1\n")
      #expect(await control("users", "list", "--after", "u1").lines[1].hasPrefix("u2 "))
    }
  }

  @Test("what is unknown is refused with code 4, a zone that is none with 64")
  func unknown() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("users", "add", "u1", "--plan", "gold").code == .refused)
      #expect(await control("users", "add", "u1", "--zone", "Mars/Phobos").code == .usage)
      #expect(await control("users", "show", "u1").code == .refused)
      #expect(await control("users", "set-plan", "u1", "free").code == .refused)
      #expect(await control("users", "set-zone", "u1", "UTC").code == .refused)
      #expect(await control("plans", "set-limit", "gold", "1").code == .refused)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.account") == 0)
    }
  }

  @Test("set-plan and set-zone")
  func set() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      try await queue.addUser("u1", plan: "free")
      let plan = await control("users", "set-plan", "u1", "premium", "--from", "2020-01-01T00:00:00Z")
      #expect(plan.output == "plan of u1: premium from 2020-01-01 00:00:00Z\n")
      let zone = await control("users", "set-zone", "u1", "Europe/Berlin", "--json")
      #expect(zone.output == #"{"user":"u1","zone":"Europe/Berlin","from":null}"# + "\n")
      let shown = await control("users", "show", "u1")
      #expect(shown.output.contains("plan       Premium (premium)\nzone       Europe/Berlin\n"))
    }
  }

  @Test(
    "a user with an anchor, and another one later; what has begun is refused, what changes nothing is code 5")
  func anchors() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("users", "add", "u1", "--anchor", "15", "--zone", "Etc/GMT-7").code == .done)
      let shown = await control("users", "show", "u1")
      #expect(shown.output.contains("anchor     15\n"), "\(shown.output)")
      #expect(shown.output.contains("-15T00:00:00+07:00\nresets     "), "\(shown.output)")
      #expect(await control("users", "set-period", "u1", "--anchor", "15").code == .nothingToDo)
      _ = try await queue.create([Ask("u1")])
      let month = try await queue.texts(
        "SELECT analysis.period_text(analysis.period_at(now(), zone, anchors)) FROM analysis.account")[0]
      let refused = await control("users", "set-period", "u1", "--anchor", "31", "--from", month)
      #expect(refused.code == .refused)
      #expect(refused.messages.contains("months until \(month) have begun"), "\(refused.messages)")
      let set = await control("users", "set-period", "u1", "--anchor", "1", "--reason", "asked for", "--json")
      #expect(set.code == .done)
      #expect(set.output.contains(#""anchor":1,"#) && set.output.contains(#""changed":true"#))
      #expect(await control("users", "show", "u1").output.contains("anchor     15, from 20"))
      #expect(await control("users", "set-period", "u2", "--anchor", "2").code == .refused)
      #expect(
        try await queue.entries().map { "\($0.action) \($0.object)" } == [
          "add_user user:1", "set_period user:1", "set_period user:1",
        ])
    }
  }

  @Test("import: an answer, an array, or lines; a bad line is named, the others taken, code 4")
  func imported() async throws {
    try await withQueue { (queue) async throws in
      var control = queue.control
      control.input = Array(
        """
        {"user": {"id": "u1", "email": "secret@example.org", "name": "Secret Name", "subscription": "premium"}}

        {"id": 7, "subscription": "gold"}
        {"id":
        {"id": "u3"}
        """.utf8)
      let ran = await control("users", "import")
      #expect(ran.code == .refused)
      #expect(ran.lines.count == 4)
      #expect(ran.lines[0] == "created u1")
      #expect(ran.lines[1].hasPrefix("refused 7: There is no plan gold."))
      #expect(ran.lines[2].hasPrefix("refused line 4: "))
      #expect(ran.lines[3] == "created u3")
      #expect(!(ran.output + ran.messages).contains("ecret"))

      let files = try TemporaryFolder()
      try files.write(#"[{"id": "u1", "subscription": "free"}, {"user": {"id": "u4"}}]"#, to: "all.json")
      let second = await queue.control("users", "import", files.path("all.json"))
      #expect(second.code == .done)
      #expect(second.output == "updated u1\ncreated u4\n")
      // What bills stays as it is: the answer says what the endpoint bills.
      #expect(await queue.control("users", "show", "u1").output.contains("Premium (premium)"))
      #expect(
        second.messages.contains(
          "The plan of u1 is premium here and free in the answer: analysisctl users set-plan changes it."),
        "\(second.messages)")
      let dry = await queue.control("users", "import", files.path("all.json"), "--dry-run")
      #expect(!dry.output.contains("plan"), "\(dry.output)")
      var empty = queue.control
      empty.input = []
      #expect(await empty("users", "import", "-").code == .nothingToDo)
    }
  }

  @Test("plans, and a limit from a moment on")
  func plans() async throws {
    try await withQueue { (queue) async throws in
      let ran = await queue.control("plans", "set-limit", "free", "2", "--from", "2090-01-01T00:00:00Z")
      #expect(ran.code == .done)
      #expect(ran.output.contains("free     Basic                2  2090-01-01 00:00:00Z  no\n"))
      #expect(await queue.control("plans", "set-limit", "free", "unlimited").code == .done)
      let list = await queue.control("plans", "list", "--json")
      #expect(
        list.output.contains(#""plan":"free","name":"Basic","cost":1000,"limit":null,"unlimited":true"#))
      #expect(await queue.control("plans").code == .done)
    }
  }
}
