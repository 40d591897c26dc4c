import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl users import of a table, against a server")
struct UserImportTests {
  @Test("new users, changed ones, bad rows by their lines; a second run changes nothing and is code 5")
  func table() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("clinics", "add", "north").code == .done)
      try await queue.addUser("u1", plan: "free")
      let files = try TemporaryFolder()
      let good = """
        \u{FEFF}name;user;plan;zone;clinic;email;birthday;address;gender;photo
        "Secret; Name";u1;premium;Asia/Jakarta;north;secret@example.org;1980-02-29;"Street 1
        Town";x;
        ;u2;;;;;;;;https://img.example.org/secret.jpg

        """
      try files.write(good, to: "users.csv")
      try files.write(
        good + """
          ;u3;gold;;;;;;;
          ;;;;;;;;;
          ;u4;;;south;;;;;
          ;u5;;;;;1981-02-29;;;
          ;u6;;Mars/X;;;;;;
          ;u7;;;;;2600-01-01;;;
          ;u8
          ;u9;;;;;;;;https://evil.org/secret.jpg
          """, to: "bad.csv")
      let hosts = ["--url-hosts", "img.example.org"]
      let path = files.path("bad.csv")
      let rehearsed = await control.run(["users", "import", path, "--dry-run"] + hosts)
      #expect(rehearsed.code == .refused)
      #expect(
        rehearsed.lines
          == [
            "would update u1 (line 2): plan, zone, clinic, name, email, birthday, address, gender",
            "would create u2 (line 4)", "refused u3 (line 5): There is no plan gold.",
            "refused u4 (line 7): There is no clinic south.",
            "refused u5 (line 8): The birthday is not a day from 1850 until today, written as 1980-05-31.",
            "refused u6 (line 9): There is no time zone Mars/X.",
            "refused u7 (line 10): The birthday is not a day from 1850 until today, written as 1980-05-31.",
            "refused line 11: it has 2 cells, and the header 10",
            "refused u9 (line 12): Photo: The host evil.org at port 443 is not among those that images may be fetched from.",
            "Nothing was changed.",
          ], "\(rehearsed.output)")
      #expect(!(rehearsed.output + rehearsed.messages).lowercased().contains("secret"))
      #expect(try await queue.texts("SELECT user_ref FROM analysis.account") == ["u1"])
      #expect(try await queue.entries().map(\.action) == ["add_clinic"])

      let imported = await control.run(["users", "import", files.path("users.csv")] + hosts)
      #expect(imported.code == .done, "\(imported.messages)")
      #expect(imported.lines == ["updated u1 (line 2)", "created u2 (line 4)"])
      let shown = await control("users", "show", "u1")
      for line in [
        "clinic     north", "plan       Premium (premium)", "zone       Asia/Jakarta",
        "name       Secret; Name", "birthday   1980-02-29", "gender     x",
      ] { #expect(shown.output.contains(line + "\n"), "\(shown.output)") }
      let entries = try await queue.entries().dropFirst().map { "\($0.action) \($0.object)" }
      let added = try await queue.number("SELECT user_id FROM analysis.account WHERE user_ref = 'u2'")
      #expect(
        entries == ["add_user user:\(added)", "assign_clinic user:1", "set_plan user:1", "set_zone user:1"])
      let again = await control.run(["users", "import", files.path("users.csv")] + hosts)
      #expect(again.code == .nothingToDo)
      #expect(again.lines == ["unchanged u1 (line 2)", "unchanged u2 (line 4)"])

      // What is not said stays, and the later row of a user counts.
      try files.write("user,plan\nu1,\nu1,free\nu1,premium\n", to: "few.csv")
      let few = await control("users", "import", files.path("few.csv"), "--json")
      #expect(few.code == .done)
      #expect(
        few.output.contains(
          #""outcome":"updated","message":null,"changed":["plan"],"not_taken":[]},{"line":4"#),
        "\(few.output)")
      #expect(await control("users", "show", "u1").output.contains("Premium (premium)"))
    }
  }

  @Test(
    "anchors of new users hold from the beginning, those of others as early as may be; wrong ones are refused"
  )
  func anchors() async throws {
    try await withQueue { (queue) async throws in
      for user in ["u1", "u2"] { try await queue.addUser(user) }
      _ = try await queue.create([Ask("u1")])
      let files = try TemporaryFolder()
      try files.write("user,anchor\nu1,15\nu2,\nu3,31\nu4,1\nu5,32\nu6,x\n", to: "users.csv")
      let rehearsed = await queue.control("users", "import", files.path("users.csv"), "--dry-run")
      #expect(
        rehearsed.lines == [
          "would update u1 (line 2): anchor", "unchanged u2 (line 3)", "would create u3 (line 4)",
          "would create u4 (line 5)", "refused u5 (line 6): The anchor is not a day from 1 to 31.",
          "refused u6 (line 7): Its anchor is not a day from 1 to 31.", "Nothing was changed.",
        ])
      #expect(await queue.control("users", "import", files.path("users.csv")).code == .refused)
      #expect(
        try await queue.texts(
          """
          SELECT format('%s %s %s', user_ref, anchors[1] & 31, anchors[1] / 32 - analysis.period_of(now(), zone))
          FROM analysis.account WHERE anchors[1] > 32
          UNION ALL SELECT format('%s %s', user_ref, anchors::text) FROM analysis.account WHERE anchors[1] < 32
          ORDER BY 1
          """) == ["u1 15 1", "u3 {31}"])
      let entries = try await queue.entries().map { "\($0.action) \($0.object)" }
      #expect(entries == ["add_user users", "set_period user:1"])
      try files.write("user,anchor\nu1,15\nu3,31\nu4,1\n", to: "again.csv")
      #expect(await queue.control("users", "import", files.path("again.csv")).code == .nothingToDo)
    }
  }

  @Test("an unknown column is refused by name with what was meant, and so is a table without users")
  func columns() async throws {
    let files = try TemporaryFolder()
    try files.write("user,emial\nu1,x\n", to: "typo.csv")
    try files.write("name,email\nN,x\n", to: "nobody.csv")
    let control = Control(database: "host=/nonexistent")
    let typo = await control("users", "import", files.path("typo.csv"))
    #expect(typo.code == .unreadableInput)
    #expect(typo.messages.contains("typo.csv:1: there is no column 'emial': did you mean 'email'?"))
    let nobody = await control("users", "import", "--format", "csv", files.path("nobody.csv"))
    #expect(nobody.code == .unreadableInput && nobody.messages.contains("there is no column 'user'"))
  }

  @Test(
    "one whom somebody else holds is refused by name, and the others are taken",
    arguments: LockHolder.allCases)
  func held(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      for user in ["u1", "u2", "u3"] { try await queue.addUser(user, plan: "free") }
      let files = try TemporaryFolder()
      try files.write(
        "user,zone,name\nu3,Asia/Jakarta,C\nu2,Asia/Jakarta,B\nu1,Asia/Jakarta,A\nu4,UTC,D\n", to: "users.csv"
      )
      try await queue.execute("ALTER FUNCTION analysis.import_users SET lock_timeout = '100ms'")
      try await queue.pool.withConnection { (connection) async throws in
        try await connection.execute(
          script: "BEGIN; SELECT FROM analysis.account WHERE user_ref = 'u2' FOR UPDATE")
        try await holder.stays(connection, in: queue) { () async throws in
          let imported = await queue.control("users", "import", files.path("users.csv"))
          #expect(imported.code == .refused, "\(imported.messages)")
          #expect(
            imported.lines == [
              "updated u3 (line 2)",
              "refused u2 (line 3): Somebody else is changing the user: import it again in a moment.",
              "updated u1 (line 4)", "created u4 (line 5)",
            ])
        }
        try await connection.execute(script: "ROLLBACK")
      }
      #expect(
        try await queue.texts("SELECT user_ref FROM analysis.account WHERE zone = 'Asia/Jakarta' ORDER BY 1")
          == [
            "u1", "u3",
          ])
      let again = await queue.control("users", "import", files.path("users.csv"))
      #expect(
        again.lines.first == "unchanged u3 (line 2)" && again.lines[1] == "updated u2 (line 3)",
        "\(again.output)")
      #expect(again.code == .done)
    }
  }

  @Test("who is erased while the import waits for them is added anew")
  func erasedMeanwhile() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: "premium")
      let files = try TemporaryFolder()
      try files.write("user,zone\nu1,Asia/Jakarta\n", to: "users.csv")
      let importing = try await queue.pool.transaction { (transaction) async throws in
        _ = try await transaction.query("SELECT FROM analysis.erase_user(0::smallint, 'u1', NULL, false)")
        let importing = Task { await queue.control("users", "import", files.path("users.csv")) }
        try await queue.untilSomebodyWaits()
        return importing
      }
      let imported = await importing.value
      #expect(imported.lines.first == "created u1 (line 2)", "\(imported.messages)")
      #expect(
        try await queue.texts("SELECT zone FROM analysis.account WHERE user_ref = 'u1'") == ["Asia/Jakarta"])
    }
  }

  @Test("users of several shards, more than one statement takes, each once in the audit's entries")
  func many() async throws {
    try await withQueue(shards: 3) { (queue) async throws in
      var control = queue.control
      let rows = (1...2500).map { "u\($0),premium\n" }.joined()
      control.input = Array(("user,plan\n" + rows).utf8)
      let created = await control("users", "import", "--format", "csv")
      #expect(created.code == .done && created.lines.count == 2500, "\(created.messages)")
      #expect(created.lines.allSatisfy { $0.hasPrefix("created ") })
      #expect(try await queue.numbers("SELECT count(DISTINCT shard)::int FROM analysis.account") == [3])
      control.input = Array(("user,plan\n" + rows.replacing("premium", with: "free")).utf8)
      #expect(await control("users", "import", "--format", "csv").code == .done)
      let entries = try await queue.entries().filter { $0.action == "set_plan" }
      #expect(entries.count == 3)
      #expect(
        try await queue.number(
          "SELECT sum(jsonb_array_length(detail -> 'users'))::int FROM analysis.audit_entry WHERE action = 'set_plan'"
        ) == 2500)
    }
  }
}
