import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl clinics, against a server")
struct ClinicsTests {
  @Test("add, assign and list; a second add changes nothing and is code 5")
  func add() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("clinics").output == "No clinics.\n")
      #expect(await control("clinics", "add", "north").output == "added clinic north\n")
      #expect(await control("clinics", "add", "north").code == .nothingToDo)
      #expect(await control("clinics", "add", "").code == .usage)
      try await queue.addUser("u1")
      let assigned = await control("clinics", "assign", "u1", "north")
      #expect(assigned.code == .done && assigned.output == "clinic of u1: north\n")
      #expect(await control("users", "show", "u1").output.contains("clinic     north\n"))
      #expect(
        await control("clinics", "list").output
          == "CLINIC  KIND    PRODUCT  USERS\nnorth   clinic  -            1\n")
      #expect(
        await control("clinics", "assign", "u1", "--none", "--json").output == #"{"user":"u1","clinic":null}"#
          + "\n")
      #expect(await !control("users", "show", "u1").output.contains("clinic"))
    }
  }

  @Test("set changes what is asked for, all of it or nothing, and show shows it")
  func set() async throws {
    let folder = try TemporaryFolder()
    try folder.write(TinyPicture.noise(side: 200), to: "logo.png")
    try folder.write(TinyPicture.png(saying: "made by somebody"), to: "other.png")
    try folder.write("<svg/>", to: "drawn.png")
    try folder.write(Array(TinyPicture.png().dropLast(30)), to: "cut.png")
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("clinics", "add", "north", "--kind", "pharmacy").code == .done)
      #expect(await control("clinics", "add", "north", "--kind", "both").code == .nothingToDo)
      let lines = ["--address", "1 Harbour Street", "--address", "10110 Jakarta"]
      let logo = ["--logo", folder.path("logo.png"), "--pharmacy-logo", folder.path("other.png")]
      let set = await control.run(
        ["clinics", "set", "north", "--product", "blue", "--reason", "new"] + lines + logo)
      #expect(set.code == .done, "\(set.messages)")
      #expect(
        set.output.hasPrefix(
          """
          clinic         north
          kind           pharmacy
          address        1 Harbour Street
          address        10110 Jakarta
          product        blue
          logo           200 by 200 pixels, sha256 \

          """.dropLast()), "\(set.output)")
      #expect(set.output.contains("\npharmacy logo  16 by 16 pixels, sha256 "))
      // Cleaned: nothing that was noted in the picture is kept.
      #expect(
        try await queue.number(
          """
          SELECT count(*) FROM analysis.logo
          WHERE substr(bytes, 1, 3) = E'\\\\xffd8ff' AND position('somebody'::bytea IN bytes) = 0
            AND sha256 = sha256(bytes)
          """) == 2)
      let before = await control("clinics", "show", "north", "--json").output

      let refusals: [([String], ExitCode, String)] = [
        (
          ["--kind", "both", "--logo", folder.path("drawn.png")], .refused,
          "drawn.png is no logo. The file is a SVG"
        ),
        (
          ["--kind", "both", "--logo", folder.path("cut.png")], .refused,
          "cut.png is no logo. The PNG file is cut off"
        ),
        (
          ["--kind", "both", "--logo", folder.path("none.png")], .unreadableInput,
          "none.png: It cannot be read"
        ),
        (["--kind", "both", "--logo", folder.path("")], .unreadableInput, "It is a folder"),
        (["--kind", "hospital"], .usage, "'hospital' is not one of clinic, pharmacy, both"),
        (["--kind", "both", "--product", "Blue"], .refused, "a product's name has 1 to 60 small letters"),
        (["--kind", "both", "--product", ""], .usage, "--product: '' is empty"),
        (["--kind", "both", "--address", ""], .usage, "--address: '' is empty"),
        (["--kind", "both", "--address", "a\u{202E}b"], .refused, "none that cannot be seen"),
        (["--kind", "both", "--address", String(repeating: "w", count: 101)], .refused, "1 to 10 lines"),
        (
          ["--kind", "both"] + Array(repeating: ["--address", "x"], count: 11).flatMap { $0 }, .refused,
          "1 to 10 lines"
        ),
        (["--remove-logo", "--logo", folder.path("logo.png")], .usage, "cannot be given together"),
        (["--remove-address"] + lines, .usage, "cannot be given together"),
        ([], .usage, "nothing is to be set"),
      ]
      for (arguments, code, words) in refusals {
        let refused = await control.run(["clinics", "set", "north"] + arguments)
        #expect(refused.code == code && refused.messages.contains(words), "\(arguments): \(refused.messages)")
      }
      #expect(await control("clinics", "set", "west", "--kind", "both").code == .refused)
      #expect(await control("clinics", "show", "west").code == .refused)
      #expect(await control("clinics", "show", "north", "--json").output == before)

      #expect(
        await control(
          "clinics", "set", "north", "--kind", "both", "--remove-logo", "--remove-pharmacy-logo",
          "--remove-address",
          "--remove-product"
        ).output == "clinic  north\nkind    both\nusers   0\n")
      // Nobody has them any more.
      #expect(try await queue.count("logo") == 0)
      #expect(
        try await queue.texts(
          """
          SELECT concat_ws(' ', object, reason, (SELECT string_agg(k, ',' ORDER BY k) FROM jsonb_object_keys(detail) k))
          FROM analysis.audit WHERE action = 'set_clinic' ORDER BY id
          """) == [
            "clinic:1 kind", "clinic:1 new address,logo,pharmacy_logo,product",
            "clinic:1 address,kind,logo,pharmacy_logo,product",
          ])
    }
  }

  @Test("what is unknown is refused with 4, what contradicts itself with 64")
  func unknown() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("clinics", "assign", "u1", "north").code == .refused)
      #expect(await control("clinics", "assign", "u1", "--none").code == .refused)
      #expect(await control("clinics", "assign", "u1").code == .usage)
      #expect(await control("clinics", "grant", "analysis_worker", "north").code == .refused)
      #expect(await control("clinics", "grant", "analysis_worker").code == .usage)
      #expect(await control("clinics", "grant", "analysis_worker", "north", "--all").code == .usage)
      #expect(await control("clinics", "revoke", "analysis_worker").code == .usage)
      #expect(await control("clinics", "add", "north").code == .done)
      #expect(await control("clinics", "revoke", "analysis_worker", "north").code == .refused)
      let nobody = await control("clinics", "grant", "nobody_at_all", "north")
      #expect(nobody.code == .refused && nobody.messages.contains("there is no role nobody_at_all"))
    }
  }

  @Test("a role sees in users list the users of its clinics, from the first grant on until it is lifted")
  func grant() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      for user in ["n1", "s1", "x1"] { try await queue.addUser(user) }
      for (clinic, user) in [("north", "n1"), ("south", "s1")] {
        _ = await control("clinics", "add", clinic)
        _ = await control("clinics", "assign", user, clinic)
      }
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (role) async throws in
        func users() async -> [String] {
          await queue.acting(as: role).control("users", "list").lines.dropFirst().map {
            String($0.prefix { $0 != " " })
          }
        }
        #expect(await users() == ["n1", "s1", "x1"])
        #expect(await control("clinics", "grant", role, "north").output == "role \(role) sees only north\n")
        #expect(await users() == ["n1"])
        let both = await control("clinics", "grant", role, "south", "--json")
        #expect(both.output == #"{"role":"\#(role)","restricted":true,"clinics":["north","south"]}"# + "\n")
        #expect(await control("clinics").output.hasSuffix("\(role)  north, south\n"))
        #expect(await users() == ["n1", "s1"])
        #expect(
          await control("clinics", "revoke", role, "north", "south").output.hasSuffix("sees only nobody\n"))
        #expect(await users() == [])
        #expect(await control("clinics", "grant", role, "--all").output == "role \(role) sees everybody\n")
        #expect(await users() == ["n1", "s1", "x1"])
        let told = try await queue.texts(
          "SELECT format('%s %s %s', action, os_user, object) FROM analysis.audit WHERE object LIKE 'role:%' ORDER BY id"
        )
        #expect(
          told
            == ["grant", "grant", "revoke", "lift"].map { "\($0)_clinics olga role:\(role)" })
      }
    }
  }

  @Test("a restricted role does not close a month: 77, and who has to")
  func closing() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("n1")
      _ = await queue.control("clinics", "add", "north")
      _ = await queue.control("clinics", "assign", "n1", "north")
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (role) async throws in
        _ = await queue.control("clinics", "grant", role, "north")
        let restricted = queue.acting(as: role).control
        try await queue.execute(
          "INSERT INTO analysis.usage (shard, user_id, period) SELECT shard, user_id, 24288 FROM analysis.account"
        )
        for option in ["--yes", "--dry-run"] {
          let refused = await restricted("month", "close", "2024-01", option)
          #expect(refused.code == .permission)
          #expect(refused.messages.contains("cannot close 2024-01 for all"), "\(refused.messages)")
          #expect(refused.messages.contains("Let a role that is not restricted"), "\(refused.messages)")
        }
        #expect(await restricted("report", "usage", "--month", "2024-01").code == .done)
        #expect(await queue.control("month", "close", "2024-01", "--yes").code == .done)
        let closed = await restricted("report", "usage", "--month", "2024-01", "--json")
        #expect(closed.code == .done && closed.output.contains(#""state":"closed""#), "\(closed.output)")
        let months = await restricted("month")
        #expect(months.code == .done && months.output.contains("2024-01  closed"), "\(months.output)")
      }
    }
  }
}
