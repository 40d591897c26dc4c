import EventLoop
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

/// Logins belong to the whole server: these tests have one of their own, on which a login needs its password.
@Suite("analysisctl roles")
struct RolesTests {
  private func with(prefix: String? = nil, _ body: (Control, ServerCluster) async throws -> Void) async throws
  {
    var options = ServerCluster.Options()
    options.access = ["local all postgres trust", "local all all scram-sha-256"]
    try await withServerCluster(options) { cluster in
      let control = Control(database: cluster.conninfo())
      let migrated = await control.run(["migrate"] + (prefix.map { ["--role-prefix", $0] } ?? []))
      #expect(migrated.code == .done, "\(migrated.messages)")
      try await body(control, cluster)
    }
  }

  private func query(_ cluster: ServerCluster, _ sql: String) async throws -> [String] {
    let connection = try await Connection.connect(
      ConnectionConfiguration(cluster.conninfo()), on: try EventLoop())
    let rows = try await connection.query(sql).map { try $0.string(0) }
    await connection.close()
    return rows
  }

  private static let logins = [
    "accounts", "auditor", "backend", "clinician", "gateway", "keeper", "office", "operations", "privacy",
    "reviewer", "upgrades", "worker",
  ]
  private static let members = """
    SELECT m.member::regrole || ' ' || m.roleid::regrole FROM pg_auth_members m
    JOIN pg_roles r ON r.oid = m.member WHERE r.rolcanlogin AND NOT r.rolsuper ORDER BY 1
    """

  @Test("setup makes a login for each part, whose password is in its file alone and opens what is its own")
  func setup() async throws {
    try await with { (control, cluster) async throws in
      let files = try TemporaryFolder()
      let dry = await control("roles", "setup", "--dry-run", "--out", files.path)
      #expect(dry.code == .done)
      let settings = [
        "search_path = pg_catalog, pg_temp", "statement_timeout = 120000", "lock_timeout = 30000",
        "idle_in_transaction_session_timeout = 60000",
      ].map { "ALTER ROLE worker IN DATABASE postgres SET \($0); " }.joined()
      let expected =
        "CREATE ROLE worker LOGIN IN ROLE analysis_worker; \(settings)-- and a password, kept in \(files.path("worker.pgpass"))"
      #expect(dry.lines.first == expected)
      #expect(try await query(cluster, Self.members) == [])

      let made = await control("roles", "setup", "--out", files.path)
      #expect(made.code == .done, "\(made.messages)")
      #expect(
        try await query(cluster, Self.members) == [
          "accounts analysis_reporter", "auditor analysis_auditor", "backend analysis_submitter",
          "clinician analysis_clinician", "gateway analysis_gateway", "keeper analysis_retention",
          "office analysis_administrator",
          "operations analysis_operator", "privacy analysis_privacy", "reviewer analysis_reviewer",
          "upgrades analysis_owner",
          "worker analysis_worker",
        ])
      let strong =
        "SELECT rolname::text FROM pg_roles WHERE rolname <> 'postgres' AND (rolcreaterole OR rolsuper)"
      #expect(try await query(cluster, strong) == [])
      for login in Self.logins {
        let file = files.path("\(login).pgpass")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600, "\(login)")
        let text = try files.text("\(login).pgpass")
        #expect(text.hasPrefix("*:*:*:*:") && text.count == 8 + 32 + 1)
        #expect(!(made.output + made.messages + cluster.log).contains(text.dropFirst(8).dropLast()))
      }
      let words: [(login: String, command: [String])] = [
        ("clinician", ["jobs", "list"]), ("operations", ["status"]), ("accounts", ["report", "usage"]),
        ("office", ["users", "add", "u1"]), ("auditor", ["audit", "list"]), ("upgrades", ["migrate"]),
      ]
      for (login, command) in words {
        let named = try acting(login, files, cluster)
        let ran = await named.run(command)
        #expect(ran.code == .done, "\(login): \(ran.messages)")
      }
      #expect(try await acting("accounts", files, cluster).run(["jobs", "list"]).code == .permission)

      // Again: each keeps its password, and a login that lost its role gets it again.
      _ = try await query(cluster, "REVOKE analysis_clinician FROM clinician")
      let again = await control("roles", "setup", "--json", "--out", files.path)
      #expect(again.code == .done, "\(again.messages)")
      #expect(!again.output.contains(#""made":true"#), "\(again.output)")
      #expect(try await acting("clinician", files, cluster).run(["jobs", "list"]).code == .done)
    }
  }

  private func acting(_ login: String, _ files: TemporaryFolder, _ cluster: ServerCluster) throws -> Control {
    var control = Control(
      database: "\(cluster.conninfo()) user=\(login) passfile=\(files.path("\(login).pgpass"))")
    control.environment["PGPASSFILE"] = nil
    return control
  }

  @Test(
    "What a login may not do names the logins that may; nobody is told to take another role, or one that they have"
  )
  func advice() async throws {
    try await with { (control, cluster) async throws in
      let files = try TemporaryFolder()
      #expect(await control("roles", "setup", "--out", files.path).code == .done)
      let keys = ["--key-file", files.path("image.keys")]
      #expect(await control.run(["keys", "new"] + keys).code == .done)
      let commands: [(words: [String], who: String)] = [
        (["keys", "rotate"] + keys, "upgrades"), (["migrate"], "upgrades"),
        (["reconcile"], "operations, auditor"), (["jobs", "list"], "operations, clinician, reviewer"),
        (["users", "list"], "office, accounts, auditor"), (["users", "add", "u1"], "office"),
        (["audit", "list"], "auditor"), (["erase", "--user", "u1", "--dry-run"], "privacy"),
        (["purge", "--yes"], "keeper"), (["report", "usage"], "accounts, auditor"),
      ]
      for login in Self.logins {
        let named = try acting(login, files, cluster)
        for (words, who) in commands where login != "upgrades" && !who.contains(login) {
          let ran = await named.run(words)
          #expect(ran.code == .permission, "\(login) \(words): \(ran.messages)")
          #expect(ran.messages.contains("Who may: \(who)."), "\(login) \(words): \(ran.messages)")
          #expect(!ran.messages.contains("GRANT"), "\(login) \(words): \(ran.messages)")
        }
      }
      // Members that have a role's rights only when they act as it.
      for (login, role) in [("asleep", "operator"), ("upgrader", "owner")] {
        _ = try await query(
          cluster, "CREATE ROLE \(login) LOGIN NOINHERIT PASSWORD 'p' IN ROLE analysis_\(role)")
        try files.write("*:*:*:*:p\n", to: "\(login).pgpass")
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o600], ofItemAtPath: files.path("\(login).pgpass"))
      }
      for (login, role, words) in [("asleep", "operator", ["reconcile"]), ("upgrader", "owner", ["migrate"])]
      {
        var member = try acting(login, files, cluster)
        let refused = await member.run(words)
        #expect(refused.code == .permission && !refused.messages.contains("GRANT"), "\(refused.messages)")
        #expect(refused.messages.contains("PGOPTIONS='-c role=analysis_\(role)'"), "\(refused.messages)")
        member.environment["ANALYSIS_DATABASE"]? += " options='-c role=analysis_\(role)'"
        let done = await member.run(words)
        #expect(done.code == .done, "\(done.messages)")
      }
    }
  }

  @Test("setup gives every login the time limits of its roles, and doctor says where one has others")
  func limits() async throws {
    try await with { (control, cluster) async throws in
      _ = try await query(cluster, "CREATE ROLE twofold LOGIN IN ROLE analysis_worker, analysis_reporter")
      _ = try await query(cluster, "CREATE ROLE stranger LOGIN")
      let before = try await control.doctor().found
      #expect(
        before.state("rights.limits") == "warning" && before.of("rights.limits")[0].seen.contains("twofold (")
      )
      let files = try TemporaryFolder()
      let made = await control("roles", "setup", "--out", files.path)
      #expect(made.code == .done, "\(made.messages)")
      let settings = """
        SELECT s.setrole::regrole || ': ' || array_to_string(ARRAY(
            SELECT c FROM unnest(s.setconfig) c WHERE c LIKE '%timeout%' ORDER BY 1), ' ')
        FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase AND d.datname = current_database()
        WHERE s.setrole <> 0 ORDER BY 1
        """
      let set = try await query(cluster, settings)
      #expect(set.count == Self.logins.count + 1 && !set.contains { $0.hasPrefix("stranger") })
      // Of each limit the longest of its two roles.
      #expect(
        set.contains(
          "twofold: idle_in_transaction_session_timeout=600000 lock_timeout=60000 statement_timeout=3600000"),
        "\(set)")
      #expect(
        set.contains("upgrades: idle_in_transaction_session_timeout=0 lock_timeout=0 statement_timeout=0"),
        "\(set)")
      #expect(try await control.doctor().found.state("rights.limits") == "ok")
      _ = try await query(cluster, "ALTER ROLE worker IN DATABASE postgres SET lock_timeout = '2min'")
      let found = try await control.doctor().found.of("rights.limits")
      #expect(found.map(\.state) == ["warning"] && found[0].seen.contains("worker (lock_timeout 120000 ms)"))
    }
  }

  @Test(
    "setup --own-database lets nobody else connect, nor make temporary tables; without it doctor says what is open"
  )
  func ownDatabase() async throws {
    try await with { (control, cluster) async throws in
      _ = try await query(cluster, "CREATE ROLE stranger LOGIN")
      let files = try TemporaryFolder()
      #expect(await control("roles", "setup", "--out", files.path).code == .done)
      let open = try await control.doctor().found.of("rights.database")
      #expect(open.map(\.state) == ["warning"] && open[0].seen.contains("CONNECT and TEMPORARY"))
      let dry = await control("roles", "setup", "--dry-run", "--own-database", "--out", files.path)
      #expect(
        dry.lines.last?.hasPrefix(
          "REVOKE CONNECT, TEMPORARY ON DATABASE postgres FROM PUBLIC; GRANT CONNECT ON DATABASE postgres TO analysis_owner,"
        )
          == true, "\(dry.output)")
      let may = """
        SELECT r || ' ' || has_database_privilege(r, current_database(), 'CONNECT') || ' '
          || has_database_privilege(r, current_database(), 'TEMP') FROM unnest(ARRAY['stranger', 'worker', 'backend']) r
        """
      #expect(
        try await query(cluster, may) == ["stranger true true", "worker true true", "backend true true"])
      let made = await control("roles", "setup", "--own-database", "--out", files.path)
      #expect(made.code == .done && made.output.contains("Nobody but the roles"), "\(made.messages)")
      #expect(
        try await query(cluster, may) == ["stranger false false", "worker true false", "backend true false"])
      #expect(try await control.doctor().found.state("rights.database") == "ok")
      #expect(try await acting("operations", files, cluster).run(["status"]).code == .done)
    }
  }

  @Test("the document of access has the same time limits as the programs")
  func documented() throws {
    func text(_ milliseconds: Int64) -> String {
      switch milliseconds {
      case 0: "none"
      case let long where long % 3_600_000 == 0: "\(long / 3_600_000) h"
      case let short where short % 60_000 == 0: "\(short / 60_000) min"
      default: "\(milliseconds / 1000) s"
      }
    }
    let document = try String(contentsOfFile: packagePath("docs/access.md"), encoding: .utf8)
    let rows = document.split(separator: "\n").filter {
      $0.hasSuffix(" |") && $0.contains(#/ (h|min|none) \|/#)
    }
    for role in DatabaseRole.allCases {
      let limits = LoginLimits.of(role).settings.map { text($0.milliseconds) }.joined(separator: " | ")
      let row =
        rows.first { $0.contains("`\(role.name(prefix: "analysis"))`") }
        ?? rows.first { $0.hasPrefix("| all others |") }
      #expect(row?.hasSuffix("| \(limits) |") == true, "\(role): \(limits)")
    }
  }

  @Test("setup is refused where a password file is in the way, and to whoever is no superuser")
  func refused() async throws {
    try await with { (control, cluster) async throws in
      let files = try TemporaryFolder()
      try files.write("*:*:*:*:kept\n", to: "office.pgpass")
      let blocked = await control("roles", "setup", "--out", files.path)
      #expect(blocked.code == .refused && blocked.messages.contains("office.pgpass is there already"))
      #expect(try await query(cluster, Self.members) == [])
      #expect(try files.text("office.pgpass") == "*:*:*:*:kept\n")
      var other = control
      other.environment["ANALYSIS_DATABASE"]? += " options='-c role=analysis_administrator'"
      let denied = await other("roles", "setup", "--out", files.path("none"))
      #expect(denied.code == .permission)
      #expect(denied.messages.contains("takes a superuser of the server"), "\(denied.messages)")
    }
  }

  @Test("check shows which commands each login may run, in an installation with a prefix of its own too")
  func check() async throws {
    try await with(prefix: "beta") { (control, cluster) async throws in
      let none = await control("roles", "check")
      #expect(none.code == .done && none.output.contains("roles setup"))
      let files = try TemporaryFolder()
      #expect(await control("roles", "setup", "--out", files.path).code == .done)
      let all = await control("roles", "check")
      #expect(
        all.output.hasPrefix(
          """
          accounts_beta (beta_reporter)
            analysisctl audit keep
            analysisctl doctor
            analysisctl keys list
            analysisctl month
            analysisctl month close
            analysisctl month list
            analysisctl plans
            analysisctl plans list
            analysisctl report agreement
            analysisctl report calibration
            analysisctl report conditions
            analysisctl report summary
            analysisctl report usage
            analysisctl roles check
            analysisctl serve
            analysisctl settings
            analysisctl settings list
            analysisctl statement
            analysisctl users list

          auditor_beta (beta_auditor)

          """), "\(all.output)")
      _ = try await query(cluster, "CREATE ROLE alice LOGIN; ")
      let alice = await control("roles", "check", "alice", "worker_beta", "--json")
      #expect(
        alice.output
          == #"[{"login":"alice","superuser":false,"roles":[],"commands":[]},"#
          + #"{"login":"worker_beta","superuser":false,"roles":["beta_worker"],"commands":["analysis-worker","#
          + #""analysisctl audit keep","analysisctl doctor","analysisctl keys list","analysisctl roles check","#
          + #""analysisctl serve","analysisctl settings","#
          + #""analysisctl settings list","analysisctl status"]}]"#
          + "\n")
      let unknown = await control("roles", "check", "bob")
      #expect(unknown.code == .refused && unknown.messages.contains("there is no login bob"))
    }
  }
}
