import QueueTestSupport

/// A month with a little of everything, at fixed times, whose numbers can be counted by hand.
///
/// October 2020 is the month. Ana is billed in Jakarta, Bob in New York, the other two in UTC; one of these has
/// a name that a spreadsheet would run. The limit of the free plan went from 5 to 2 on 20 October.
///
/// | job | user | what became of it |
/// |---|---|---|
/// | 101 | ana | throat: tonsillitis 0.85, pharyngitis 0.45; serious, consultation advised |
/// | 102 | ana | throat: normal 0.95; the endpoint says not serious, and advises a consultation all the same |
/// | 103 | ana | ear: otitis 0.7999, tonsillitis 0.3, which the endpoint calls serious; at the third attempt, with two calls |
/// | 104 | ana | cancelled, its unit given back |
/// | 105 | ana | dead after two calls, its refund not applied yet |
/// | 106 | ana | open |
/// | 201 | bob | ear: no condition |
/// | 202 | bob | throat: tonsillitis 0.6, pharyngitis 0.1, normal 0.05; one failed call before |
/// | 203 | bob | open |
/// | 301 | =1+1 | ear: otitis 0.8 under a hostile name |
///
/// Of the primary conditions a clinician agrees with 101, 102 and 301, and that 201 has none; is unsure of 103, and
/// disagrees with 202, which at first seemed right. Another one disagrees with 101.
///
/// The months beside it have results and reviews of the same users, which must not be counted.
enum PlantedMonth {
  static let sql = """
    \(makingMonths(24247...24254))
    INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit) VALUES (1, '2020-10-20Z', 2);
    INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, created_at)
    SELECT 0, v.id, v.ref, v.zone, decode(repeat('00', 32), 'hex'), v.at::timestamptz
    FROM (VALUES (1, 'ana', 'Asia/Jakarta', '2020-08-01Z'), (2, 'bob', 'America/New_York', '2020-08-01Z'),
      (3, '=1+1', 'UTC', '2020-08-01Z'), (4, 'zoë, "Z"', 'UTC', '2020-10-31T23:59:59Z'),
      (5, 'later', 'UTC', '2020-11-01Z')) v(id, ref, zone, at);
    INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
    VALUES (0, 1, '2020-08-01Z', 1), (0, 2, '2020-08-01Z', 1), (0, 2, '2020-09-10Z', 2),
      (0, 2, '2020-11-10Z', 1), (0, 3, '2020-08-01Z', 1), (0, 4, '2020-10-31T23:59:59Z', 1),
      (0, 5, '2020-11-01Z', 1);
    INSERT INTO analysis.usage (shard, user_id, period, used, refunded, refused)
    VALUES (0, 1, 24249, 5, 1, 3), (0, 2, 24249, 3, 0, 0), (0, 3, 24249, 1, 0, 0),
      (0, 1, 24248, 1, 0, 0), (0, 1, 24250, 1, 0, 0);
    INSERT INTO analysis.refund (shard, period, user_id, job_id, reason, at)
    VALUES (0, 24249, 1, 105, 'dead', '2020-10-06Z');
    INSERT INTO analysis.dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, message)
    VALUES (0, 24249, 1, 2, 105, 1, '2020-10-06Z', 2, 'permanent', 'refused');
    INSERT INTO analysis.attempt_error (shard, period, attempt, calls, job_id, user_id, worker_id, at,
      maybe_counted, consumed, class, message)
    VALUES (0, 24249, 1, 1, 105, 1, 1, '2020-10-06Z', false, true, 'server', 'failed'),
      (0, 24249, 2, 1, 105, 1, 1, '2020-10-06Z', false, true, 'permanent', 'refused'),
      (0, 24249, 1, 1, 202, 2, 1, '2020-10-31Z', true, true, 'server', 'failed'),
      (0, 24250, 1, 1, 900, 2, 1, '2020-11-05Z', true, true, 'server', 'failed');

    CREATE TEMPORARY TABLE planted (period int, job int, person int, kind int, attempt int, calls int,
      finished text, answered text, model text, conditions jsonb);
    INSERT INTO planted VALUES
    (24249, 101, 1, 1, 1, 1, '2020-10-31T18:30:00.9Z', '2020-10-31T18:29:59Z', 'm1', '[
      {"id": "tonsillitis", "name": "Tonsillitis", "confidence": 0.85, "band": 4, "normal": false,
       "serious": true, "consult": true},
      {"id": "pharyngitis", "name": "Pharyngitis", "confidence": 0.45, "band": 2, "normal": false}]'),
    (24249, 102, 1, 1, 1, 1, '2020-10-02T00:00:00Z', NULL, NULL, '[
      {"id": "normal", "name": "Normal", "confidence": 0.95, "band": 4, "normal": true,
       "serious": false, "consult": true}]'),
    (24249, 103, 1, 2, 3, 2, '2020-10-03T00:00:00Z', NULL, 'm2', '[
      {"id": "otitis", "name": "Otitis media", "confidence": 0.7999, "band": 3, "normal": false},
      {"id": "tonsillitis", "name": "Tonsillitis", "confidence": 0.3, "band": 1, "normal": false,
       "serious": true}]'),
    (24249, 201, 2, 2, 1, 1, '2020-10-31T12:00:00Z', NULL, NULL, '[]'),
    (24249, 202, 2, 1, 2, 1, '2020-11-02T12:00:00Z', '2020-11-02T11:59:59Z', NULL, '[
      {"id": "tonsillitis", "name": "Tonsillitis acuta", "confidence": 0.6, "band": 3, "normal": false},
      {"id": "pharyngitis", "name": "Pharyngitis", "confidence": 0.1, "band": 1, "normal": false},
      {"id": "normal", "name": "Normal", "confidence": 0.05, "band": 1, "normal": true}]'),
    (24249, 301, 3, 2, 1, 1, '2020-10-20T00:00:00Z', NULL, NULL, '[
      {"id": "otitis", "name": "=HYPERLINK(\\"http://x\\",\\"y\\")", "confidence": 0.8, "band": 4,
       "normal": false, "consult": true}]'),
    (24248, 801, 1, 1, 1, 1, '2020-09-15Z', NULL, NULL, '[
      {"id": "otitis", "name": "Otitis media", "confidence": 0.9, "band": 4, "normal": false}]'),
    (24250, 901, 1, 1, 1, 1, '2020-11-05Z', NULL, NULL, '[
      {"id": "otitis", "name": "Otitis media", "confidence": 0.9, "band": 4, "normal": false}]');
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at,
      answered_at, analysis_id, model, endpoint, version, call_ms, condition_count, conditions,
      primary_id, primary_name, primary_confidence, primary_band, primary_normal,
      secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal, serious, consult,
      endpoint_serious, endpoint_consult)
    SELECT 0, period, job, person, kind, 1, attempt, calls, finished::timestamptz, answered::timestamptz,
      'a-' || job, model, 'main', '1.0', 50, jsonb_array_length(conditions), conditions,
      p ->> 'id', p ->> 'name', (p ->> 'confidence')::float8, (p ->> 'band')::smallint,
      (p ->> 'normal')::boolean,
      s ->> 'id', s ->> 'name', (s ->> 'confidence')::float8, (s ->> 'band')::smallint,
      (s ->> 'normal')::boolean,
      CASE WHEN jsonb_path_exists(conditions, '$[*].serious')
        THEN jsonb_path_exists(conditions, '$[*] ? (@.serious == true && @.confidence >= 0.4 && @.normal == false)') END,
      CASE WHEN jsonb_path_exists(conditions, '$[*].consult')
        THEN jsonb_path_exists(conditions, '$[*] ? (@.consult == true && @.confidence >= 0.4 && @.normal == false)') END,
      CASE WHEN jsonb_path_exists(conditions, '$[*].serious')
        THEN jsonb_path_exists(conditions, '$[*] ? (@.serious == true)') END,
      CASE WHEN jsonb_path_exists(conditions, '$[*].consult')
        THEN jsonb_path_exists(conditions, '$[*] ? (@.consult == true)') END
    FROM planted, LATERAL (SELECT conditions -> 0 AS p, conditions -> 1 AS s) c;
    DROP TABLE planted;
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at)
    VALUES (0, 24249, 104, 1, 1, 2, 0, 0, '2020-10-05Z');
    INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes,
      image_period, max_attempts, image_unsanitized, image_mark)
    VALUES (0, 24249, 1, 5, 106, 1, 1, 0, '2020-10-07Z', 1, 24249, 3, false, ''),
      (0, 24249, 1, 5, 203, 2, 1, 0, '2020-10-31Z', 1, 24249, 3, false, '');
    \(queueingPlantedJobs)
    INSERT INTO analysis.review (shard, period, version, verdict, job_id, user_id, at, replaced_at, reviewer)
    VALUES (0, 24249, 1, 1, 101, 1, '2020-11-01Z', NULL, 'dr_a'), (0, 24249, 1, 2, 101, 1, '2020-11-01Z', NULL, 'dr_b'),
      (0, 24249, 1, 1, 102, 1, '2020-11-01Z', NULL, 'dr_a'), (0, 24249, 1, 3, 103, 1, '2020-11-01Z', NULL, 'dr_a'),
      (0, 24249, 1, 1, 201, 2, '2020-11-01Z', NULL, 'dr_a'),
      (0, 24249, 1, 1, 202, 2, '2020-11-01Z', '2020-11-02Z', 'dr_a'), (0, 24249, 2, 2, 202, 2, '2020-11-02Z', NULL, 'dr_a'),
      (0, 24249, 1, 1, 301, 3, '2020-11-01Z', NULL, 'dr_a'), (0, 24248, 1, 1, 801, 1, '2020-11-01Z', NULL, 'dr_a');
    UPDATE analysis.review v SET primary_id = r.primary_id, primary_name = r.primary_name,
      primary_confidence = r.primary_confidence, primary_band = r.primary_band, primary_normal = r.primary_normal
    FROM analysis.result r WHERE r.shard = v.shard AND r.period = v.period AND r.job_id = v.job_id;
    """
}
