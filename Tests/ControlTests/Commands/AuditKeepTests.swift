import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl audit keep and --audit-ends, against a server")
struct AuditKeepTests {
  /// A database, and a folder with a file to which ends are appended.
  private func with(
    _ body: (_ queue: QueueFixture, _ control: Control, _ files: TemporaryFolder) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["ends": []])
      var control = queue.control
      control.environment["ANALYSIS_AUDIT_ENDS"] = files.path("ends")
      try await body(queue, control, files)
    }
  }

  private func ends(_ files: TemporaryFolder) throws -> [String] {
    try files.text("ends").split(separator: "\n").map(String.init)
  }

  @Test("each command that moved the end appends it, and one that did not appends nothing")
  func commands() async throws {
    try await with { _, control, files in
      #expect(await control("users", "list").code == .done)
      #expect(try ends(files) == [])
      #expect(await control("pause", "--type", "ear").code == .done)
      #expect(await control("settings", "set", "keep_images", "90 days", "--yes").code == .done)
      #expect(await control("settings").code == .done)
      #expect(await control("resume", "--type", "ear").code == .done)
      let entries = try ends(files).map { $0.split(separator: " ")[2].prefix { $0 != ":" } }
      #expect(entries == ["1", "2", "3"])
      // What was recorded by SQL is kept by the command alone.
      let kept = await control("audit", "keep")
      #expect(kept.code == .done)
      #expect(kept.output == "Kept the end of the audit, entry 3, in \(files.path("ends")).\n")
      #expect(try ends(files).count == 4)
      let json = await control("audit", "keep", "--json")
      #expect(json.output.contains(#""end":"3:"#), "\(json.output)")
    }
  }

  @Test("an end that cannot be kept is reported with 8, and what the command did is done")
  func notKept() async throws {
    try await with { queue, control, files in
      try files.remove("ends")
      let paused = await control("pause", "--type", "ear")
      #expect(paused.code == .endNotKept, "\(paused.messages)")
      #expect(paused.output.contains("ear"), "\(paused.output)")
      #expect(
        paused.messages.contains("has done its work, but the end of the audit could not be kept (audit-ends)")
      )
      #expect(paused.messages.contains(files.path("ends")), "\(paused.messages)")
      #expect(try await queue.count("pause") == 1)
      #expect(!FileManager.default.fileExists(atPath: files.path("ends")))
      // Another code than 0 stays what it is.
      let refused = await control("users", "set-plan", "nobody", "free")
      #expect(refused.code == .refused, "\(refused.messages)")
      #expect(await control("audit", "keep").code == .usage)
      #expect(await queue.control("audit", "keep").code == .usage)
      try files.write("", to: "ends", mode: 0o666)
      #expect(await control("audit", "keep").code == .permission)
    }
  }

  @Test("says what is not chained yet, of which the end does not tell")
  func unchained() async throws {
    try await with { queue, control, files in
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { role in
        var own = queue.acting(as: role).control
        own.environment["ANALYSIS_AUDIT_ENDS"] = files.path("ends")
        #expect(await control("audit", "keep").lines.count == 1)
        #expect(await own("pause", "--type", "ear").code == .done)
        let kept = await own("audit", "keep")
        #expect(kept.code == .done, "\(kept.messages)")
        #expect(
          kept.output.contains("1 entry is not chained yet, the oldest for "),
          "\(kept.output)")
        #expect(await own("resume", "--type", "ear").code == .done)
        #expect(await own("audit", "keep").output.contains("\n2 entries are not chained yet"))
        #expect(await own("audit", "keep", "--json").output.contains(#""unchained":2"#))
        // The owner chains them first.
        #expect(await control("audit", "keep").lines.count == 1)
        #expect(await control("audit", "keep", "--json").output.contains(#""unchained":0"#))
      }
    }
  }

  @Test("verify compares with all ends that one user kept, and says when there is none")
  func verify() async throws {
    try await with { queue, control, files in
      let (path, user) = (files.path("ends"), "\(geteuid())")
      let none = await control("audit", "verify", "--expect-from", path, "--audit-ends-user", user)
      #expect(none.code == .jobFailed)
      #expect(
        none.output.contains("no end of this installation was kept there by that user"), "\(none.output)")
      for type in ["ear", "throat"] { #expect(await control("pause", "--type", type).code == .done) }
      let whole = await control("audit", "verify", "--expect-from", path, "--audit-ends-user", user)
      #expect(whole.code == .done, "\(whole.output)")
      #expect(whole.lines.last?.hasPrefix("Compared with 2 kept ends; the last is of 20") == true)
      #expect(whole.lines.last?.hasSuffix(", at entry 2.") == true)
      let json = await control("audit", "verify", "--json", "--expect-from", path, "--audit-ends-user", user)
      #expect(json.output.contains(#""kept":{"ends":2,"last":"2:"#), "\(json.output)")

      let words = ["audit", "verify", "--expect-from", path]
      #expect(await control.run(words).code == .usage)
      #expect(await control.run(words + ["--audit-ends-user", "no-such-user"]).code == .usage)
      let other = await control.run(words + ["--audit-ends-user", "\(geteuid() + 1)"])
      #expect(other.code == .permission && other.output == "", "\(other.messages)")
      #expect(await control("audit", "verify", "--expect-from", "journal:?").code == .usage)

      try files.write(try files.text("ends") + "no end\n", to: "ends")
      try await queue.execute(
        """
        SET session_replication_role = replica;
        DELETE FROM analysis.audit WHERE id = 2;
        UPDATE analysis.audit_head h SET id = 1, hash = a.hash FROM analysis.audit a WHERE a.id = 1;
        SET session_replication_role = DEFAULT
        """)
      #expect(await control("audit", "verify").code == .done)
      let cut = await control.run(words + ["--audit-ends-user", user])
      #expect(cut.code == .jobFailed)
      #expect(cut.output.contains("entry 2: the entry was kept on 20"), "\(cut.output)")
      #expect(cut.messages == "Passed over 1 lines that are no ends of an audit.\n")
    }
  }

  @Test("list --by-role looks at the role that the server saw, and --by at what the client said too")
  func byRole() async throws {
    try await with { queue, _, _ in
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { role in
        // A client that gives itself the name of another's role.
        try await queue.execute(
          "BEGIN; SELECT analysis.act_as('\(role)', 'x', NULL); SELECT analysis.resume('all', ''); SELECT analysis.pause('all', '', NULL, NULL); COMMIT"
        )
        #expect(await queue.acting(as: role).control("resume").code == .done)
        func actions(_ words: String...) async -> [String] {
          await queue.control.run(["audit", "list", "--json"] + words).output
            .matches(of: /"action":"([a-z]+)"/).map { String($0.output.1) }
        }
        #expect(await actions("--by", role) == ["resume", "pause"])
        #expect(await actions("--by-role", role) == ["resume"])
        #expect(await actions("--by-role", "olga") == [])
        #expect(await actions("--by", "olga") == ["resume"])
      }
    }
  }

  @Test("a login that has made its entries of the minute gets code 75, and tries again later")
  func limited() async throws {
    try await with { queue, _, _ in
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { role in
        let control = queue.acting(as: role).control
        #expect(await control("pause").code == .done)
        // Whoever chains gives each login its counter.
        try await queue.execute("SELECT analysis.chain_audit(100, true)")
        let minute = "SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::bigint"
        var ran: Control.Ran
        var before: Int
        // Within one minute of the server's clock: the next counts anew.
        repeat {
          before = try await queue.number(minute)
          try await queue.execute(
            "SELECT setval(format('analysis.audit_count_%s', '\(role)'::regrole::oid)::regclass, (\(before)::bigint << 24) + 600)"
          )
          ran = await control("pause", "--type", "ear")
        } while try await queue.number(minute) != before
        #expect(ran.code == .tryLater && ran.output == "", "\(ran.messages)")
        #expect(ran.messages.contains("login \(role) has made 600 entries of the audit in this minute"))
        #expect(ran.messages.contains("Do it again in the next minute."), "\(ran.messages)")
      }
    }
  }
}
