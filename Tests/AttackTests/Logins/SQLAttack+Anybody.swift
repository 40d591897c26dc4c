extension SQLAttack {
  /// What every role may call, and what a login without a role tries.
  static let ofAnybody: [SQLAttack] =
    [
      SQLAttack(.stranger, "reads the jobs", "SELECT * FROM analysis.job", .refused("42501")),
      SQLAttack(
        .stranger, "reads a month's pictures", "SELECT bytes FROM analysis.image_p{month}", .refused("42501")),
      SQLAttack(
        .stranger, "submits", "SELECT * FROM analysis.submit_image('ann-north', 'throat', 'x'::bytea)",
        .refused("42501")),
      SQLAttack(
        .stranger, "wakes the workers", "SELECT analysis.notify_workers(0::smallint)", .refused("42501")),
      SQLAttack(
        .stranger, "takes a role", "GRANT analysis_worker TO {me}", .refused("42501")),
      SQLAttack(.stranger, "becomes the owner", "SET ROLE analysis_owner", .refused("42501")),
      SQLAttack(
        .stranger, "reads a file of the server", "SELECT pg_read_file('/etc/passwd')", .refused("42501")),
      SQLAttack(
        .stranger, "runs a program on the server", "COPY (SELECT 1) TO PROGRAM 'true'", .refused("42501")),
      SQLAttack(
        .retention, "fills the audit with a long name of a person and a machine",
        """
        SELECT length(current_setting('analysis.os_user')) FROM (
          SELECT analysis.act_as(repeat('x', 1000000), E'a\\nb', repeat('y', 1000000)) OFFSET 0) t(done) WHERE done IS NOT NULL
        """, .answers("(100)")),
      SQLAttack(
        .retention, "asks what another login sees", "SELECT * FROM analysis.clinics_seen('postgres')",
        .tellsNothing),
      SQLAttack(
        .retention, "asks whose data another login sees",
        "SELECT * FROM analysis.users_seen('postgres') LIMIT 1",
        .nothing),
      SQLAttack(
        .retention, "asks how a picture is stored", "SELECT * FROM analysis.image_keys(0::smallint)",
        .tellsNothing),
      SQLAttack(
        .retention, "asks under which keys webhooks' secrets are",
        "SELECT count(*) FROM analysis.webhook_keys() k WHERE k::text ~ 'confided'", .answers("(0)")),
      SQLAttack(
        .retention, "asks for a setting that is none", "SELECT analysis.setting_value(repeat('x', 1000000))",
        .nothing),
      SQLAttack(
        .retention, "asks for a month in a zone that is a file",
        "SELECT analysis.period_of(now(), '../../../etc/passwd')", .refused("22023")),
      SQLAttack(
        .retention, "asks for the shard of a name without end",
        "SELECT analysis.shard_of(repeat('x', 10000000))",
        .answers("(0)")),
      SQLAttack(
        .retention, "asks for the shards of a million names",
        "SELECT count(*) FROM analysis.shards_of(array_fill('x'::text, ARRAY[1000000]))", .tellsNothing),
      SQLAttack(
        .retention, "learns from what every program asks",
        """
        SELECT count(*), analysis.role_prefix() FROM (
          SELECT to_jsonb(s) FROM analysis.list_settings() s
          UNION ALL SELECT to_jsonb(m) FROM analysis.months() m
          UNION ALL SELECT to_jsonb(u) FROM analysis.unchained() u
          UNION ALL SELECT to_jsonb(r) FROM analysis.missing_rights() r
          UNION ALL SELECT to_jsonb(g) FROM analysis.role_rights() g) t(row) WHERE row::text ~ 'confided|south'
        """, .answers("(0,analysis)")),
      SQLAttack(
        .retention, "finds a way into the object store in what is said of it",
        "SELECT count(*) FROM analysis.image_store() s WHERE s::text ~ 'http|key|secret'", .answers("(0)")),
      SQLAttack(
        .retention, "reads which objects are of no image any more", "SELECT * FROM analysis.lost_object",
        .refused("42501")),
      SQLAttack(
        .retention, "says of a million objects that they are gone",
        "SELECT * FROM analysis.lost_objects(array_fill('x'::text, ARRAY[1000000]), '', 1)", .refused("22023")
      ),
      SQLAttack(
        .retention, "asks for the objects of a million images",
        "SELECT * FROM analysis.unnamed_objects(array_fill('x'::text, ARRAY[1000000]))", .refused("22023")),
      SQLAttack(
        .retention, "chains without end", "SELECT analysis.chain_audit(2147483647, true)", .refused("22023")),
    ]
    // What nobody but the owner may, by whoever has a role.
    + Attacker.unrestricted.flatMap { who in
      forbidden.map { tries, sql in SQLAttack(who, tries, sql, .refused("42501")) }
    }

  private static let forbidden: [(tries: String, sql: String)] = [
    ("sets what was used to nothing", "UPDATE analysis.usage SET used = 0"),
    ("adds usage", "INSERT INTO analysis.usage (shard, user_id, period) VALUES (0, 1, 24300)"),
    ("makes a plan cheaper", "UPDATE analysis.plan SET cost = 1"),
    ("lifts a limit", "INSERT INTO analysis.plan_limit VALUES (1, now(), NULL)"),
    ("moves a user to another zone", "UPDATE analysis.account SET zone = 'UTC'"),
    ("moves the ends of a user's months", "UPDATE analysis.account SET anchors = '{31}'"),
    ("removes users", "DELETE FROM analysis.account"),
    ("gives a user a plan", "INSERT INTO analysis.account_plan VALUES (0, 1, now(), 2)"),
    ("removes a statement", "DELETE FROM analysis.statement"),
    ("states a month", "INSERT INTO analysis.statement VALUES ('usage', 24300, now())"),
    ("changes a line of a statement", "UPDATE analysis.statement_line SET used = 0"),
    ("changes what is billed", "UPDATE analysis.statement_segment SET amount = 0"),
    ("makes analyses free", "UPDATE analysis.plan_price SET price = 0"),
    ("counts fewer analyses of a day", "UPDATE analysis.statement_day SET analyses = 0"),
    ("hides a condition", "DELETE FROM analysis.statement_condition"),
    ("puts another logo above statements", "UPDATE analysis.logo SET bytes = 'x'"),
    ("renames a clinic that was billed", "UPDATE analysis.statement_clinic SET name = 'x'"),
    ("switches on what a product has off", "UPDATE analysis.product SET off = '{}'"),
    ("changes a setting", "UPDATE analysis.setting SET value = '1'"),
    ("lifts the limits of submits", "UPDATE analysis.admission SET max_all = NULL, max_waiting = NULL"),
    ("removes results", "DELETE FROM analysis.result"),
    ("removes jobs", "DELETE FROM analysis.job"),
    ("removes pictures", "DELETE FROM analysis.image"),
    ("empties the pictures", "TRUNCATE analysis.image"),
    (
      "gives itself units back",
      "INSERT INTO analysis.refund (shard, period, user_id, job_id, reason) VALUES (0, 24300, 1, 1, 'x')"
    ),
    ("reads the salt of keys", "SELECT key_salt FROM analysis.account"),
    ("reads the hashes of keys", "SELECT key_hash FROM analysis.job"),
    ("reads the keys of submits", "SELECT * FROM analysis.idem"),
    ("reads references", "SELECT * FROM analysis.job_label"),
    ("takes jobs out of their batches", "UPDATE analysis.job_label SET batch_id = NULL"),
    ("reads batches", "SELECT * FROM analysis.batch"),
    ("reads what was refused in batches", "SELECT * FROM analysis.batch_refusal"),
    ("hides what was refused in batches", "DELETE FROM analysis.batch_refusal"),
    ("renames a batch", "UPDATE analysis.batch SET name = 'x'"),
    ("reads pictures", "SELECT bytes FROM analysis.image"),
    ("reads results", "SELECT conditions FROM analysis.result"),
    ("reads failures", "SELECT message FROM analysis.dead"),
    ("reads failed attempts", "SELECT message FROM analysis.attempt_error"),
    ("reads the view of jobs", "SELECT * FROM analysis.job_status"),
    ("reads the view of webhooks", "SELECT * FROM analysis.listed_webhook"),
    ("reads the view of the audit", "SELECT * FROM analysis.audit_entry"),
    ("reads what is owed", "SELECT * FROM analysis.refund"),
    ("reads whose turn it is", "SELECT * FROM analysis.fair_share"),
    ("reads on which terms users submit", "SELECT * FROM analysis.terms"),
    ("reads given up places", "SELECT * FROM analysis.freed_place"),
    ("reads the marks of lanes", "SELECT * FROM analysis.lane_clock"),
    ("moves a mark", "UPDATE analysis.lane_clock SET scan_from = 9223372036854775807"),
    ("reads the marks of what is due", "SELECT * FROM analysis.scan_mark"),
    ("hides what is due", "UPDATE analysis.scan_mark SET run_from = now()"),
    ("reads the turns", "SELECT * FROM analysis.maintenance"),
    ("takes all turns", "UPDATE analysis.maintenance SET next_at = 'infinity'"),
    ("reads lines of statements", "SELECT * FROM analysis.statement_line"),
    ("reads what is billed", "SELECT * FROM analysis.statement_segment"),
    ("reads conditions of clinics", "SELECT * FROM analysis.statement_condition"),
    ("takes the whole queue", "DELETE FROM analysis.ready"),
    ("takes what is scheduled", "DELETE FROM analysis.scheduled"),
    ("takes leases", "UPDATE analysis.lease SET worker_id = 1"),
    ("ends a pause", "UPDATE analysis.pause SET resumed_at = now()"),
    ("hides a worker", "DELETE FROM analysis.worker"),
    ("changes a gauge", "UPDATE analysis.gauge SET value = 0"),
    ("hides what waits", "UPDATE analysis.lane_count SET waiting = 0"),
    ("makes old counts new", "UPDATE analysis.shard_count SET counted_at = 'infinity'"),
    ("removes the history of the queue", "DELETE FROM analysis.queue_history"),
    ("says that a month is made", "INSERT INTO analysis.partition_made VALUES (30000)"),
    ("says that a month was purged", "INSERT INTO analysis.purged_month VALUES (24300, now())"),
    ("forges the list of migrations", "DELETE FROM analysis.schema_migration"),
    ("forges the list of functions", "DELETE FROM analysis.schema_function"),
    ("removes the audit", "DELETE FROM analysis.audit"),
    ("changes the audit", "UPDATE analysis.audit SET role = 'nobody'"),
    (
      "puts in an entry",
      "INSERT INTO analysis.audit_draft (at, role, action, object) VALUES (now(), 'x', 'x', 'x')"
    ),
    ("moves the end of the audit", "UPDATE analysis.audit_head SET id = 0"),
    ("sees all clinics again", "DELETE FROM analysis.clinic_viewer"),
    ("renames a clinic", "UPDATE analysis.clinic SET name = 'x'"),
    ("changes a profile", "UPDATE analysis.profile SET email = 'x'"),
    ("makes a table in the schema", "CREATE TABLE analysis.mine (a int)"),
    (
      "makes a function in the schema",
      "CREATE FUNCTION analysis.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'"
    ),
    (
      "replaces a function",
      "CREATE OR REPLACE FUNCTION analysis.caller() RETURNS name LANGUAGE sql AS 'SELECT NULL::name'"
    ),
    ("drops a table", "DROP TABLE analysis.usage"),
    ("switches the rows' rules off", "ALTER TABLE analysis.usage DISABLE ROW LEVEL SECURITY"),
    ("drops a rule", "DROP POLICY clinic ON analysis.account"),
    ("gives itself another role", "GRANT analysis_administrator TO {me}"),
    ("makes a login", "CREATE ROLE {me}_too LOGIN"),
    ("reads the server's passwords", "SELECT rolpassword FROM pg_authid"),
    ("sees others' statements logged to it", "SET log_statement = 'all'"),
    ("turns replication against the disk", "SELECT pg_create_physical_replication_slot('x')"),
    ("switches triggers off", "SET session_replication_role = 'replica'"),
  ]
}
