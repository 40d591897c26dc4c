extension SQLAttack {
  /// What the accounts try.
  static let ofReporters: [SQLAttack] = [
    SQLAttack(
      .reporter, "closes a month before it is over", "SELECT analysis.close_usage({month}::smallint, now())",
      .nothing),
    SQLAttack(
      .reporter, "says that it is next year",
      "SELECT analysis.close_usage({month}::smallint, now() + interval '1 year')",
      .refused("42501")),
    SQLAttack(
      .reporter, "reads diagnoses",
      "SELECT * FROM analysis.report_analyses({month}::smallint, '{reading}', NULL, 0::smallint, 0, 100)",
      .refused("42501")),
    SQLAttack(
      .reporter, "opens results", "SELECT analysis.open_results('sue-south', '{1}')", .refused("42501")),
    SQLAttack(
      .reporter, "reads conditions by a reading that it did not open",
      "SELECT * FROM analysis.report_conditions({month}::smallint, '{reading}')", .refused("42501")),
    SQLAttack(
      .reporter, "opens conditions with a false mark of a reading",
      "SELECT analysis.open_conditions({month}::smallint, jsonb_build_object('reading', '{reading}', 'x', repeat('x', 100000)))",
      .tellsNothing),
    SQLAttack(
      .reporter, "counts findings of a month that is none",
      "SELECT * FROM analysis.finding_counts(32767::smallint)",
      .tellsNothing),
    SQLAttack(
      .reporter, "reads names in the list of users", "SELECT name FROM analysis.profile", .refused("42501")),
    SQLAttack(
      .northernReporter, "counts another clinic's users",
      "SELECT o_user FROM analysis.list_users(0::smallint, '', 100)",
      .answers("(ann-north)")),
    SQLAttack(
      .northernReporter, "reads another clinic's usage",
      "SELECT user_ref FROM analysis.usage_report({month}::smallint, NULL, now()) WHERE user_ref IS NOT NULL",
      .answers("(ann-north)")),
    SQLAttack(
      .northernReporter, "reads the usage of another clinic by its name",
      "SELECT * FROM analysis.usage_lines({month}::smallint, NULL, now(), 'south', NULL, true)",
      .refused("22023")),
    SQLAttack(
      .northernReporter, "reads the usage of another clinic's patient",
      "SELECT * FROM analysis.usage_lines({month}::smallint, NULL, now(), NULL, 'sue-south', true)",
      .refused("22023")),
    SQLAttack(
      .northernReporter, "adds up every clinic's usage",
      "SELECT string_agg(user_ref, '/') FROM analysis.usage_lines({month}::smallint, NULL, now(), NULL, NULL, true)",
      .answers("(ann-north)")),
    SQLAttack(
      .northernReporter, "reads what another clinic is billed, by its name",
      "SELECT * FROM analysis.billed_lines({month}::smallint, NULL, now(), 'south', NULL, true)",
      .refused("22023")),
    SQLAttack(
      .northernReporter, "reads what another clinic's patient costs",
      "SELECT * FROM analysis.billed_lines({month}::smallint, NULL, now(), NULL, 'sue-south', true)",
      .refused("22023")),
    SQLAttack(
      .northernReporter, "reads everybody's bill",
      "SELECT string_agg(user_ref, '/') FROM analysis.billed_lines({month}::smallint, NULL, now(), NULL, NULL, true)",
      .answers("(ann-north)")),
    SQLAttack(
      .northernReporter, "counts users of all clinics",
      "SELECT string_agg(concat(coalesce(o_group, '-'), o_users), '/') FROM analysis.usage_groups('clinic', to_char(now() - interval '60 days', 'YYYY-MM-DD'), to_char(now() + interval '60 days', 'YYYY-MM-DD'), NULL, NULL)",
      .answers("(-1/north1)")),
    SQLAttack(
      .northernReporter, "adds up the days of another clinic's patient",
      "SELECT * FROM analysis.usage_groups('day', '2026-01-01', '2026-12-31', NULL, 'sue-south')",
      .refused("22023")),
    SQLAttack(
      .reporter, "adds up a thousand years",
      "SELECT * FROM analysis.usage_groups('day', '1700-01-01', '2699-12-31', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .northernReporter, "adds up another clinic's",
      "SELECT users FROM analysis.summary_report({month}::smallint, now())", .answers("(1)")),
    SQLAttack(
      .northernReporter, "counts another clinic's findings",
      "SELECT throat FROM analysis.finding_counts({month}::smallint)", .answers("(1)")),
    SQLAttack(
      .northernReporter, "counts another clinic's open jobs", "SELECT analysis.open_jobs({month}::smallint)",
      .answers("(2)")),
    SQLAttack(
      .northernReporter, "states a month for all clinics", "SELECT analysis.close_usage(24300::smallint)",
      .refused("42501")),
    SQLAttack(
      .northernReporter, "reads another clinic's statement",
      "SELECT * FROM analysis.statement_segments({month}::smallint, 'south', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .northernReporter, "reads another clinic's totals",
      "SELECT * FROM analysis.statement_totals({month}::smallint, 'south', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .northernReporter, "reads what another clinic used of its plans",
      "SELECT * FROM analysis.statement_plans({month}::smallint, 'south', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .northernReporter, "reads another clinic's days",
      "SELECT * FROM analysis.statement_days({month}::smallint, 'south')", .refused("22023")),
    SQLAttack(
      .northernReporter, "reads where another clinic is",
      "SELECT * FROM analysis.statement_letterhead({month}::smallint, 'south')", .refused("22023")),
    SQLAttack(
      .northernReporter, "reads the bill of another clinic's patient",
      "SELECT * FROM analysis.statement_segments({month}::smallint, NULL, 'sue-south', NULL)",
      .refused("22023")),
    SQLAttack(
      .northernReporter, "opens another clinic's statement",
      "SELECT analysis.open_statement({month}::smallint, 'south', NULL)", .refused("22023")),
    SQLAttack(
      .northernReporter, "reads what was found in its clinic without an entry in the audit",
      "SELECT * FROM analysis.statement_conditions({month}::smallint, 'north', '{reading}')",
      .refused("42501")),
    SQLAttack(
      .northernReporter, "sees what the closing of a month would state for all clinics",
      "SELECT o_users, o_used FROM analysis.preview_closing({month}::smallint, now())", .refused("42501")),
    SQLAttack(
      .reporter, "sees the closing of a month that is none",
      "SELECT * FROM analysis.preview_closing(32767::smallint, now())", .refused("22023")),
    SQLAttack(
      .northernReporter, "finds others in the list of months",
      "SELECT count(*) FROM (SELECT to_jsonb(m) FROM analysis.list_months(now()) m) t(row) WHERE row::text ~ 'south|confided'",
      .answers("(0)")),
    SQLAttack(
      .northernReporter, "finds more in the months that are due than that they are",
      """
      SELECT count(*) FROM analysis.months_due(now() + interval '1 year') m, jsonb_object_keys(to_jsonb(m)) k
      WHERE k NOT IN ('o_due_at', 'o_period')
      """, .answers("(0)")),
    SQLAttack(
      .reporter, "reads agreement by a reading that it did not open",
      "SELECT * FROM analysis.agreement_report({month}::smallint, {month}::smallint, '{reading}')",
      .refused("42501")),
    SQLAttack(
      .reporter, "reads calibration by a reading that it did not open",
      "SELECT * FROM analysis.calibration_report({month}::smallint, {month}::smallint, '{reading}')",
      .refused("42501")),
    SQLAttack(
      .reporter, "opens a report of reviews without end",
      "SELECT analysis.open_reviews('agreement', 24000::smallint, 32399::smallint, NULL)",
      .refused("22023")),
    SQLAttack(
      .reporter, "opens another report by the name of one of reviews",
      "SELECT analysis.open_reviews('analyses', {month}::smallint, {month}::smallint, NULL)",
      .refused("22023")),
    SQLAttack(
      .reporter, "reads what clinicians say of an analysis",
      "SELECT * FROM analysis.reviews_of('sue-south', '{reading}')", .refused("42501")),
    SQLAttack(
      .northernReporter, "learns from a count of one patient what was found",
      "SELECT red FROM analysis.finding_counts({month}::smallint)", .nothing),
    SQLAttack(
      .northernReporter, "learns a month's reviews from two ranges of months",
      "SELECT analysis.open_reviews('calibration', {month}::smallint, {month}::smallint + 1::smallint, NULL)",
      .refused("22023")),
    SQLAttack(
      .northernReporter, "lifts its own restriction", "SELECT analysis.lift_clinics('{me}')",
      .refused("42501")),
    SQLAttack(
      .northernReporter, "asks for another's limit",
      "SELECT * FROM analysis.limit_of(0::smallint, {sue}, now())", .nothing),
    SQLAttack(
      .northernReporter, "reads another clinic's account by the table",
      "SELECT user_ref FROM analysis.account WHERE user_id = {sue}", .nothing),
    SQLAttack(
      .northernReporter, "reads another clinic's counters by the table",
      "SELECT user_id FROM analysis.usage WHERE user_id = {sue}", .nothing),
    SQLAttack(
      .northernReporter, "reads another clinic's plan by the table",
      "SELECT user_id FROM analysis.account_plan WHERE user_id = {sue}", .nothing),
    SQLAttack(
      .northernReporter, "reads limits and plans, which are nobody's",
      "SELECT count(*) > 0 FROM analysis.plan_limit, analysis.plan",
      .answers("(t)")),
    SQLAttack(
      .northernReporter, "reads what statements there are", "SELECT count(*) FROM analysis.statement",
      .answers("(0)")),
    SQLAttack(
      .northernReporter, "asks about months and plans, which are nobody's",
      """
      SELECT count(*) FROM (
        SELECT to_jsonb(p) FROM analysis.list_plans() p
        UNION ALL SELECT to_jsonb(c) FROM analysis.list_plan_prices() c UNION ALL SELECT to_jsonb(d) FROM analysis.due_months(now()) d
        UNION ALL SELECT to_jsonb(m) FROM analysis.month_facts({month}::smallint, now()) m
        UNION ALL SELECT to_jsonb(analysis.current_month()) UNION ALL SELECT to_jsonb(analysis.statement_due({month}::smallint))
        UNION ALL SELECT to_jsonb(analysis.period_start({month}::smallint, 'UTC'))) t(row) WHERE row::text ~ 'south|confided'
      """, .answers("(0)")),
    SQLAttack(
      .northernReporter, "asks when a day begins in a zone that is a file",
      "SELECT analysis.day_start('2026-10-01', '../../../etc/passwd')", .refused("22023")),
    SQLAttack(
      .northernReporter, "asks when a month begins in a zone that is a file",
      "SELECT analysis.period_start({month}::smallint, '../../../etc/passwd')", .refused("22023")),
  ]

  /// What a doctor tries.
  static let ofClinicians: [SQLAttack] = [
    SQLAttack(
      .clinician, "reads results without an entry in the audit",
      "SELECT * FROM analysis.results_of('sue-south', '{reading}')", .refused("42501")),
    SQLAttack(
      .clinician, "reads the report without an entry in the audit",
      "SELECT * FROM analysis.report_analyses({month}::smallint, '{reading}', NULL, 0::smallint, 0, 100)",
      .refused("42501")),
    SQLAttack(
      .clinician, "reads the report in the transaction that opens it",
      """
      SELECT r.* FROM (SELECT analysis.open_analyses({month}::smallint, NULL) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.report_analyses({month}::smallint, o.reading, NULL, 0::smallint, 0, 100) r
      """, .refused("42501")),
    SQLAttack(
      .clinician, "asks for the report's bounds without an entry",
      "SELECT * FROM analysis.analyses_bounds({month}::smallint, '{reading}')", .refused("42501")),
    SQLAttack(
      .clinician, "exports a person", "SELECT * FROM analysis.open_export(0::smallint, 'sue-south')",
      .refused("42501")),
    SQLAttack(
      .clinician, "reads the audit",
      "SELECT * FROM analysis.audit_list(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1)",
      .refused("42501")),
    SQLAttack(
      .clinician, "reads what was said of a job without an entry in the audit",
      "SELECT * FROM analysis.reviews_of('sue-south', '{reading}')", .refused("42501")),
    SQLAttack(
      .clinician, "reads agreement in the transaction that opens it",
      """
      SELECT r.* FROM (
        SELECT analysis.open_reviews('agreement', {month}::smallint, {month}::smallint, NULL) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.agreement_report({month}::smallint, {month}::smallint, o.reading) r
      """, .refused("42501")),
    SQLAttack(
      .clinician, "reads calibration by the reading of agreement",
      """
      SELECT r.* FROM (
        SELECT analysis.open_reviews('agreement', {month}::smallint, {month}::smallint, NULL) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.calibration_report({month}::smallint, {month}::smallint, o.reading) r
      """, .refused("42501")),
    SQLAttack(
      .clinician, "reviews a job that there is not",
      "SELECT * FROM analysis.add_review(0::smallint, 9223372036854775807, 'agree', NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .clinician, "reviews a job that was not analysed",
      "SELECT * FROM analysis.add_review(0::smallint, {dead-south}, 'agree', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .clinician, "gives a verdict of its own making",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-south}, 'agree; DROP TABLE analysis.review', NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .clinician, "comments without end",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-south}, NULL, NULL, repeat('x', 1000000))",
      .refused("22023")),
    SQLAttack(
      .clinician, "comments with nothing that can be seen",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-south}, NULL, NULL, E' \\n\\u200B\\u202E')",
      .refused("22023")),
    SQLAttack(
      .clinician, "names a condition without end instead",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-north}, 'disagree', repeat('x', 1000000), NULL)",
      .refused("22023")),
    SQLAttack(
      .clinician, "agrees, and says that it is another one",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-north}, 'agree', 'another', NULL)",
      .refused("22023")),
    SQLAttack(
      .clinician, "lists what is to be reviewed of a type that there is not",
      "SELECT analysis.open_review_queue(NULL, 3::smallint)", .refused("22023")),
    SQLAttack(
      .clinician, "lists what is to be reviewed by what another opened",
      "SELECT * FROM analysis.review_queue(0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 10, '{reading}')",
      .refused("42501")),
    SQLAttack(
      .clinician, "asks for conditions by what another opened",
      "SELECT * FROM analysis.review_choices(0::smallint, '{reading}')", .refused("42501")),
    SQLAttack(
      .clinician, "looks at the picture of an analysis that it may review",
      "SELECT analysis.open_picture(0::smallint, {succeeded-north})", .refused("42501")),
    SQLAttack(
      .northernClinician, "lists what is to be reviewed before that is recorded",
      """
      SELECT q.o_user FROM (SELECT analysis.open_review_queue('south', NULL) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.review_queue(0::smallint, 'south', NULL, NULL, NULL, NULL, NULL, 1000, o.reading) q
      """, .refused("42501")),
    SQLAttack(
      .clinician, "puts a verdict under another login's name",
      """
      INSERT INTO analysis.review (shard, period, version, verdict, job_id, user_id, at, reviewer)
      VALUES (0, {month}, 9, 2, {succeeded-south}, {sue}, now(), 'postgres')
      """, .refused("42501")),
    SQLAttack(
      .clinician, "changes another login's verdict", "UPDATE analysis.review SET verdict = 2",
      .refused("42501")),
    SQLAttack(
      .clinician, "acts as another login to give its verdict", "SET SESSION AUTHORIZATION postgres",
      .refused("42501")),
    SQLAttack(
      .clinician, "reads comments by the table", "SELECT body FROM analysis.review_comment",
      .refused("42501")),
    SQLAttack(
      .northernClinician, "reviews another clinic's job",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-south}, 'disagree', 'forged', 'forged')",
      .refused("22023")),
    SQLAttack(
      .northernClinician, "asks for the product of another clinic by its patient's job",
      "SELECT analysis.product_of_job(0::smallint, {succeeded-south})", .nothing),
    SQLAttack(
      .northernClinician, "lists reviews before that is recorded",
      """
      SELECT l.o_user FROM (SELECT analysis.open_review_list(NULL, NULL, NULL) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.list_reviews(0::smallint, NULL, NULL, NULL, NULL, NULL, 10000, o.reading) l
      """, .refused("42501")),
    SQLAttack(
      .northernClinician, "lists reviews by what another opened",
      "SELECT o_user FROM analysis.list_reviews(0::smallint, 'sue-south', NULL, NULL, NULL, NULL, 10000, '{reading}')",
      .refused("42501")),
    SQLAttack(
      .clinician, "cancels", "SELECT * FROM analysis.cancel(0::smallint, '{1}')", .refused("42501")),
    SQLAttack(
      .northernClinician, "opens results of another clinic's patient",
      "SELECT analysis.open_results('sue-south', ARRAY[{succeeded-south}]::bigint[])", .nothing),
    SQLAttack(
      .northernClinician, "lists another clinic's jobs",
      "SELECT DISTINCT o_user FROM analysis.list_jobs(0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 1000, 1000) WHERE o_user IS NOT NULL",
      .answers("(ann-north)")),
    SQLAttack(
      .northernClinician, "lists another clinic's jobs by its patient's name",
      "SELECT o_user FROM analysis.list_jobs(0::smallint, 'sue-south', NULL, NULL, NULL, NULL, NULL, 100, 100) WHERE o_user IS NOT NULL",
      .nothing),
    SQLAttack(
      .northernClinician, "shows another clinic's jobs by their numbers",
      "SELECT o_job FROM analysis.jobs_shown(0::smallint, {month}::smallint, ARRAY[{jobs}]::bigint[]) WHERE o_user <> 'ann-north'",
      .nothing),
    SQLAttack(
      .northernClinician, "asks why another clinic's job died",
      "SELECT job_id FROM analysis.job_death(0::smallint, {dead-south})", .nothing),
    SQLAttack(
      .northernClinician, "asks what went wrong with another clinic's job",
      "SELECT message FROM analysis.job_attempts(0::smallint, {dead-south})", .nothing),
    SQLAttack(
      .northernClinician, "asks which worker failed with another clinic's job",
      "SELECT o_host FROM analysis.attempts_shown(0::smallint, {dead-south})", .nothing),
    SQLAttack(
      .northernClinician, "asks what became of another clinic's jobs",
      "SELECT o_state FROM analysis.jobs_ended(0::smallint, {month}::smallint, ARRAY[{succeeded-south}]::bigint[])",
      .tellsNothing),
    SQLAttack(
      .northernClinician, "asks where another clinic's jobs are",
      "SELECT o_period FROM analysis.locate(0::smallint, ARRAY[{succeeded-south}]::bigint[])", .tellsNothing),
  ]
}
