import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("analysisctl reviews, against a server")
struct ReviewsTests {
  /// An analysed job of user u1, and one that waits; the program of a clinician's login.
  private func with(
    _ body: (_ queue: QueueFixture, _ control: Control, _ job: String, _ login: String) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let job = try #require(try await queue.submit([Ask("u1", image: "a")])[0].job)
      try await queue.complete(try await queue.claimJobs()[0])
      try await withLoginRole(on: queue.pool, named: "dr", in: ["analysis_clinician"]) { login in
        try await body(queue, queue.acting(as: login).control, "\(job)", login)
      }
    }
  }

  @Test("add, comment and list say what was done, in 80 columns and in JSON")
  func all() async throws {
    try await with { (queue, control, job, login) async throws in
      #expect(await control("reviews", "list").output == "No reviews.\n")
      let none = await control("reviews", "list", "--job", job)
      #expect(
        none.output.hasSuffix("found  Tonsillitis, 79%, orange\n\nNobody has reviewed it.\n"),
        "\(none.output)")
      let added = await control("reviews", "add", job, "--verdict", "agree")
      #expect(added.code == .done && added.output == "job \(job): agree\n", "\(added.messages)")
      let again = await control("reviews", "add", job, "--verdict", "agree")
      #expect(again.code == .nothingToDo && again.output == "job \(job): agree, as before\n")
      var typing = control
      typing.input = Array("Left: swollen.\nRight: blurred.\n".utf8)
      let changed = await typing("reviews", "add", job, "--verdict", "disagree", "--comment", "-")
      #expect(changed.output == "job \(job): disagree, changed from agree; comment 1 added\n")
      let commented = await control("reviews", "comment", job, "Again, please.", "--json")
      #expect(
        commented.output
          == #"{"job":"\#(job)","verdict":"disagree","instead":null,"before":"disagree","version":2,"comment":2,"changed":true}"#
          + "\n")

      var terminal = control
      terminal.outputTerminal = Terminal(isTerminal: true, width: 80)
      let list = await terminal("reviews", "list", "--verdict", "disagree", "--month", "current")
      #expect(list.lines.count == 2 && list.lines.allSatisfy { $0.count <= 80 }, "\(list.output)")
      #expect(list.output.contains("disagree") && list.output.contains(login))
      let thread = await terminal("reviews", "list", "--job", job)
      #expect(thread.lines.allSatisfy { $0.count <= 80 })
      #expect(
        thread.output.contains(
          """
          \(login): agree, changed later
          """), "\(thread.output)")
      #expect(thread.output.contains("\(login) wrote\n    Left: swollen.\n    Right: blurred.\n"))
      let json = await control("reviews", "list", "--job", job, "--json")
      #expect(json.output.contains(#""comment":"Left: swollen.\nRight: blurred.""#), "\(json.output)")
      #expect(json.output.contains(#""verdict":"agree","instead":null,"version":1,"replaced_at":"20"#))
      let disagree = ["reviews", "add", job, "--verdict", "disagree"]
      let other = await control.run(disagree + ["--instead", "Pharyngitis"])
      #expect(other.output == "job \(job): disagree, Pharyngitis instead, changed from disagree\n")
      let same = await control.run(disagree + ["--instead", "Pharyngitis", "--json"])
      #expect(
        same.code == .nothingToDo && same.output.contains(#""instead":"Pharyngitis""#), "\(same.output)")
      #expect(await control("reviews", "list").output.contains("Pharyngitis"))
      #expect(
        await control("reviews", "list", "--job", job).output.contains("disagree, Pharyngitis instead\n"))
      #expect(await control("reviews", "list", "--user", "u1", "--json").output.contains(#""comments":2"#))
    }
  }

  @Test("What is refused says why and with which code, stores nothing, and repeats no comment")
  func refused() async throws {
    try await with { (queue, control, job, login) async throws in
      let waiting = "\(try #require(try await queue.submit([Ask("u1", image: "b")])[0].job))"
      let add = ["reviews", "add", job, "--verdict", "agree"]
      for (arguments, code, words) in [
        (["reviews", "add", job], ExitCode.usage, "no verdict is given"),
        (["reviews", "add", job, "--verdict", "maybe"], .usage, "maybe"),
        (["reviews", "add", "x", "--verdict", "agree"], .usage, "is not a job's number"),
        (["reviews", "add", "987654321", "--verdict", "agree"], .refused, "There is no job 987654321"),
        (["reviews", "add", waiting, "--verdict", "agree"], .refused, "has no analysis"),
        (add + ["--comment", ""], .usage, "is empty"),
        (
          add + ["--comment", String(repeating: "confided", count: 501)], .usage, "more than 4000 characters"
        ),
        (["reviews", "comment", job, "-"], .usage, "the comment is empty"),
        (add + ["--instead", "confided"], .usage, "--instead goes with --verdict disagree alone"),
        (
          ["reviews", "add", job, "--verdict", "disagree", "--instead", ""], .usage,
          "the name of a condition is empty"
        ),
        (
          [
            "reviews", "add", job, "--verdict", "disagree", "--instead",
            String(repeating: "confided", count: 26),
          ],
          .usage, "more than 200 characters"
        ),
        (["reviews", "list", "--job", job, "--user", "u1"], .usage, "cannot be given together"),
        (["reviews", "list", "--job", "987654321"], .refused, "there is no job"),
        (["reviews", "list", "--after", "2026-10/1"], .usage, "--after is of another list"),
        (["report", "agreement", "--from", "2026-10"], .usage, "--from and --to are given together"),
        (["report", "agreement", "--from", "2026-10", "--to", "2026-09"], .usage, "is before"),
        (
          ["report", "calibration", "--from", "2010-01", "--to", "2026-09"], .usage,
          "more than the 120 months"
        ),
        (
          ["report", "calibration", "--month", "2026-10", "--from", "2026-10", "--to", "2026-10"], .usage,
          "cannot be given together"
        ),
      ] {
        let ran = await control.run(arguments)
        #expect(ran.code == code && ran.messages.contains(words), "\(arguments): \(ran.code) \(ran.messages)")
        #expect(!ran.messages.contains("confided"))
      }
      // One who sees another clinic only finds no such job.
      try await queue.execute(
        "SELECT analysis.add_clinic('south'), analysis.grant_clinics('\(login)', '{south}')")
      let unseen = await control.run(add + ["--comment", "confided"])
      #expect(unseen.code == .refused && unseen.messages.contains("may not see it"), "\(unseen.messages)")
      #expect(!unseen.messages.contains("confided"))
      #expect(try await queue.count("review") == 0)
      #expect(try await queue.count("review_comment") == 0)
      // Another role is refused as everywhere.
      try await withLoginRole(on: queue.pool, named: "ops", in: ["analysis_operator"]) { operations in
        let other = await queue.acting(as: operations).control.run(add)
        #expect(
          other.code == .permission && other.messages.contains("analysis_clinician"), "\(other.messages)")
      }
    }
  }

  @Test("A hostile comment moves no cursor and turns nothing round on a terminal")
  func hostile() async throws {
    try await with { (_, control, job, _) async throws in
      let hostile =
        "\u{1B}[31mred\u{1B}]0;title\u{7}\r\u{202E}desrever\n<b>&\u{9B}2J"
        + String(repeating: "x", count: 200)
      #expect(await control("reviews", "comment", job, hostile).code == .done)
      var terminal = control
      terminal.outputTerminal = Terminal(isTerminal: true, width: 80)
      let thread = await terminal("reviews", "list", "--job", job)
      #expect(
        thread.output.unicodeScalars.allSatisfy { $0 == "\n" || (" "..."~").contains($0) }, "\(thread.output)"
      )
      #expect(thread.lines.allSatisfy { $0.count <= 80 })
      #expect(thread.output.contains("<b>&"))
    }
  }

  @Test("The reports add up the verdicts, for a reporter too, and fit into 80 columns")
  func reports() async throws {
    try await with { (queue, control, job, _) async throws in
      _ = await control("reviews", "add", job, "--verdict", "agree")
      try await withLoginRole(on: queue.pool, named: "accounts", in: ["analysis_reporter"]) { accounts in
        for program in [control, queue.acting(as: accounts).control] {
          var terminal = program
          terminal.outputTerminal = Terminal(isTerminal: true, width: 80)
          let agreement = await terminal("report", "agreement")
          #expect(
            agreement.code == .done && agreement.lines.allSatisfy { $0.count <= 80 }, "\(agreement.output)")
          #expect(
            agreement.output.contains(
              "Tonsillitis  orange      1         0       0        1       100%  21%  100%"))
          let calibration = await terminal("report", "calibration", "--from", "2026-01", "--to", "current")
          #expect(calibration.lines.allSatisfy { $0.count <= 80 }, "\(calibration.output)")
          #expect(calibration.output.contains("20.0%"), "\(calibration.output)")
        }
      }
      // Who sees some clinics only reads one month, and is told so.
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) { north in
        try await queue.execute(
          "SELECT analysis.add_clinic('north'), analysis.grant_clinics('\(north)', '{north}')")
        let control = queue.acting(as: north).control
        for kind in ["agreement", "calibration"] {
          let months = await control("report", kind, "--from", "2026-01", "--to", "2026-02")
          #expect(
            months.code == .refused && months.messages.contains("reads reviews of one month at a time")
              && months.messages.contains("Ask for each month by itself"), "\(months.messages)")
          #expect(await control("report", kind, "--from", "2026-01", "--to", "2026-01").code == .done)
        }
      }
      let entries = try await queue.texts(
        "SELECT DISTINCT split_part(object, ':', 2) FROM analysis.audit_entry WHERE action = 'report' ORDER BY 1"
      )
      #expect(entries == ["agreement", "calibration"])
    }
  }

  @Test("Where a product has switched reviews off, they are refused by name")
  func product() async throws {
    try await with { (queue, control, job, _) async throws in
      let folder = try TemporaryFolder()
      try folder.write("name = Plain\nreviews = off\n", to: "plain.conf")
      let product = ["--products", folder.path, "--as-product", "plain"]
      for arguments in [
        ["reviews", "add", job, "--verdict", "agree"], ["reviews", "comment", job, "x"], ["reviews", "list"],
        ["report", "agreement"], ["report", "calibration"],
      ] {
        let ran = await control.run(arguments + product)
        #expect(
          ran.code == .refused && ran.messages.contains("feature reviews is off in product plain, by line 2"),
          "\(arguments): \(ran.messages)")
      }
      #expect(await control.run(["report", "usage"] + product).code == .permission)
      // So are those of a clinic's patients where its product has.
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'u1', 'north'),
          analysis.set_clinic('north', NULL, NULL, 'plain', NULL, NULL)
        """)
      for arguments in [
        ["reviews", "add", job, "--verdict", "agree"], ["reviews", "comment", job, "x"],
        ["reviews", "list", "--job", job],
      ] {
        let ran = await control.run(arguments + ["--products", folder.path])
        #expect(
          ran.code == .refused && ran.messages.contains("feature reviews is off in product plain"),
          "\(arguments): \(ran.messages)")
      }
      #expect(try await queue.count("review") == 0)
      #expect(await control("reviews", "add", job, "--verdict", "agree").code == .done)
    }
  }
}
