import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport

/// A database with two clinics, patients of both, and everything of theirs that somebody could be after.
///
/// `ann-north` and `sue-south` have an analysis, a picture, a dead job with its cause, a job that waits, one that a worker
/// holds, and a profile. What nobody but the entitled may see holds the mark.
struct AttackedDatabase: Sendable {
  /// It stands in pictures and results, and in `sue-south`'s profile, file names and failures.
  static let mark = "confided"

  let queue: QueueFixture
  /// What names in braces stand for: numbers of users, jobs, leases and months, and what a reading was opened as.
  let known: [String: String]

  /// Lends such a database.
  static func with<R>(_ body: (AttackedDatabase) async throws -> R) async throws -> R {
    try await withQueue(from: template) { queue in
      try await body(AttackedDatabase(queue: queue, known: try await facts(queue)))
    }
  }

  private static let template = DatabaseTemplate("attacked") { database in
    try await DatabaseTemplate.migrated.prepare(database)
    try await withQueue(in: database, connections: 4) { queue in try await fill(queue) }
  }

  private static func fill(_ queue: QueueFixture) async throws {
    for user in ["ann-north", "sue-south"] { try await queue.addUser(user) }
    try await queue.execute(
      """
      SELECT analysis.add_clinic('north'), analysis.add_clinic('south'),
        analysis.assign_clinic(0::smallint, 'ann-north', 'north'), analysis.assign_clinic(0::smallint, 'sue-south', 'south');
      SELECT analysis.save_profile(shard, user_id, '\(mark)', '\(mark)@example.org', NULL, NULL, NULL)
      FROM analysis.account WHERE user_ref = 'sue-south'
      """)
    for user in ["ann-north", "sue-south"] {
      _ = try await queue.create([Ask(user, image: "\(mark) \(user)")])
      _ = try await queue.complete(try await queue.claim())
      _ = try await queue.deadJob(user, image: "\(mark) dead \(user)")
    }
    _ = try await queue.create(
      ["ann-north", "sue-south"].map { Ask($0, image: "\(mark) held \($0)") })
    _ = try await queue.claim(2, worker: 7, lease: 700, leaseDuration: 3_600_000)
    _ = try await queue.create(
      ["ann-north", "sue-south"].map { Ask($0, image: "\(mark) waiting \($0)") })
    try await queue.execute(
      """
      UPDATE analysis.result SET primary_name = '\(mark)', analysis_id = '\(mark)',
        conditions = '[{"id": "\(mark)", "name": "\(mark)", "confidence": 0.9, "band": 4, "normal": false}]';
      UPDATE analysis.dead d SET message = CASE a.user_ref WHEN 'sue-south' THEN '\(mark)' ELSE 'its own' END
      FROM analysis.account a WHERE a.user_id = d.user_id;
      UPDATE analysis.attempt_error e SET message = CASE a.user_ref WHEN 'sue-south' THEN '\(mark)' ELSE 'its own' END
      FROM analysis.account a WHERE a.user_id = e.user_id;
      UPDATE analysis.job j SET source_name = '\(mark).jpg' FROM analysis.account a
      WHERE a.user_id = j.user_id AND a.user_ref = 'sue-south';
      INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id, reference)
      SELECT j.shard, j.period, j.id, j.user_id, b.id, '\(mark)'
      FROM analysis.open_batch('\(mark)') b(id), analysis.job j JOIN analysis.account a USING (shard, user_id)
      WHERE a.user_ref = 'sue-south';
      SELECT analysis.add_webhook(0::smallint, 'sue-south', NULL, 'https://r.example.org/?\(mark)',
        decode(repeat('07', 150), 'hex'), false, false);
      INSERT INTO analysis.webhook_event (shard, state, period, webhook_id, job_id, user_id, worker_id, at, due_at)
      SELECT j.shard, 1, j.period, w.id, j.id, j.user_id, analysis.worker_number(sha256('7')), now(),
        now() + interval '1 day'
      FROM analysis.webhook w JOIN analysis.job j USING (shard, user_id) ORDER BY j.id LIMIT 1;
      SELECT analysis.add_token(0::smallint, 'ann-north', sha256('ann'), NULL, NULL),
        analysis.add_token(0::smallint, 'sue-south', sha256('sue'), '\(mark)', NULL),
        analysis.add_token(0::smallint, 'sue-south', sha256('late'), '\(mark)', now() + interval '1 hour'),
        analysis.add_token(0::smallint, 'sue-south', sha256('gone'), '\(mark)', NULL),
        analysis.add_login_code(0::smallint, 'sue-south', sha256('first')),
        analysis.gateway_begin_session(0::smallint, sha256('first'), NULL, '\(mark)', sha256('app'),
          sha256('family'), sha256('turn')),
        analysis.add_login_code(0::smallint, 'sue-south', sha256('code')),
        analysis.request_share(0::smallint, 'sue-south', NULL, 0::smallint, 'ann-north', NULL);
      UPDATE analysis.user_token SET last_used_on = 'infinity',
        revoked_at = CASE WHEN hash = sha256('gone') THEN now() END,
        expires_at = CASE WHEN hash = sha256('late') THEN now() - interval '1 second' END;
      UPDATE analysis.clinic SET product = 'plain' WHERE name = 'south';
      SELECT analysis.add_review(r.shard, r.job_id, 'disagree', '\(mark)', '\(mark)') FROM analysis.result r;
      SELECT analysis.set_product('plain', '{reviews}');
      UPDATE analysis.review_comment c SET body = 'its own' FROM analysis.account a
      WHERE a.user_id = c.user_id AND a.user_ref = 'ann-north';
      """)
  }

  private static func facts(_ queue: QueueFixture) async throws -> [String: String] {
    let rows = try await queue.pool.query(
      """
      SELECT 'month', max(period)::text FROM analysis.job
      UNION ALL SELECT 'ann', user_id::text FROM analysis.account WHERE user_ref = 'ann-north'
      UNION ALL SELECT 'sue', user_id::text FROM analysis.account WHERE user_ref = 'sue-south'
      UNION ALL SELECT s.state || CASE a.user_ref WHEN 'sue-south' THEN '-south' ELSE '-north' END, min(s.job_id)::text
        FROM analysis.job_status s JOIN analysis.account a ON a.user_ref = s.user_ref GROUP BY 1
      UNION ALL SELECT 'lease', min(id)::text FROM analysis.lease
      UNION ALL SELECT 'batch', min(id)::text FROM analysis.batch
      UNION ALL SELECT 'webhook', min(id)::text FROM analysis.webhook
      UNION ALL SELECT 'event', min(id)::text FROM analysis.webhook_event
      UNION ALL SELECT 'share', min(id)::text FROM analysis.share
      UNION ALL SELECT 'jobs', string_agg(id::text, ',' ORDER BY id) FROM analysis.job
      """)
    var facts = try Dictionary(uniqueKeysWithValues: rows.map { (try $0.string(0), try $0.string(1)) })
    // Readings of somebody else, committed.
    facts["reading"] = try await queue.text(
      "SELECT analysis.open_results('sue-south', ARRAY[\(facts["succeeded-south"] ?? "")]::bigint[])")
    facts["export"] = try await queue.text(
      "SELECT o_export FROM analysis.open_export(0::smallint, 'sue-south')")
    return facts
  }

  /// A statement with what the names in braces stand for.
  func filled(_ sql: String, me: String) -> String {
    known.merging(["me": me]) { $1 }.reduce(sql) { $0.replacing("{\($1.key)}", with: $1.value) }
  }

  /// What nobody may have changed when all has been tried: each table by a hash of its rows.
  func fingerprint() async throws -> [String: String] {
    var prints: [String: String] = [:]
    for table in [
      "account", "account_plan", "admission", "attempt_error", "clinic", "clinic_viewer", "dead",
      "fair_share", "idem",
      "image", "job", "lease", "login_code", "logo", "plan", "plan_limit", "plan_price", "product", "profile",
      "purged_month",
      "ready", "refund", "renamed", "result", "review", "review_comment", "scheduled", "setting", "share",
      "statement",
      "statement_clinic", "statement_condition", "statement_day", "statement_line", "statement_segment",
      "usage", "user_token", "webhook", "webhook_event",
    ] {
      prints[table] = try await queue.text(
        """
        SELECT md5(coalesce(string_agg(r, '' ORDER BY r), '')) FROM analysis.\(table) t
        CROSS JOIN LATERAL (SELECT (to_jsonb(t) - '{waiting,counted_at,terms_at}'::text[])::text AS r) x
        """)
    }
    return prints
  }

  /// Lends a connection of an attacker, made as `roles setup` makes logins.
  func login<R>(
    as attacker: Attacker, _ body: (ConnectionPool, _ name: String) async throws -> R
  ) async throws -> R {
    try await login(
      attacker.rawValue.lowercased(), role: attacker.role, isRestricted: attacker.isRestricted, body)
  }

  /// Lends a connection of a login with a role, which sees the clinic `north` alone if it is restricted.
  func login<R>(
    _ name: String, role: String?, isRestricted: Bool, onNotice: (@Sendable (String) -> Void)? = nil,
    _ body: (ConnectionPool, _ name: String) async throws -> R
  ) async throws -> R {
    try await withLogin(name, of: role.map { [$0] } ?? [], in: queue, onNotice: onNotice) { login in
      let name = try await login.query("SELECT session_user::text").single().string(0)
      if isRestricted { try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{north}')") }
      return try await body(login, name)
    }
  }
}
