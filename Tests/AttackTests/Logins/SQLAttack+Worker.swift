extension SQLAttack {
  /// What a worker's login tries: with a number of its own, with another's, and without bounds.
  static let ofWorkers: [SQLAttack] = [
    SQLAttack(
      .worker, "takes more jobs than fit into memory",
      "SELECT * FROM analysis.claim(0::smallint, sha256('mine'), 1, '{5}', '{0}', '{1}', 2147483647, 1000)",
      .refused("22023")),
    SQLAttack(
      .worker, "takes jobs for ever",
      "SELECT * FROM analysis.claim(0::smallint, sha256('mine'), 1, '{5}', '{0}', '{1}', 1, 2147483647)",
      .refused("22023")
    ),
    SQLAttack(
      .worker, "tells of more ended jobs than there can be",
      """
      SELECT analysis.notify_ended(array_fill(0::smallint, ARRAY[10001]), array_fill(1::bigint, ARRAY[10001]))
      """, .refused("22023")),
    SQLAttack(
      .worker, "looks for events of webhooks in shards without end",
      "SELECT * FROM analysis.due_deliveries(array_fill(0::smallint, ARRAY[1025]))", .refused("22023")),
    SQLAttack(
      .worker, "takes all events of webhooks",
      "SELECT * FROM analysis.claim_deliveries(0::smallint, sha256('mine'), '{}', 10, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .worker, "says that another worker's event was delivered",
      """
      SELECT * FROM analysis.finish_deliveries(0::smallint, sha256('mine'), ARRAY[{event}]::bigint[], '{delivered}',
        '{NULL}', '{NULL}')
      """, .nothing),
    SQLAttack(
      .worker, "switches a webhook off by an event that another worker has",
      """
      SELECT * FROM analysis.finish_deliveries(0::smallint, sha256('7'), ARRAY[{event}]::bigint[], '{gone}',
        '{NULL}', '{NULL}')
      """, .nothing),
    SQLAttack(
      .worker, "removes sent events of webhooks, without end",
      "SELECT analysis.purge_deliveries(0::smallint, 2147483647)", .refused("22023")),
    SQLAttack(
      .worker, "removes events of webhooks that are still to be sent",
      "SELECT analysis.purge_deliveries(0::smallint, 100)",
      .answers("(0)")),
    SQLAttack(
      .worker, "reads the webhooks' addresses and secrets", "SELECT url, secret FROM analysis.webhook",
      .refused("42501")),
    SQLAttack(
      .worker, "completes another worker's jobs with a secret of its own",
      """
      SELECT c.* FROM analysis.complete(0::smallint, sha256('mine'), '{{lease}}', ARRAY[{running-south}]::bigint[], '{a}', NULL,
        '{[]}', '{0}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{1}', '{1}', NULL,
        NULL, 'x') c
      """, .nothing),
    SQLAttack(
      .worker, "fails another worker's jobs with a secret of its own",
      """
      SELECT o_outcome FROM analysis.fail(0::smallint, sha256('mine'), '{{lease}}', ARRAY[{running-south}]::bigint[], '{NULL}',
        '{true}', '{server}', NULL, '{no}', NULL, NULL, '{1}', '{false}', NULL)
      """, .answers("(stale)")),
    SQLAttack(
      .worker, "releases another worker's jobs with a secret of its own",
      "SELECT * FROM analysis.release(0::smallint, sha256('mine'), '{{lease}}', ARRAY[{running-south}]::bigint[], 0)",
      .nothing),
    SQLAttack(
      .worker, "disclaims another worker's lease with a secret of its own",
      "SELECT analysis.disclaim(0::smallint, sha256('mine'), {lease}, 1)",
      .answers("(0)")),
    SQLAttack(
      .worker, "reads the pictures of another's lease with a secret of its own",
      "SELECT o_image FROM analysis.images_of_jobs(0::smallint, sha256('mine'), {month}::smallint, '{{lease}}', ARRAY[{running-south}]::bigint[])",
      .refused("40001")),
    SQLAttack(
      .worker, "reads the pictures of another's claim with a secret of its own",
      "SELECT o_image FROM analysis.images_of_claim(0::smallint, sha256('mine'), {lease}, 4, 4, 1000000)",
      .nothing),
    SQLAttack(
      .worker,
      "reads the pictures of another's claim with the secret of the worker that made it, which another login has",
      "SELECT o_image FROM analysis.images_of_claim(0::smallint, sha256('7'), {lease}, 4, 4, 1000000)",
      .nothing),
    SQLAttack(
      .worker, "asks where a million pictures are",
      "SELECT * FROM analysis.image_objects(0::smallint, {month}::smallint, array_fill(1::bigint, ARRAY[1000000]))",
      .refused("22023")),
    SQLAttack(
      .worker, "reads the pictures of more leases than a claim has",
      "SELECT o_image FROM analysis.images_of_claim(0::smallint, sha256('mine'), 0, 2147483647, 4, 1000000)",
      .refused("22023")),
    SQLAttack(
      .worker,
      "completes another worker's jobs with the secret of the worker that holds the lease, which another login has",
      """
      SELECT c.* FROM analysis.complete(0::smallint, sha256('7'), '{{lease}}', ARRAY[{running-south}]::bigint[], '{a}', NULL,
        '{[]}', '{0}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{1}', '{1}', NULL,
        NULL, 'x') c
      """, .nothing),
    SQLAttack(
      .worker,
      "fails another worker's jobs with the secret of the worker that holds the lease, which another login has",
      """
      SELECT o_outcome FROM analysis.fail(0::smallint, sha256('7'), '{{lease}}', ARRAY[{running-south}]::bigint[], '{NULL}',
        '{true}', '{server}', NULL, '{no}', NULL, NULL, '{1}', '{false}', NULL)
      """, .answers("(stale)")),
    SQLAttack(
      .worker,
      "releases another worker's jobs with the secret of the worker that holds the lease, which another login has",
      "SELECT * FROM analysis.release(0::smallint, sha256('7'), '{{lease}}', ARRAY[{running-south}]::bigint[], 0)",
      .nothing),
    SQLAttack(
      .worker,
      "disclaims another worker's lease with the secret of the worker that holds the lease, which another login has",
      "SELECT analysis.disclaim(0::smallint, sha256('7'), {lease}, 1)",
      .answers("(0)")),
    SQLAttack(
      .worker,
      "reads the pictures of another's lease with the secret of the worker that holds the lease, which another login has",
      "SELECT o_image FROM analysis.images_of_jobs(0::smallint, sha256('7'), {month}::smallint, '{{lease}}', ARRAY[{running-south}]::bigint[])",
      .refused("40001")),
    SQLAttack(
      .worker, "holds another worker's lease",
      "SELECT * FROM analysis.heartbeat(0::smallint, sha256('7'), '{{lease}}', 60000, 'host', 1, 'x', 0)",
      .nothing),
    SQLAttack(
      .worker, "asks for the number of another worker, whose secret it has",
      "SELECT analysis.worker_number(sha256('7')) IN (SELECT worker_id FROM analysis.lease)", .answers("(f)")),
    SQLAttack(
      .worker, "is a worker without a secret",
      "SELECT * FROM analysis.claim(0::smallint, ''::bytea, 1, '{5}', '{0}', '{1}', 1, 1000)",
      .refused("22023")),
    SQLAttack(
      .worker, "reports as another worker",
      "SELECT count(*) FROM (SELECT analysis.record_report(0::smallint, sha256('7'), '{}') OFFSET 0) t",
      .answers("(1)")),
    SQLAttack(
      .worker, "ends another worker", "SELECT analysis.retire(0::smallint, sha256('7'))", .nothing),
    SQLAttack(
      .worker, "reads pictures of jobs that nobody holds",
      """
      SELECT o_image FROM analysis.images_of_jobs(
        0::smallint, sha256('mine'), {month}::smallint, '{1}', ARRAY[{waiting-south}]::bigint[])
      """, .refused("40001")),
    SQLAttack(
      .worker, "rescues leases that are held", "SELECT o_requeued FROM analysis.rescue(0::smallint, 10, 0)",
      .answers("(0)")),
    SQLAttack(
      .worker, "rescues without end", "SELECT * FROM analysis.rescue(0::smallint, 2147483647, 0)",
      .refused("22023")),
    SQLAttack(
      .worker, "stops the rescue for 24 days", "SELECT analysis.take_turn(0::smallint, 'rescue', 2147483647)",
      .refused("22023")),
    SQLAttack(
      .worker, "fills the table of turns", "SELECT analysis.take_turn(0::smallint, 'mine', 1000)",
      .refused("22023")),
    SQLAttack(
      .worker, "promotes without end", "SELECT analysis.promote(0::smallint, 2147483647)", .refused("22023")),
    SQLAttack(
      .worker, "applies refunds without end", "SELECT analysis.apply_refunds(0::smallint, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .worker, "moves a lane's mark beyond all jobs",
      "SELECT o_scan_from < 9223372036854775807 FROM analysis.tick(0::smallint, '{5}', '{9223372036854775807}')",
      .tellsNothing),
    SQLAttack(
      .worker, "sweeps a shard that there is not", "SELECT analysis.sweep(32767::smallint)", .tellsNothing),
    SQLAttack(
      .worker, "asks for work of a million shards",
      "SELECT * FROM analysis.work(array_fill(0::smallint, ARRAY[1000000]), '{5}', true, true)",
      .refused("22023")),
    SQLAttack(
      .worker, "makes months without end", "SELECT analysis.prepare_months()", .answers("(0)")),
    SQLAttack(
      .worker, "learns from the gauges", "SELECT count(*) FROM (SELECT analysis.refresh_gauges()) t",
      .answers("(1)")),
    SQLAttack(
      .worker, "counts a million shards",
      "SELECT analysis.refresh_counts(array_fill(0::smallint, ARRAY[1000000]))", .refused("22023")),
    SQLAttack(
      .worker, "fills the table of counts with shards that there are not",
      "SELECT analysis.refresh_counts('{32767}')", .refused("22023")),
    SQLAttack(
      .worker, "records in the audit what it did not do",
      "SELECT analysis.audit_worker('erase', sha256('7'), '{}')",
      .refused("22023")),
    SQLAttack(
      .worker, "records a report without end",
      "SELECT analysis.record_report(0::smallint, sha256('mine'), jsonb_build_object('x', repeat('x', 1000000)))",
      .refused("22023")),
    SQLAttack(
      .worker, "reads results", "SELECT analysis.open_results('sue-south', '{1}')", .refused("42501")),
    SQLAttack(
      .worker, "submits", "SELECT * FROM analysis.submit_image('ann-north', 'throat', 'x'::bytea)",
      .refused("42501")),
    SQLAttack(
      .worker, "cancels", "SELECT * FROM analysis.cancel(0::smallint, '{1}')", .refused("42501")),
    SQLAttack(
      .worker, "reads names", "SELECT name FROM analysis.profile", .refused("42501")),
    SQLAttack(
      .worker, "reads references of users", "SELECT user_ref FROM analysis.account", .refused("42501")),
  ]
}
