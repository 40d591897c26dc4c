import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl share, against a server")
struct ShareCommandTests {
  @Test("An office requests, the clinician accepts and reads with jobs show, and either ends it")
  func clinician() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let job = try await queue.create([Ask("u1")])[0]
      _ = try await queue.complete(try await queue.claim())
      try await withLogin("alice", of: ["clinician"], in: queue) { (login) async throws in
        let name = try await login.query("SELECT session_user::text").single().string(0)
        let office = queue.control
        var alice = queue.control
        alice.environment["ANALYSIS_DATABASE"]? += " user=\(name)"
        #expect(await office("clinics", "add", "north").code == .done)
        #expect(await office("clinics", "grant", name, "north").code == .done)
        #expect(await alice("jobs", "show", "\(job)").code == .refused)
        let requested = await office("share", "request", "u1", "--clinician", name, "--expires", "30d")
        #expect(requested.code == .done, "\(requested.messages)")
        #expect(
          requested.output == """
            requested share S1 of u1 with clinician \(name)
            The clinician accepts it: analysisctl share accept S1

            """)
        #expect(await alice("jobs", "show", "\(job)").code == .refused, "it is not accepted")
        #expect(await alice("share", "list", "--json").output.contains(#""state":"requested""#))
        #expect(await alice("share", "accept", "S1").output == "accepted share S1\n")
        let shown = await alice("jobs", "show", "\(job)")
        #expect(
          shown.code == .done && shown.output.contains("analysis   analysis"),
          "\(shown.output) \(shown.messages)")
        #expect(await alice("jobs", "list", "--user", "u1").output.contains("\(job)"))
        #expect(await alice("report", "analyses", "--format", "csv").output.contains("u1"))
        let list = await office("share", "list", "--user", "u1")
        #expect(list.lines.count == 2, "\(list.output)")
        #expect(list.output.contains("active"))
        #expect(await alice("share", "revoke", "S1", "--reason", "done").output == "revoked share S1\n")
        #expect(await alice("jobs", "show", "\(job)").code == .refused)
        #expect(await alice("share", "accept", "S1").code == .refused)
        let audit = await office("audit", "list", "--user", "u1", "--json")
        for word in ["request_share", "accept_share", "revoke_share", #""share":1"#] {
          #expect(audit.output.replacing(": ", with: ":").contains(word), "\(word): \(audit.output)")
        }
      }
    }
  }

  @Test("What cannot be is refused with its exit code, and nothing is left")
  func refused() async throws {
    try await withQueue { (queue) async throws in
      for user in ["u1", "u2"] { try await queue.addUser(user) }
      let control = queue.control
      for (words, code) in [
        (["request", "u1", "--carer", "u1"], .usage), (["request", "u1"], .usage),
        (["request", "u1", "--carer", "u2", "--clinician", "x"], .usage),
        (["request", "u1", "--carer", "nobody"], .refused),
        (["request", "nobody", "--carer", "u1"], .refused),
        (["request", "u1", "--clinician", "nobody"], .refused),
        (["request", "u1", "--carer", "u2", "--expires", "2020-01-01"], .refused),
        (["accept", "S1"], .refused), (["revoke", "S1"], .refused), (["revoke", "x"], .usage),
      ] as [([String], ExitCode)] {
        let ran = await control.run(["share"] + words)
        #expect(ran.code == code, "\(words): \(ran.code) \(ran.messages)")
      }
      #expect(try await queue.count("share") == 0)
      #expect(await control("share", "list").output == "No shares.\n")
      #expect(await control("share", "request", "u1", "--carer", "u2").output.contains("through the gateway"))
      #expect(await control("share", "request", "u1", "--carer", "u2").code == .refused, "twice")
    }
  }

  @Test("A product that has sharing off refuses it by name")
  func product() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      try files.write("name = Plain\nsharing = off\n", to: "plain.conf")
      var control = queue.control
      control.environment["ANALYSIS_PRODUCTS"] = files.path
      control.environment["ANALYSIS_PRODUCT"] = "plain"
      let ran = await control("share", "list")
      #expect(
        ran.code == .refused && ran.messages.contains("feature sharing is off in product plain"),
        "\(ran.messages)")
      // The clinic's product counts too.
      control.environment["ANALYSIS_PRODUCT"] = nil
      for words in [
        ["clinics", "add", "north"], ["clinics", "set", "north", "--product", "plain"],
        ["clinics", "assign", "u1", "north"],
      ] {
        #expect(await control.run(words).code == .done)
      }
      let asked = await control("share", "request", "u1", "--carer", "u2")
      #expect(
        asked.code == .refused && asked.messages.contains("feature sharing is off"), "\(asked.messages)")
    }
  }

  @Test("An export names the shares and not the other person")
  func export() async throws {
    try await withQueue { (queue) async throws in
      for user in ["u1", "neighbour"] { try await queue.addUser(user) }
      let control = queue.control
      #expect(await control("share", "request", "u1", "--carer", "neighbour").code == .done)
      let files = try TemporaryFolder()
      for user in ["u1", "neighbour"] {
        #expect(await control("users", "export", user, "--out", files.path(user)).code == .done)
      }
      let owner = try files.text("u1/data.json")
      #expect(owner.contains(#""owner""#) && !owner.contains("neighbour"), "\(owner)")
      #expect(try files.text("neighbour/data.json").contains(#""carer""#))
    }
  }
}
