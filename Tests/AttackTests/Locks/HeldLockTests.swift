import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

/// Each function that a role may call and that can lock something is called in a transaction that stays open, idle or in
/// a statement that does not end, with the login's time limits set to 0 first, while others do their work.
@Suite("A login that stays in its transaction holds up nobody else's work")
struct HeldLockTests {
  private static let secret = "sha256('1')"
  private static let leased = "0::smallint, \(secret), '{100}'::bigint[], array[job('leased')]"
  private static let failed =
    "'{true}', '{server}', NULL, '{no}', NULL, NULL, '{1}'::smallint[], '{false}', NULL"
  private static let purge = "now(), false, true"

  /// An object of a user's, under a key that ends so.
  private static func object(of user: String, _ end: String) -> String {
    """
    analysis.submit_object('\(user)', 'throat', (SELECT o_prefix || '202101/ab/' || md5('\(end)') FROM analysis.image_store()),
      sha256('\(end)'), 500, p_encrypted_by => 5, p_wrapped_key => decode(repeat('07', 72), 'hex'))
    """
  }

  /// How each is called so that it does its work. What is in one role's functions and not here fails the test.
  private static let calls: [String: String] = [
    "submit": """
    analysis.submit(0::smallint, '{ann}', '{1}', '{1}', ARRAY[sha256('new')], ARRAY['new'::bytea], NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, 10::smallint, NULL, NULL)
    """,
    "submit_one": """
    analysis.submit_one(0::smallint, 'new'::bytea, ('ann', '1', '1', sha256('new'), NULL, NULL, NULL, NULL, NULL, NULL, NULL,
      NULL, NULL), 10::smallint)
    """,
    "open_batch": "analysis.open_batch('held', 'held')",
    "submit_in_batch": """
    analysis.submit_in_batch(job('batch'), 0::smallint, ('{ann}', '{1}', '{1}', ARRAY[sha256('new')],
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{held}', NULL), ARRAY['new'::bytea], 10::smallint, true)
    """,
    "add_refusals": "analysis.add_refusals(job('batch'), '{ann}', '{held}')",
    "submit_image": "analysis.submit_image('ann', 'throat', E'\\\\xffd8ff')",
    "submit_images": """
    analysis.submit_images('{ann}', '{throat}', ARRAY[E'\\\\xffd8ff'::bytea], p_batch => job('batch'),
      p_references => '{held}')
    """,
    "submit_object": object(of: "ann", "held"),
    "uncancel": "analysis.uncancel(0::smallint, array[job('undone')])",
    "is_open_transaction": "analysis.is_open_transaction('no')",
    "notify_ended": "analysis.notify_ended('{0}', '{1}')",
    "notify_workers": "analysis.notify_workers(0::smallint)",
    "wake_workers": "analysis.wake_workers(0::smallint)",
    "cancel": "analysis.cancel(0::smallint, array[job('own')])",
    "retry_dead": "analysis.retry_dead(0::smallint, array[job('dead')])",
    "open_results": "analysis.open_results('ann', array[job('done')])",
    "claim": "analysis.claim(0::smallint, \(secret), 900, '{5}', '{0}', '{1}', 1, 60000)",
    "tick": "analysis.tick(0::smallint, '{4,5,6,8}', '{1,1,1,1}', true)",
    "sweep": "analysis.sweep(0::smallint)",
    "heartbeat": "analysis.heartbeat(0::smallint, \(secret), '{100}', 60000, 'host', 1, 'test', 0)",
    "record_report": "analysis.record_report(0::smallint, \(secret), '{}')",
    "retire": "analysis.retire(0::smallint, \(secret))",
    "complete": """
    analysis.complete(\(leased), '{a}', ARRAY[NULL::timestamptz], '{"[]"}', '{0}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
      NULL, NULL, '{-1}', '{-1}', '{false}', '{false}', '{1}', '{1}', NULL, NULL, 'test')
    """,
    "fail": "analysis.fail(\(leased), ARRAY[NULL::bigint], \(failed))",
    "release": "analysis.release(\(leased), 0)",
    "disclaim": "analysis.disclaim(0::smallint, \(secret), 100, 1)",
    "rescue": "analysis.rescue(0::smallint, 100, 0)",
    "promote": "analysis.promote(0::smallint, 1)",
    "apply_refunds": "analysis.apply_refunds(0::smallint, 1)",
    "take_turn": "analysis.take_turn(0::smallint, 'sweep', 1000)",
    "refresh_gauges": "analysis.refresh_gauges()",
    "refresh_counts": "analysis.refresh_counts('{0}')",
    "prepare_months": "analysis.prepare_months()",
    "audit_worker": "analysis.audit_worker('worker_start', \(secret), NULL)",
    "close_usage": "analysis.close_usage((analysis.period_of(now(), 'UTC') - 2)::smallint)",
    "open_conditions": "analysis.open_conditions(24321::smallint, NULL)",
    "open_analyses": "analysis.open_analyses(24321::smallint, NULL)",
    "pause": "analysis.pause('type', 'ear', 'held', NULL)",
    "resume": "analysis.resume('type', 'throat')",
    "add_user": "analysis.add_user(0::smallint, 'held', 'free', 'UTC', NULL, NULL)",
    "import_users": """
    analysis.import_users(0::smallint, '[{"user": "ann", "zone": "Asia/Jakarta"}, {"user": "new"}]', true, false)
    """,
    "rename_user": "analysis.rename_user(0::smallint, 'ann', 'anna')",
    "set_plan": "analysis.set_plan(0::smallint, 'ann', 'free', NULL)",
    "set_zone": "analysis.set_zone(0::smallint, 'ann', 'Asia/Jakarta')",
    "set_period": "analysis.set_period(0::smallint, 'ann', 15::smallint, NULL)",
    "set_photo": "analysis.set_photo(0::smallint, 'ann', 'https://example.com/a')",
    "save_profile": "analysis.save_profile(0::smallint, 1, 'Ann', NULL, NULL, NULL, NULL)",
    "set_plan_limit": "analysis.set_plan_limit('free', 9, NULL)",
    "add_plan": "analysis.add_plan('held', 'Held', 9, 1000)",
    "set_plan_price": "analysis.set_plan_price('free', '1', 'EUR', NULL, false)",
    "open_statement": "analysis.open_statement(24321::smallint, 'north', NULL)",
    "add_clinic": "analysis.add_clinic('held')",
    "set_clinic": "analysis.set_clinic('north', 'both', 'x', 'x', ''::bytea, ''::bytea)",
    "set_product": "analysis.set_product('held', '{sharing}')",
    "assign_clinic": "analysis.assign_clinic(0::smallint, 'ann', NULL)",
    "grant_clinics": "analysis.grant_clinics('analysis_reporter', '{north}')",
    "revoke_clinics": "analysis.revoke_clinics('analysis_clinician', '{north}')",
    "lift_clinics": "analysis.lift_clinics('analysis_clinician')",
    "add_webhook": """
    analysis.add_webhook(0::smallint, 'ann', NULL, 'https://r.example.org/', decode(repeat('07', 150), 'hex'), false,
      false)
    """,
    "remove_webhook": "analysis.remove_webhook(job('webhook')::int)",
    "test_webhook": "analysis.test_webhook(job('webhook')::int)",
    "replay_webhook": "analysis.replay_webhook(job('webhook')::int, '2000-01-01', NULL, NULL, false)",
    "claim_deliveries": "analysis.claim_deliveries(0::smallint, \(secret), '{}', 10, 10)",
    "finish_deliveries": """
    analysis.finish_deliveries(0::smallint, \(secret), array[job('event')], '{failed}', ARRAY[NULL::text], ARRAY[NULL::bigint])
    """,
    "purge_deliveries": "analysis.purge_deliveries(0::smallint, 100)",
    "add_token": "analysis.add_token(0::smallint, 'ann', sha256('new'), 'held', NULL)",
    "revoke_tokens": "analysis.revoke_tokens(0::smallint, 'ann', NULL)",
    "add_login_code": "analysis.add_login_code(0::smallint, 'ann', sha256('another code'))",
    "gateway_begin_session": """
    analysis.gateway_begin_session(0::smallint, sha256('code'), NULL, 'held', sha256('1'), sha256('2'), sha256('3'))
    """,
    "gateway_renew_session": """
    analysis.gateway_renew_session(0::smallint, sha256('family'), sha256('turn'), sha256('1'), sha256('2'))
    """,
    "gateway_sessions": "analysis.gateway_sessions(0::smallint, sha256('ann'))",
    "gateway_end_sessions": "analysis.gateway_end_sessions(0::smallint, sha256('ann'), NULL)",
    "request_share": "analysis.request_share(0::smallint, 'ann', NULL, 0::smallint, 'third', NULL)",
    "accept_share": "analysis.accept_share(job('asked'))",
    "revoke_share": "analysis.revoke_share(job('share'))",
    "gateway_user": "analysis.gateway_user(0::smallint, sha256('ann'))",
    "gateway_set_profile": "analysis.gateway_set_profile(0::smallint, sha256('ann'), 'Ann', NULL)",
    "gateway_log_out": "analysis.gateway_log_out(0::smallint, sha256('ann'))",
    "gateway_submit": """
    analysis.gateway_submit(0::smallint, sha256('ann'), 'ann', 1::smallint, sha256('held'), 'held'::bytea, NULL,
      'held', NULL, NULL)
    """,
    "gateway_states": "analysis.gateway_states(0::smallint, sha256('ann'), array[job('own')])",
    "gateway_jobs": "analysis.gateway_jobs(0::smallint, sha256('ann'))",
    "gateway_open_results":
      "analysis.gateway_open_results(0::smallint, array[sha256('ann')], array[job('done')])",
    "gateway_open_history": "analysis.gateway_open_history(0::smallint, sha256('ann'), NULL, 10)",
    "gateway_share_request":
      "analysis.gateway_share_request(0::smallint, sha256('ann'), NULL, 'third', NULL)",
    "gateway_share_accept": "analysis.gateway_share_accept(0::smallint, sha256('bob'), job('share'))",
    "gateway_share_list": "analysis.gateway_share_list(0::smallint, sha256('ann'))",
    "gateway_share_revoke": "analysis.gateway_share_revoke(0::smallint, sha256('ann'), job('share'))",
    "gateway_shared": "analysis.gateway_shared(0::smallint, sha256('ann'))",
    "gateway_open_shared":
      "analysis.gateway_open_shared(0::smallint, sha256('ann'), job('share'), NULL, 10)",
    "gateway_shared_results": "analysis.gateway_shared(0::smallint, sha256('ann'))",
    "gateway_open_picture": "analysis.gateway_open_picture(0::smallint, sha256('ann'), job('done'))",
    "gateway_picture": "analysis.gateway_open_picture(0::smallint, sha256('ann'), job('done'))",
    "add_review": "analysis.add_review(0::smallint, job('done'), 'disagree', 'held', 'held')",
    "open_review_queue": "analysis.open_review_queue(NULL, NULL)",
    "open_review_list": "analysis.open_review_list(NULL, NULL, NULL)",
    "open_reviews": "analysis.open_reviews('agreement', 24321::smallint, 24321::smallint, NULL)",
    "await_submits": "analysis.await_submits()",
    "audit_key": "analysis.audit_key('remove_key', 77)",
    "set_setting": "analysis.set_setting('zone', 'Asia/Jakarta', 'UTC')",
    "erase_user": "analysis.erase_user(0::smallint, 'ann', NULL, true)",
    "erase_part": "analysis.erase_part(0::smallint, 'ann', NULL, true, NULL, NULL, 1)",
    "open_export": "analysis.open_export(0::smallint, 'ann')",
    "export_user": "analysis.open_export(0::smallint, 'ann')",
    "export_jobs": "analysis.open_export(0::smallint, 'ann')",
    "export_images": "analysis.open_export(0::smallint, 'ann')",
    "open_picture": "analysis.open_picture(0::smallint, job('done'))",
    "purge_month": "analysis.purge_month((analysis.period_of(now(), 'UTC') - 2)::smallint, now(), true, 0)",
    "purge_images": "analysis.purge_images(0::smallint, analysis.period_of(now(), 'UTC'), 0, 100, \(purge))",
    "purge_results":
      "analysis.purge_results(0::smallint, analysis.period_of(now(), 'UTC'), 0, 100, \(purge))",
    "purge_dead": "analysis.purge_dead(0::smallint, 0, 100, \(purge))",
    "purge_events": "analysis.purge_events(0::smallint, 100, \(purge))",
    "purge_usage": "analysis.purge_usage(100, \(purge))",
    "purge_audit": "analysis.purge_audit(100, now(), false, 1000)",
    "lost_objects": "analysis.lost_objects('{lost}', '', 100)",
    "index_images": "analysis.index_images((analysis.period_of(now(), 'UTC') - 1)::smallint, now())",
    "act_as": "analysis.act_as('somebody', 'somewhere', 'held')",
    "chain_audit": "analysis.chain_audit(10, true)",
  ]

  /// How long each function waits for a lock at most. One that waits for longer holds up others for longer.
  private static let bounds: [String: String] = [
    "100ms": "refresh_counts refresh_gauges take_turn tick",
    "200ms": "purge_month",
    "500ms": "claim finish_deliveries promote sweep",
    "1500ms": "complete disclaim fail release retire",
    "2s": """
    cancel claim_deliveries lock_audit lock_jobs_of pause prepare_months purge_dead purge_deliveries purge_events \
    purge_images purge_results purge_usage rescue resume retry_dead uncancel
    """,
    "5s": """
    accept_share add_clinic add_login_code add_plan add_review add_token add_user add_webhook assign_clinic \
    gateway_begin_session gateway_end_sessions gateway_log_out gateway_renew_session gateway_set_profile \
    gateway_share_accept gateway_share_request gateway_share_revoke grant_clinics import_users lift_clinics \
    remove_webhook rename_user replay_webhook request_share revoke_clinics revoke_share revoke_tokens \
    rewrap_webhook save_profile set_clinic set_period set_photo set_plan set_plan_limit \
    set_plan_price set_product set_setting set_zone test_webhook
    """,
    "10s": "add_refusals close_usage move_images open_batch submit submit_in_batch submit_one",
    "20s": "erase_part erase_user",
  ]

  /// What others do meanwhile for another user, and by another worker: all of it within the time, and no error.
  private static let work = [
    """
    analysis.submit(0::smallint, '{bob}', '{1}', '{1}', ARRAY[sha256('fresh')], ARRAY['fresh'::bytea], NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, 10::smallint, NULL, NULL)
    """,
    "analysis.claim(0::smallint, sha256('2'), 950, '{5}', '{0}', '{1}', 1, 60000)",
    "analysis.heartbeat(0::smallint, sha256('2'), '{500}', 60000, 'host', 1, 'test', 0)",
    """
    analysis.complete(0::smallint, sha256('2'), '{500}'::bigint[], array[job('other')], '{a}', ARRAY[NULL::timestamptz], '{"[]"}', '{0}',
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{-1}', '{-1}', '{false}', '{false}', '{1}', '{1}', NULL,
      NULL, 'test')
    """,
    "analysis.fail(0::smallint, sha256('2'), '{500}'::bigint[], array[job('other')], '{0}', \(failed))",
    "analysis.release(0::smallint, sha256('2'), '{500}'::bigint[], array[job('other')], 0)",
    "analysis.record_report(0::smallint, sha256('2'), '{}')", "analysis.retire(0::smallint, sha256('2'))",
    "analysis.work('{0}', '{4,5,6}', true, true)",
    "analysis.tick(0::smallint, '{4,5,6,8}', '{2,2,2,2}', true)", "analysis.sweep(0::smallint)",
    "analysis.promote(0::smallint, 100)", "analysis.apply_refunds(0::smallint, 100)",
    "analysis.rescue(0::smallint, 100, 0)", "analysis.take_turn(0::smallint, 'sweep', 1000)",
    "analysis.refresh_gauges()", "analysis.refresh_counts('{0}')", "analysis.prepare_months()",
    "analysis.chain_audit(1000, true)",
    "analysis.due_deliveries('{0}')", "analysis.claim_deliveries(0::smallint, sha256('2'), '{}', 10, 10)",
    "analysis.purge_deliveries(0::smallint, 100)",
    "analysis.cancel(0::smallint, array[job('other')])",
    "analysis.audit_worker('worker_start', sha256('2'), NULL)",
    "analysis.disclaim(0::smallint, sha256('2'), 500, 1)", "analysis.open_batch('other', 'other')",
    """
    analysis.submit_in_batch(job('theirs'), 0::smallint, ('{bob}', '{1}', '{1}', ARRAY[sha256('fresh')],
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{other}', NULL), ARRAY['fresh'::bytea], 10::smallint, true)
    """,
    "analysis.submit_image('bob', 'throat', E'\\\\xffd8ff')",
    """
    analysis.submit_images('{bob}', '{throat}', ARRAY[E'\\\\xffd8ff'::bytea], p_batch => job('theirs'),
      p_references => '{other}')
    """,
    object(of: "bob", "fresh"),
    "analysis.add_refusals(job('theirs'), '{bob}', '{other}')",
    "analysis.notify_ended('{0}', '{1}')", "analysis.notify_workers(0::smallint)",
    "analysis.wake_workers(0::smallint)",
    "analysis.open_results('bob', array[job('other')])", "analysis.open_picture(0::smallint, job('other'))",
    "analysis.open_export(0::smallint, 'bob')", "analysis.open_conditions(24321::smallint, NULL)",
    "analysis.open_analyses(24321::smallint, NULL)",
    """
    analysis.gateway_submit(0::smallint, sha256('bob'), 'bob', 1::smallint, sha256('fresh'), 'fresh'::bytea, NULL,
      'fresh', NULL, NULL)
    """,
    "analysis.gateway_ended(0::smallint, array[sha256('bob')], array[job('other')])",
    "analysis.gateway_set_profile(0::smallint, sha256('bob'), 'Bob', NULL)",
    "analysis.gateway_open_history(0::smallint, sha256('bob'), NULL, 10)",
    "analysis.open_reviews('agreement', 24321::smallint, 24321::smallint, NULL)",
  ]

  /// What others may have to try again: within a bounded time they get an error that says why.
  private static let office = [
    "analysis.await_submits()", "analysis.pause('type', 'ear', 'other', NULL)",
    "analysis.resume('type', 'throat')",
    "analysis.set_setting('zone', 'Europe/Berlin', 'UTC')", "analysis.test_webhook(job('webhook')::int)",
    "analysis.add_user(0::smallint, 'held', 'free', 'UTC', NULL, NULL)", "analysis.add_clinic('held')",
    "analysis.set_plan_limit('free', 8, NULL)", "analysis.retry_dead(0::smallint, array[job('dead')])",
    "analysis.close_usage((analysis.period_of(now(), 'UTC') - 2)::smallint)",
    "analysis.purge_audit(100, now(), false, 1000)",
    "analysis.finish_deliveries(0::smallint, sha256('2'), array[job('told')], '{failed}', ARRAY[NULL::text], ARRAY[NULL::bigint])",
    "analysis.uncancel(0::smallint, array[job('undone')])",
    "analysis.set_plan(0::smallint, 'bob', 'free', NULL)",
    "analysis.import_users(0::smallint, '[{\"user\": \"bob\", \"zone\": \"Asia/Jakarta\"}]', true, false)",
    "analysis.rename_user(0::smallint, 'bob', 'bobby')",
    "analysis.set_zone(0::smallint, 'bob', 'Asia/Jakarta')",
    "analysis.set_period(0::smallint, 'bob', 15::smallint, NULL)",
    "analysis.set_photo(0::smallint, 'bob', 'https://example.com/a')",
    "analysis.save_profile(0::smallint, 2, 'Bob', NULL, NULL, NULL, NULL)",
    "analysis.assign_clinic(0::smallint, 'bob', 'north')",
    "analysis.set_clinic('north', NULL, NULL, NULL, ''::bytea, NULL)",
    "analysis.grant_clinics('analysis_reporter', '{north}')",
    "analysis.revoke_clinics('analysis_clinician', '{north}')",
    "analysis.lift_clinics('analysis_clinician')",
    """
    analysis.add_webhook(0::smallint, 'bob', NULL, 'https://r.example.org/', decode(repeat('07', 150), 'hex'), false,
      false)
    """,
    "analysis.remove_webhook(job('webhook')::int)",
    "analysis.replay_webhook(job('webhook')::int, '2000-01-01', NULL, NULL, false)",
    "analysis.add_token(0::smallint, 'bob', sha256('other'), NULL, NULL)",
    "analysis.revoke_tokens(0::smallint, 'bob', NULL)",
    "analysis.add_login_code(0::smallint, 'bob', sha256('other code'))",
    "analysis.request_share(0::smallint, 'bob', NULL, 0::smallint, 'third', NULL)",
    "analysis.revoke_share(job('share'))",
    "analysis.audit_key('remove_key', 78)",
    "analysis.add_review(0::smallint, job('done'), 'disagree', 'other', 'other')",
    "analysis.erase_user(0::smallint, 'bob', NULL, true)",
    "analysis.purge_month((analysis.period_of(now(), 'UTC') - 2)::smallint, now(), true, 0)",
    "analysis.purge_images(0::smallint, analysis.period_of(now(), 'UTC'), 0, 100, \(purge))",
    "analysis.purge_results(0::smallint, analysis.period_of(now(), 'UTC'), 0, 100, \(purge))",
    "analysis.purge_dead(0::smallint, 0, 100, \(purge))",
    "analysis.purge_events(0::smallint, 100, \(purge))", "analysis.purge_usage(100, \(purge))",
    "analysis.index_images((analysis.period_of(now(), 'UTC') - 1)::smallint, now())",
  ]

  /// A queue in which each call has something to do, and the numbers of its jobs by name.
  private func fill(_ queue: QueueFixture, _ login: ConnectionPool) async throws -> [String: Int64] {
    for user in ["ann", "bob", "third"] { try await queue.addUser(user) }
    func submit(_ user: String, _ image: String, at: Double? = nil) async throws -> Int64 {
      try #require(try await queue.submit([Ask(user, image: image, at: at)], on: login)[0].job)
    }
    var jobs: [String: Int64] = [:]
    jobs["done"] = try await submit("ann", "done")
    _ = try await queue.complete(try await queue.claim())
    jobs["dead"] = try await submit("ann", "dead")
    _ = try await queue.fail([jobs["dead"] ?? 0], leases: [try await queue.claim(1)[0].lease], delay: nil)
    jobs["leased"] = try await submit("ann", "leased")
    _ = try await queue.claim(1, lease: 100, lanes: [5], leaseDuration: 3_600_000, on: login)
    jobs["lost"] = try await submit("ann", "lost")
    _ = try await queue.claim(1, worker: 3, lease: 300, lanes: [5], leaseDuration: 3_600_000)
    jobs["other"] = try await submit("bob", "other")
    _ = try await queue.claim(1, worker: 2, lease: 500, lanes: [5], leaseDuration: 3_600_000)
    jobs["own"] = try await submit("ann", "own")
    jobs["undone"] = try await submit("ann", "undone")
    _ = try await queue.cancel([jobs["undone"] ?? 0], on: login)
    _ = try await submit("bob", "waiting")
    jobs["batch"] = try await login.query("SELECT analysis.open_batch('before')").single().int64(0)
    jobs["theirs"] = try await queue.pool.query("SELECT analysis.open_batch('theirs')").single().int64(0)
    jobs["webhook"] = Int64(
      try await queue.number(
        """
        SELECT analysis.add_webhook(0::smallint, 'ann', NULL, 'https://r.example.org/', decode(repeat('07', 150), 'hex'),
          false, false)
        """))
    try await queue.execute(
      """
      SELECT analysis.add_token(0::smallint, 'ann', sha256('ann'), NULL, NULL),
        analysis.add_token(0::smallint, 'bob', sha256('bob'), NULL, NULL),
        analysis.add_login_code(0::smallint, 'ann', sha256('first')),
        analysis.gateway_begin_session(0::smallint, sha256('first'), NULL, NULL, sha256('app'), sha256('family'),
          sha256('turn')),
        analysis.add_login_code(0::smallint, 'ann', sha256('code'))
      """)
    jobs["share"] = Int64(
      try await queue.number(
        "SELECT analysis.request_share(0::smallint, 'ann', NULL, 0::smallint, 'bob', NULL)")
    )
    // One that was asked of this login, which may be no clinician's.
    let me = try await login.query("SELECT session_user::text").single().string(0)
    jobs["asked"] = Int64(
      try await queue.number(
        """
        INSERT INTO analysis.share (shard, user_id, login, login_id, requested_at, requested_by)
        SELECT 0, user_id, '\(me)', '\(me)'::regrole, now(), 'x' FROM analysis.account WHERE user_ref = 'ann' RETURNING id
        """))
    // Each of two workers has taken one, and a third is due.
    for (name, worker, pool) in [
      ("event", "analysis.worker_number(sha256('1'))", login),
      ("told", "analysis.worker_number(sha256('2'))", queue.pool), ("due", "NULL::bigint", queue.pool),
    ] {
      let number = try await pool.query(SQLStatement("SELECT \(worker)")).single().int64IfPresent(0)
      jobs[name] = Int64(
        try await queue.number(
          """
          INSERT INTO analysis.webhook_event (shard, state, webhook_id, worker_id, attempts, at, due_at, tried_at)
          SELECT 0, 0, id, $1, 1, now(), now(), now() FROM analysis.webhook RETURNING id
          """, [.int64(number)]))
    }
    for user in ["ann", "bob"] { _ = try await submit(user, "later", at: try await queue.now(plus: 3600)) }
    try await queue.execute(
      """
      UPDATE analysis.setting SET value = 's3' WHERE name = 'image_store';
      UPDATE analysis.scheduled SET run_at = now() - interval '1 hour';
      UPDATE analysis.lease SET deadline = '-infinity' WHERE id = 300;
      UPDATE analysis.image SET used_at = '2000-01-01';
      UPDATE analysis.result SET finished_at = '2000-01-01';
      SELECT analysis.ensure_partitions((analysis.period_of(now(), 'UTC') - 2)::smallint, analysis.period_of(now(), 'UTC'));
      SELECT analysis.add_clinic('north'), analysis.pause('type', 'throat', 'before', NULL);
      SELECT analysis.grant_clinics('analysis_clinician', '{north}');
      SELECT analysis.assign_clinic(0::smallint, 'ann', 'north');
      SELECT analysis.audit_add('test', 'thing:draft');
      """)
    return jobs
  }

  /// A call with its jobs' numbers.
  private func sql(_ call: String, _ jobs: [String: Int64]) -> String {
    let named = jobs.reduce(call) { $0.replacing("job('\($1.key)')", with: "\($1.value)::bigint") }
    return "SELECT * FROM \(named)"
  }

  /// Shortens the time for which each function waits for a lock; what it was: `cancel=2s`.
  private func shortenLockTimeouts(_ queue: QueueFixture) async throws -> [String] {
    let bounds = try await queue.texts(
      """
      SELECT DISTINCT p.proname::text || '=' || split_part(c, '=', 2)
      FROM pg_proc p, unnest(p.proconfig) c
      WHERE p.pronamespace = 'analysis'::regnamespace AND c LIKE 'lock_timeout=%'
      """)
    try await queue.execute(
      """
      DO $$ BEGIN
        EXECUTE (
          SELECT string_agg(format('ALTER ROUTINE %s SET lock_timeout = %L', p.oid::regprocedure, '100ms'), ';')
          FROM pg_proc p
          WHERE p.pronamespace = 'analysis'::regnamespace AND p.proconfig::text LIKE '%lock_timeout=%');
      END $$
      """)
    return bounds
  }

  /// Does somebody else's work, and undoes it; the state with which it was refused.
  private func state(of sql: String, _ queue: QueueFixture) async throws -> String? {
    struct Undone: Error {}
    do {
      try await queue.pool.transaction { transaction in
        // Far more than the bounds: what is held without one ends by it, and fails the test.
        _ = try await transaction.query("SET LOCAL statement_timeout = '60s'")
        _ = try await transaction.query(sql)
        throw Undone()
      }
    } catch is Undone {
      return nil
    } catch let error as PostgreSQLError {
      return error.sqlState ?? "\(error)"
    }
    return nil
  }

  @Test("with whatever function of its role it does so", arguments: LeakTests.roles, LockHolder.allCases)
  func held(role: String, holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      // The bound is a setting of each function, and shorter here.
      let bounds = Self.bounds.flatMap { bound, names in names.split(separator: " ").map { "\($0)=\(bound)" }
      }
      #expect(try await shortenLockTimeouts(queue).sorted() == bounds.sorted())
      let roles = Set([role, "submitter", "worker"]).sorted()
      try await withLogin(of: roles, in: queue) { (login) async throws in
        let jobs = try await fill(queue, login)
        let functions = try await queue.texts(
          """
          SELECT DISTINCT p.proname::text FROM pg_proc p JOIN analysis.role_rights() d ON p.proname = ANY (d.o_functions)
          WHERE p.pronamespace = 'analysis'::regnamespace AND p.provolatile = 'v' AND p.prokind = 'f' AND d.o_role = '\(role)' ORDER BY 1
          """)
        for function in functions {
          let call = try #require(Self.calls[function], "\(function) has no call here")
          try await login.withConnection { (connection) async throws in
            try await connection.execute(
              script: """
                BEGIN; SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0
                """)
            _ = try await connection.query(sql(call, jobs))
            try await holder.stays(connection, in: queue) { () async throws in
              for work in Self.work {
                let state = try await state(of: sql(work, jobs), queue)
                #expect(state == nil, "\(function) is held: \(work.prefix(60))")
              }
              for work in Self.office {
                let state = try await state(of: sql(work, jobs), queue)
                #expect(state == nil || state == "55P03", "\(function) is held: \(work.prefix(60))")
              }
            }
            do {
              try await connection.execute(script: "ROLLBACK")
            } catch let error as PostgreSQLError where error.sqlState == "25P03" {
              // Who holds the head of the audit's chain was cut off.
            }
          }
        }
        #expect(functions.count > 1)
      }
    }
  }
}
