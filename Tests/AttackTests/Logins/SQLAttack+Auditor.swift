extension SQLAttack {
  /// What an auditor tries.
  static let ofAuditors: [SQLAttack] = [
    SQLAttack(
      .auditor, "finds diagnoses, names or files in the audit",
      """
      SELECT count(*) FROM (
        SELECT to_jsonb(a) FROM analysis.audit a UNION ALL SELECT to_jsonb(d) FROM analysis.audit_draft d
        UNION ALL SELECT to_jsonb(l) FROM analysis.audit_list(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1000) l) t(row)
      WHERE row::text ~ 'confided|tonsillitis|sue-south'
      """, .answers("(0)")),
    SQLAttack(
      .auditor, "reads the audit without end",
      "SELECT * FROM analysis.audit_list(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .auditor, "moves the audit's end",
      "SELECT (h).id FROM (SELECT analysis.lock_audit(true) AS h) t", .refused("42501")),
    SQLAttack(
      .auditor, "learns more from the ends than where they are",
      "SELECT count(*) FROM (SELECT to_jsonb(e) FROM analysis.audit_ends() e UNION ALL SELECT to_jsonb(h) FROM analysis.audit_head h) t(row) WHERE row::text ~ 'confided|south'",
      .answers("(0)")),
    SQLAttack(
      .auditor, "finds patients in what the rules of the queue say",
      "SELECT count(*) FROM analysis.broken_invariants()", .answers("(0)")),
    SQLAttack(.auditor, "reads file names", "SELECT source_name FROM analysis.job", .refused("42501")),
    SQLAttack(.auditor, "reads names", "SELECT name FROM analysis.profile", .refused("42501")),
    SQLAttack(
      .auditor, "closes a month", "SELECT analysis.close_usage(24300::smallint)", .refused("42501")),
    SQLAttack(
      .auditor, "looks at the closing of a month, which it may not do",
      "SELECT * FROM analysis.preview_closing({month}::smallint, now())", .refused("42501")),
    SQLAttack(
      .auditor, "finds patients in the list of months",
      "SELECT count(*) FROM (SELECT to_jsonb(m) FROM analysis.list_months(NULL) m) t(row) WHERE row::text ~ 'south|confided'",
      .answers("(0)")),
    SQLAttack(
      .auditor, "reads diagnoses", "SELECT analysis.open_results('sue-south', '{1}')", .refused("42501")),
    SQLAttack(
      .auditor, "removes old entries", "SELECT * FROM analysis.purge_audit(10, now(), false, 100)",
      .refused("42501")),
    SQLAttack(
      .auditor, "pauses everything", "SELECT analysis.pause('all', '', NULL, NULL)", .refused("42501")),
    SQLAttack(
      .auditor, "finds patients' names among what was made",
      """
      SELECT count(*) FROM (
        SELECT to_jsonb(m) FROM analysis.schema_migration m UNION ALL SELECT to_jsonb(f) FROM analysis.schema_function f
        UNION ALL SELECT to_jsonb(p) FROM analysis.partition_made p UNION ALL SELECT to_jsonb(g) FROM analysis.purged_month g
        UNION ALL SELECT to_jsonb(s) FROM analysis.setting s) t(row) WHERE row::text ~ 'confided|sue-south'
      """, .answers("(0)")),
  ]

  /// What who sees pictures of what they may review tries.
  static let ofReviewers: [SQLAttack] = [
    SQLAttack(
      .reviewer, "looks at a picture of who is of a clinic whose product has no reviews",
      "SELECT analysis.open_picture(0::smallint, {succeeded-south})", .nothing),
    SQLAttack(
      .reviewer, "looks at the picture of a job without an analysis",
      "SELECT analysis.open_picture(0::smallint, {dead-north}), analysis.open_picture(0::smallint, {waiting-north})",
      .nothing),
    SQLAttack(
      .reviewer, "looks at a picture by what another opened",
      "SELECT * FROM analysis.picture_of(0::smallint, {succeeded-north}, '{export}')", .refused("42501")),
    SQLAttack(
      .reviewer, "looks at a picture in the transaction that opens it",
      """
      SELECT p.* FROM (SELECT analysis.open_picture(0::smallint, {succeeded-north}) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.picture_of(0::smallint, {succeeded-north}, o.reading) p
      """, .refused("42501")),
    SQLAttack(
      .reviewer, "exports a person with the pictures",
      "SELECT * FROM analysis.open_export(0::smallint, 'ann-north')", .refused("42501")),
    SQLAttack(
      .reviewer, "erases a person", "SELECT * FROM analysis.erase_user(0::smallint, 'ann-north', NULL, true)",
      .refused("42501")),
    SQLAttack(
      .reviewer, "has all analyses reported",
      "SELECT analysis.open_analyses({month}::smallint, NULL)", .refused("42501")),
    SQLAttack(
      .reviewer, "reviews where the clinic's product has no reviews",
      "SELECT * FROM analysis.add_review(0::smallint, {succeeded-south}, 'agree', NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .northernReviewer, "looks at a picture of another clinic's patient",
      "SELECT analysis.open_picture(0::smallint, {succeeded-south})", .nothing),
  ]

  /// What who answers persons tries.
  static let ofPrivacy: [SQLAttack] = [
    SQLAttack(
      .privacy, "exports without an entry in the audit",
      "SELECT analysis.export_user(0::smallint, {sue}, '{export}')", .refused("42501")),
    SQLAttack(
      .privacy, "exports jobs by what another opened",
      "SELECT * FROM analysis.export_jobs(0::smallint, {sue}, '{export}')", .refused("42501")),
    SQLAttack(
      .privacy, "exports pictures by what another opened",
      "SELECT * FROM analysis.export_images(0::smallint, {sue}, '{export}', {month}::smallint, 0, 10)",
      .refused("42501")),
    SQLAttack(
      .privacy, "exports pictures without end",
      "SELECT * FROM analysis.export_images(0::smallint, {sue}, '{export}', {month}::smallint, 0, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .privacy, "looks at a picture by what another opened",
      "SELECT * FROM analysis.picture_of(0::smallint, {succeeded-south}, '{export}')", .refused("42501")),
    SQLAttack(
      .privacy, "looks at a picture in the transaction that opens it",
      """
      SELECT p.* FROM (SELECT analysis.open_picture(0::smallint, {succeeded-south}) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.picture_of(0::smallint, {succeeded-south}, o.reading) p
      """, .refused("42501")),
    SQLAttack(
      .privacy, "exports in the transaction that opens it",
      """
      SELECT analysis.export_user(0::smallint, o.o_user_id, o.o_export)
      FROM (SELECT * FROM analysis.open_export(0::smallint, 'sue-south') OFFSET 0) o
      """, .refused("42501")),
    SQLAttack(
      .privacy, "erases a person without saying what of open jobs",
      "SELECT * FROM analysis.erase_user(0::smallint, 'sue-south', NULL, NULL)", .refused("22023")),
    SQLAttack(
      .privacy, "erases a person whose jobs are open, without being told",
      "SELECT o_open, o_profile, o_images FROM analysis.erase_user(0::smallint, 'sue-south', NULL, false)",
      .answers("(2,,)")),
    SQLAttack(
      .privacy, "erases a part of a person whose jobs are open, without being told",
      "SELECT * FROM analysis.erase_part(0::smallint, 'sue-south', NULL, false, NULL, NULL, 1)", .nothing),
    SQLAttack(
      .privacy, "erases a part of a person who is not being erased",
      "SELECT * FROM analysis.erase_part(0::smallint, 'sue-south', NULL, true, {month}::smallint, 1, 1)",
      .nothing),
    SQLAttack(
      .privacy, "asks for the erasure of who was not erased", "SELECT * FROM analysis.erasure_of({sue})",
      .nothing),
    SQLAttack(
      .privacy, "lists jobs",
      "SELECT * FROM analysis.list_jobs(0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 100, 100)",
      .refused("42501")),
    SQLAttack(
      .northernPrivacy, "exports another clinic's patient",
      "SELECT * FROM analysis.open_export(0::smallint, 'sue-south')", .nothing),
  ]

  /// What the nightly purge tries.
  static let ofRetention: [SQLAttack] = [
    SQLAttack(
      .retention, "says that it is in ten years, and removes all pictures",
      "SELECT * FROM analysis.purge_images(0::smallint, {month}::smallint, 0, 1000, now() + interval '10 years', false, true)",
      .refused("42501")),
    SQLAttack(
      .retention, "removes all results as of the future",
      "SELECT * FROM analysis.purge_results(0::smallint, {month}::smallint, 0, 1000, now() + interval '10 years', false, true)",
      .refused("42501")),
    SQLAttack(
      .retention, "removes all failures as of the future",
      "SELECT * FROM analysis.purge_dead(0::smallint, 0, 1000, now() + interval '10 years', false, true)",
      .refused("42501")),
    SQLAttack(
      .retention, "removes a whole month as of the future",
      "SELECT * FROM analysis.purge_month({month}::smallint, now() + interval '10 years', false, 0)",
      .refused("42501")),
    SQLAttack(
      .retention, "asks which months would go in the future",
      "SELECT * FROM analysis.purge_months(now() + interval '10 years')", .refused("42501")),
    SQLAttack(
      .retention, "says that it is another day to see what nobody has closed",
      "SELECT * FROM analysis.unclosed_months(now() + interval '10 years')", .refused("42501")),
    SQLAttack(
      .retention, "closes a month that stands in the purge's way",
      "SELECT analysis.close_usage(24300::smallint)", .refused("42501")),
    SQLAttack(
      .retention, "removes events of webhooks as of the future",
      "SELECT * FROM analysis.purge_events(0::smallint, 1000, now() + interval '10 years', false, true)",
      .refused("42501")),
    SQLAttack(
      .retention, "removes counters as of the future",
      "SELECT * FROM analysis.purge_usage(1000, now() + interval '10 years', false, true)", .refused("42501")),
    SQLAttack(
      .retention, "removes the audit as of the future",
      "SELECT * FROM analysis.purge_audit(1000, now() + interval '10 years', false, 1000000)",
      .refused("42501")),
    SQLAttack(
      .retention, "removes pictures without end",
      "SELECT * FROM analysis.purge_images(0::smallint, {month}::smallint, 0, 2147483647, now(), false, true)",
      .refused("22023")),
    SQLAttack(
      .retention, "locks a month that runs for an index",
      "SELECT analysis.index_images({month}::smallint, now())", .nothing),
    SQLAttack(
      .retention, "locks months as of the future",
      "SELECT analysis.index_images({month}::smallint, now() + interval '10 years')", .refused("42501")),
    SQLAttack(.retention, "reads jobs", "SELECT id FROM analysis.job", .refused("42501")),
    SQLAttack(
      .retention, "erases a person",
      "SELECT * FROM analysis.erase_user(0::smallint, 'sue-south', NULL, true)",
      .refused("42501")),
    SQLAttack(
      .retention, "erases a part of a person",
      "SELECT * FROM analysis.erase_part(0::smallint, 'sue-south', NULL, true, NULL, NULL, 1)",
      .refused("42501")),
  ]
}
