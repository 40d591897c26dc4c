import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Settings of the installation")
struct SettingTests {
  @Test(
    "A wrong value is refused when it is set",
    arguments: [
      ("shards", "0"), ("shards", "many"), ("shards", "1025"), ("zone", "Mars/Olympus"),
      ("max_waiting", "-1"),
      ("max_database_bytes", "10 GB"), ("max_waiting_per_user", "1e9"), ("statement_grace", "-1 day"),
      ("max_wating", "1"), ("lane_shares", "5,2"), ("lane_shares", "5,2,0"), ("lane_shares", "100,2,1"),
      ("lane_shares", "5, 2, 1"), ("lane_shares", ""), ("keep_images", "59 minutes"), ("keep_images", "soon"),
      ("keep_audit", "364 days"), ("statement_grace", ""), ("image_bytes_throat", "9999"),
      ("image_bytes_ear", "10000001"), ("image_bytes_ear", "5 MB"), ("image_bytes_ear", ""),
      ("image_bytes_nose", "20000"), ("png_as_is_throat", "true"), ("png_as_is_ear", ""),
    ])
  func wrong(name: String, value: String) async throws {
    try await withCheckedQueue { queue async throws in
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.execute(
          "INSERT INTO analysis.setting VALUES ('\(name)', '\(value)') ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value"
        )
      }
      #expect(error?.isDataError == true)
    }
  }

  @Test(
    "A sound value is taken",
    arguments: [
      ("shards", "64"), ("zone", "Asia/Jakarta"), ("max_waiting", ""), ("statement_grace", "36 hours"),
      ("lane_shares", "1,1,99"), ("image_bytes_throat", "10000"), ("image_bytes_ear", "10000000"),
      ("png_as_is_throat", "yes"), ("png_as_is_ear", "no"),
    ])
  func sound(name: String, value: String) async throws {
    try await withCheckedQueue { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '\(value)' WHERE name = '\(name)'")
      let stored = try await queue.texts("SELECT value FROM analysis.setting WHERE name = '\(name)'")
      #expect(stored == [value])
    }
  }

  @Test(
    "Whatever a session has set, the same values are taken, and with each of them jobs are submitted and completed"
  )
  func whateverIsSet() async throws {
    try await withCheckedQueue { queue async throws in
      try await queue.addUser("u")
      let settings = try await SettingDirectory(queue.pool).list()
      let values =
        [
          "", "0", "1", "0:5", "0.5", "1x0", "1:0", "1.0", "01", "9", "99999", "100000", "5242879", "64",
          "9999999999", "999999999999999999", "5,2,1", "99,99,99", "yes", "no", "UTC", "localtime",
          "Asia/Jakarta",
          "1 day", "P1Y2M", "P7Y", "1-2", "7-0", "1 2:03:04", "@ 8 years", "-1 year 400 days",
          "-1 year +4000 days",
          "-7 years -2 days ago", "1 day ago", "10 years", "infinity", "1 year 1 mon -1 day",
        ]
      var taken: [[String]] = []
      for script in ["", HostileSettings.script] {
        var soFar: [String] = []
        try await withLogin("office\(taken.count)", of: ["administrator"], in: queue) { login in
          try await login.execute(script: script)
          for setting in settings where setting.name != "shards" {
            for value in values {
              let call = SQLStatement(
                "SELECT analysis.set_setting($1, $2, analysis.setting_value($1))",
                [.text(setting.name), .text(value)])
              do { _ = try await login.query(call) } catch let error as PostgreSQLError {
                #expect(error.sqlState == "22023", "\(setting.name) \(value): \(error)")
                continue
              }
              soFar.append("\(setting.name) = \(value)")
              // Some refuse submits, and so no completion.
              if !setting.name.hasPrefix("max_"), setting.name != "require_encryption" {
                _ = try await queue.create([Ask("u", image: "\(taken.count) \(setting.name) \(value)")])
                #expect(
                  try await queue.complete(try await queue.claim()).count == 1, "\(setting.name) \(value)")
              }
            }
            _ = try await queue.pool.query(
              "UPDATE analysis.setting SET value = $2 WHERE name = $1",
              [.text(setting.name), .text(setting.standard)])
          }
        }
        taken.append(soFar)
      }
      #expect(taken[0].count > 30)
      #expect(taken[0] == taken[1])
    }
  }

  @Test("A new database has each setting that there is, at its default")
  func defaults() async throws {
    try await withCheckedQueue { queue async throws in
      let settings = try await SettingDirectory(queue.pool).list()
      #expect(settings.filter { $0.value != $0.standard } == [])
      #expect(
        try await queue.texts("SELECT name FROM analysis.setting ORDER BY name")
          == settings.map(\.name).sorted())
    }
  }

  @Test("Submitters, gateways and workers can read the rules of images, and no other role can")
  func imageRules() async throws {
    try await withCheckedQueue { queue async throws in
      #expect(
        try await ShardDirectory(queue.pool).imageRules() == [.throat: .usual, .ear: .usual])
      try await queue.execute(
        """
        UPDATE analysis.setting SET value = '20000' WHERE name = 'image_bytes_ear';
        UPDATE analysis.setting SET value = 'yes' WHERE name = 'png_as_is_throat'
        """)
      let roles = try await queue.texts("SELECT o_role FROM analysis.role_rights() ORDER BY o_role")
      let entitled = ["worker", "submitter", "gateway"]
      #expect(Set(entitled).isSubset(of: roles) && roles.count == 11)
      for role in roles {
        try await withLoginRole(on: queue.pool, in: ["analysis_\(role)"]) { login in
          let pool = ConnectionPool(queue.database.login(login).configuration, on: queue.loop, size: 1)
          do throws(JobQueueError) {
            let rules = try await ShardDirectory(pool).imageRules()
            #expect(entitled.contains(role))
            #expect(rules[.throat] == ImageRules(maxBytes: 5_242_879, keepsPNG: true))
            #expect(rules[.ear] == ImageRules(maxBytes: 20_000, keepsPNG: false))
          } catch {
            #expect(error.code == .permission && !entitled.contains(role), "\(role): \(error)")
          }
          await pool.close()
        }
      }
    }
  }

  @Test("An UPDATE by the owner is recorded like any change, and one that changes nothing is not")
  func updated() async throws {
    try await withCheckedQueue { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '5,2,1' WHERE name = 'lane_shares'")
      try await queue.execute("UPDATE analysis.setting SET value = '4,3,1' WHERE name = 'lane_shares'")
      #expect(
        try await queue.texts(
          "SELECT object || ' ' || detail::text FROM analysis.audit_draft WHERE action = 'set_setting'")
          == [#"setting:lane_shares {"after": "4,3,1", "before": "5,2,1"}"#])
    }
  }

  @Test("Whatever the owner does to a setting by SQL is recorded, once for each change")
  func everyWay() async throws {
    try await withCheckedQueue { queue async throws in
      let count = try await queue.count("setting")
      try await queue.execute(
        """
        SET ROLE analysis_owner;
        INSERT INTO analysis.setting VALUES ('keep_dead', '1 year')
        ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value;
        INSERT INTO analysis.setting VALUES ('keep_dead', '1 year') ON CONFLICT DO NOTHING;
        DELETE FROM analysis.setting WHERE name = 'keep_dead';
        INSERT INTO analysis.setting VALUES ('keep_dead', '3 years');
        DELETE FROM analysis.setting WHERE name = 'keep_usage';
        UPDATE analysis.setting SET name = 'keep_usage' WHERE name = 'keep_dead';
        RESET ROLE
        """)
      let recorded = """
        SELECT substr(object, 9) || ' ' || coalesce(detail ->> 'before', '-') || ' ' || coalesce(detail ->> 'after', '-')
        FROM analysis.audit_draft WHERE action = 'set_setting' ORDER BY number
        """
      #expect(
        try await queue.texts(recorded) == [
          "keep_dead 24 months 1 year", "keep_dead 1 year -", "keep_dead - 3 years", "keep_usage  -",
          "keep_dead 3 years -", "keep_usage - 3 years",
        ])
      try await queue.execute("SET ROLE analysis_owner; TRUNCATE analysis.setting; RESET ROLE")
      let removed = try await queue.texts(recorded).dropFirst(6)
      #expect(removed.count == count - 1 && removed.allSatisfy { $0.hasSuffix(" -") })
    }
  }

  @Test("Who decided on a value that somebody changed meanwhile changes nothing")
  func changedMeanwhile() async throws {
    try await withCheckedQueue { queue async throws in
      let settings = SettingDirectory(queue.pool)
      #expect(try await settings.preview("keep_dead", value: "1 year") == "24 months")
      #expect(try await settings.set("keep_dead", value: "2 years", before: "24 months"))
      #expect(try await !settings.set("keep_dead", value: "1 year", before: "24 months"))
      #expect(try await settings.list().first { $0.name == "keep_dead" }?.value == "2 years")
    }
  }

  @Test("What a login of some clinics is not shown such a login does not decide")
  func restricted() async throws {
    try await withCheckedQueue { queue async throws in
      try await withLogin(of: ["administrator"], in: queue) { (login) async throws in
        let settings = SettingDirectory(login)
        #expect(try await settings.set("report_threshold", value: "6", before: "5"))
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute(
          "SELECT analysis.add_clinic('north'), analysis.grant_clinics('\(name)', '{north}')")
        for isPreview in [true, false] {
          let failure = await #expect(throws: JobQueueError.self) {
            if isPreview {
              _ = try await settings.preview("report_threshold", value: "1")
            } else {
              _ = try await settings.set("report_threshold", value: "1", before: "6")
            }
          }
          #expect(failure?.code == .permission && failure?.message.contains("sees some clinics only") == true)
        }
        #expect(try await settings.set("keep_dead", value: "1 year", before: "24 months"))
        #expect(try await settings.list().first { $0.name == "report_threshold" }?.value == "6")
      }
    }
  }

  @Test("The number of shards is fixed once there is a user")
  func fixedShards() async throws {
    try await withCheckedQueue { queue async throws in
      try await queue.execute("UPDATE analysis.setting SET value = '4' WHERE name = 'shards'")
      try await queue.addUser("user")
      await #expect(throws: PostgreSQLError.self) {
        try await queue.execute("UPDATE analysis.setting SET value = '8' WHERE name = 'shards'")
      }
      try await queue.execute("UPDATE analysis.setting SET value = '4' WHERE name = 'shards'")
    }
  }
}
