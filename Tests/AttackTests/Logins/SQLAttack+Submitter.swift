extension SQLAttack {
  /// What a back-end tries.
  static let ofSubmitters: [SQLAttack] = [
    SQLAttack(
      .submitter, "submits an object that is none of this installation's, as another may be",
      """
      SELECT * FROM analysis.submit_in_batch(NULL, 0::smallint, ('{ann-north}', '{1}', '{1}', ARRAY[sha256('o')],
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{500}'), ARRAY['../other/object'::bytea],
        10::smallint, false)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "submits an object where images are in the database",
      """
      SELECT outcome, split_part(reason, ':', 1) FROM analysis.submit_object('ann-north', 'throat',
        (SELECT o_prefix || '202101/ab/' || repeat('0', 32) FROM analysis.image_store()), sha256('o'), 500)
      """, .answers("(refused,objects_refused)")),
    SQLAttack(
      .submitter, "reads where webhooks are", "SELECT * FROM analysis.list_webhooks()", .refused("42501")),
    SQLAttack(
      .submitter, "reads the events of webhooks", "SELECT * FROM analysis.webhook_event", .refused("42501")),
    SQLAttack(
      .submitter, "submits for a person whom nobody added",
      "SELECT o_outcome FROM (SELECT outcome AS o_outcome FROM analysis.submit_image('mallory', 'throat', E'\\\\xffd8ff'::bytea)) t",
      .answers("(refused)")),
    SQLAttack(
      .submitter, "submits a type that there is not",
      "SELECT outcome FROM analysis.submit_image('ann-north', 'nose', E'\\\\xffd8ff'::bytea)",
      .answers("(refused)")),
    SQLAttack(
      .submitter, "submits a picture larger than any may be",
      """
      SELECT outcome FROM analysis.submit_image(
        'ann-north', 'throat', decode(repeat('00', 10000001), 'hex'))
      """, .answers("(refused)")),
    SQLAttack(
      .submitter, "submits for the year 294000",
      "SELECT outcome FROM analysis.submit_image('ann-north', 'throat', E'\\\\xffd8ff'::bytea, p_at => '294000-01-01')",
      .answers("(refused)")),
    SQLAttack(
      .submitter, "submits under a key without end",
      "SELECT outcome FROM analysis.submit_image('ann-north', 'throat', E'\\\\xffd8ff'::bytea, p_key => repeat('k', 1000000))",
      .answers("(refused)")),
    SQLAttack(
      .submitter, "submits with lists of different lengths",
      """
      SELECT * FROM analysis.submit(0::smallint, '{ann-north,ann-north}', '{1}', '{2}', '{x}', '{x}', NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, 10::smallint, NULL, NULL)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "submits jobs with more attempts than there may be",
      """
      SELECT * FROM analysis.submit(0::smallint, '{ann-north}', '{1}', '{2}', ARRAY[sha256('x')], ARRAY['x'::bytea], NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, 32767::smallint, NULL, NULL)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "names another's picture by its hash",
      """
      SELECT o_outcome FROM analysis.submit(0::smallint, '{ann-north}', '{1}', '{2}',
        ARRAY[sha256(convert_to('confided sue-south', 'UTF8'))], ARRAY[NULL::bytea], NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, 10::smallint, NULL, NULL)
      """, .answers("(refused)")),
    SQLAttack(
      .submitter, "names another's picture by its hash, alone",
      """
      SELECT outcome FROM analysis.submit_one(0::smallint, NULL, ('ann-north', '1', '2',
        sha256(convert_to('confided sue-south', 'UTF8')), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        10::smallint)
      """, .answers("(refused)")),
    SQLAttack(
      .submitter, "submits one job with more attempts than there may be",
      """
      SELECT * FROM analysis.submit_one(0::smallint, 'x', ('ann-north', '1', '2', sha256('x'), NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL), 32767::smallint)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "submits into another back-end's batch",
      """
      SELECT * FROM analysis.submit_in_batch({batch}, 0::smallint, ('{ann-north}', '{1}', '{2}', ARRAY[sha256('x')],
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), ARRAY['x'::bytea], 10::smallint, false)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "submits an image into another back-end's batch",
      """
      SELECT * FROM analysis.submit_images('{ann-north}', '{throat}', ARRAY[E'\\\\xffd8ff'::bytea], p_batch => {batch})
      """,
      .refused("22023")),
    SQLAttack(
      .submitter, "submits with a reference without end",
      """
      SELECT outcome, argument FROM analysis.submit_images('{ann-north}', '{throat}', ARRAY[E'\\\\xffd8ff'::bytea],
        p_references => ARRAY[repeat('x', 1000000)])
      """,
      .answers("(refused,p_references)")),
    SQLAttack(
      .submitter, "makes a batch whose name turns the text beside it round",
      "SELECT analysis.open_batch('a' || chr(8238) || 'b')", .refused("22023")),
    SQLAttack(
      .submitter, "makes a batch under a key without end",
      "SELECT analysis.open_batch('x', repeat('x', 1000000))", .refused("22023")),
    SQLAttack(
      .submitter, "adds refusals to another back-end's batch",
      "SELECT analysis.add_refusals({batch}, '{u}', '{k}')",
      .refused("22023")),
    SQLAttack(
      .submitter, "asks what is paid for of more pictures than one call may",
      """
      SELECT * FROM analysis.billed_before(0::smallint, array_fill('ann-north'::text, ARRAY[100001]),
        array_fill(1::smallint, ARRAY[100001]), NULL, NULL)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "lists another back-end's batches",
      "SELECT * FROM analysis.list_batches(NULL, NULL, 1000, 1000000)",
      .nothing),
    SQLAttack(
      .submitter, "lists batches without end",
      "SELECT * FROM analysis.list_batches(NULL, NULL, 2147483647, 1)",
      .refused("22023")),
    SQLAttack(
      .submitter, "counts another back-end's batch",
      "SELECT * FROM analysis.batch_counts(0::smallint, ARRAY[{batch}]::bigint[])", .nothing),
    SQLAttack(
      .submitter, "asks why jobs of another back-end's batch died",
      "SELECT * FROM analysis.batch_causes(0::smallint, {batch}, 100)", .nothing),
    SQLAttack(
      .submitter, "finds the jobs of another back-end's batch",
      "SELECT * FROM analysis.find_jobs(0::smallint, jsonb_build_object('batch', {batch}), NULL, NULL, 100, 1)",
      .nothing),
    SQLAttack(
      .submitter, "finds another back-end's jobs by a reference that it guesses",
      """
      SELECT * FROM analysis.find_jobs(0::smallint, '{"reference": "confided"}', NULL, NULL, 100, 1)
      """, .nothing),
    SQLAttack(
      .submitter, "cancels more jobs than one call may",
      "SELECT * FROM analysis.cancel(0::smallint, (SELECT array_agg(i) FROM generate_series(1, 100001::bigint) i))",
      .refused("22023")),
    SQLAttack(
      .submitter, "reads results of another's jobs under a person that it names",
      "SELECT analysis.open_results('ann-north', ARRAY[{succeeded-south}]::bigint[])", .nothing),
    SQLAttack(
      .submitter, "cancels another back-end's job",
      "SELECT o_outcome FROM analysis.cancel(0::smallint, ARRAY[{waiting-south}]::bigint[])",
      .answers("(unknown)")),
    SQLAttack(
      .submitter, "reads results of another back-end's jobs, of a person that it names",
      "SELECT analysis.open_results('sue-south', ARRAY[{succeeded-south}]::bigint[])", .nothing),
    SQLAttack(
      .submitter, "looks for another back-end's jobs",
      "SELECT * FROM analysis.locate(0::smallint, ARRAY[{jobs}]::bigint[])", .nothing),
    SQLAttack(
      .submitter, "asks what became of another back-end's jobs",
      "SELECT * FROM analysis.jobs_ended(0::smallint, {month}::smallint, ARRAY[{jobs}]::bigint[])", .nothing),
    SQLAttack(
      .submitter, "submits more images than one call may",
      """
      SELECT * FROM analysis.submit_images(array_fill('ann-north'::text, ARRAY[1001]),
        array_fill('throat'::text, ARRAY[1001]), array_fill(E'\\\\xffd8ff'::bytea, ARRAY[1001]))
      """, .refused("22023")),
    SQLAttack(
      .submitter, "submits bytes that are no picture among many",
      "SELECT outcome FROM analysis.submit_images('{ann-north}', '{throat}', ARRAY['x'::bytea])",
      .answers("(refused)")),
    SQLAttack(
      .submitter, "learns by an error what is another's",
      """
      SELECT * FROM analysis.submit_images('{ann-north}', '{nose}', ARRAY[E'\\\\xffd8ff'::bytea], p_errors => true)
      """, .refused("22023")),
    SQLAttack(
      .submitter, "undoes the cancellation of another back-end's job",
      "SELECT o_outcome FROM analysis.uncancel(0::smallint, ARRAY[{waiting-south}]::bigint[])",
      .answers("(unknown)")),
    SQLAttack(
      .submitter, "undoes more cancellations than one call may",
      "SELECT * FROM analysis.uncancel(0::smallint, (SELECT array_agg(i) FROM generate_series(1, 100001::bigint) i))",
      .refused("22023")),
    SQLAttack(
      .submitter, "asks for the state of another back-end's job, of a person that it names",
      "SELECT * FROM analysis.job_state('sue-south', {dead-south})", .nothing),
    SQLAttack(
      .submitter, "waits for another back-end's job",
      "CALL analysis.wait_for('sue-south', {waiting-south}, '0 s')", .refused("P0002")),
    SQLAttack(
      .submitter, "waits without end", "CALL analysis.wait_for('sue-south', {waiting-south}, '1 day')",
      .refused("22023")),
    SQLAttack(
      .submitter, "asks about a transaction with words of its own",
      "SELECT analysis.is_open_transaction(repeat('x', 1000000))", .nothing),
    SQLAttack(
      .submitter, "reads what was found by a reading that another opened",
      "SELECT * FROM analysis.analyses_of('sue-south', '{reading}')", .refused("42501")),
    SQLAttack(.submitter, "reads who submits", "SELECT * FROM analysis.submitter", .refused("42501")),
    SQLAttack(
      .submitter, "reads results by a reading that another opened",
      "SELECT * FROM analysis.results_of('sue-south', '{reading}')", .refused("42501")),
    SQLAttack(
      .submitter, "guesses a reading", "SELECT * FROM analysis.results_of('sue-south', '1-1700000000000000')",
      .refused("42501")),
    SQLAttack(
      .submitter, "opens more results than one entry may name",
      "SELECT analysis.open_results('ann-north', (SELECT array_agg(i) FROM generate_series(1, 1001::bigint) i))",
      .refused("22023")),
    SQLAttack(
      .submitter, "looks for jobs by the million",
      "SELECT count(*) FROM analysis.locate(0::smallint, (SELECT array_agg(i) FROM generate_series(1, 1000000::bigint) i))",
      .refused("22023")),
    SQLAttack(
      .submitter, "asks what became of jobs by the million",
      """
      SELECT count(*) FROM analysis.jobs_ended(
        0::smallint, {month}::smallint, (SELECT array_agg(i) FROM generate_series(1, 1000000::bigint) i))
      """, .refused("22023")),
    SQLAttack(
      .submitter, "names a month that there is not", "SELECT analysis.period_text(32767::smallint)",
      .tellsNothing),
    SQLAttack(
      .submitter, "changes how large a picture may be",
      "SELECT analysis.set_setting('image_bytes_ear', '1', '')",
      .refused("42501")),
    SQLAttack(
      .submitter, "learns from the rules of pictures", "SELECT count(*) FROM analysis.image_rules()",
      .answers("(2)")),
    SQLAttack(
      .submitter, "wakes workers of a shard that there is not",
      "SELECT analysis.notify_workers(32767::smallint)",
      .tellsNothing),
    SQLAttack(
      .submitter, "wakes with its transaction workers of a shard that there is not",
      "SELECT analysis.wake_workers(32767::smallint)", .refused("22023")),
    SQLAttack(
      .submitter, "claims jobs",
      "SELECT * FROM analysis.claim(0::smallint, sha256('mine'), 1, '{5}', '{0}', '{1}', 1, 1000)",
      .refused("42501")),
    SQLAttack(
      .submitter, "reads pictures as a worker",
      "SELECT * FROM analysis.images_of_jobs(0::smallint, sha256('7'), {month}::smallint, '{700}', '{1}')",
      .refused("42501")),
    SQLAttack(
      .submitter, "reads the pictures of a worker's claim",
      "SELECT * FROM analysis.images_of_claim(0::smallint, sha256('7'), 700, 1, 4, 1000000)",
      .refused("42501")),
    SQLAttack(
      .submitter, "reads the causes of failures",
      "SELECT * FROM analysis.job_death(0::smallint, {dead-south})",
      .refused("42501")),
    SQLAttack(
      .submitter, "lists jobs",
      "SELECT * FROM analysis.list_jobs(0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 100, 100)",
      .refused("42501")),
    SQLAttack(
      .submitter, "adds a user",
      "SELECT * FROM analysis.add_user(0::smallint, 'mallory', 'premium', 'UTC', NULL, NULL)",
      .refused("42501")),
    SQLAttack(
      .submitter, "retries dead jobs for nothing", "SELECT * FROM analysis.retry_dead(0::smallint, '{1}')",
      .refused("42501")),
    SQLAttack(
      .submitter, "pauses everything", "SELECT analysis.pause('all', '', NULL, NULL)", .refused("42501")),
  ]
}
