-- What the reviews come to: how often clinicians agree, by condition and band, and whether a confidence of
-- 80 % means that they agree in 80 of 100.

-- Records that a report of reviews is read, of the jobs of some months; answers what the function that gives
-- its rows asks for once that is committed. The report of agreement tells how often conditions were found.
-- Whoever is not shown counts of few persons asks for one month: two ranges would tell a month's by their
-- difference.
CREATE OR REPLACE FUNCTION analysis.open_reviews(
  p_report text, p_from smallint, p_to smallint, p_detail jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_report IN ('agreement', 'calibration'), 'a report of reviews is agreement or calibration');
  PERFORM analysis.require_argument(
    p_from BETWEEN 24000 AND 32399 AND p_to BETWEEN p_from AND 32399 AND p_to - p_from < 120,
    'a report of reviews is of 1 to 120 months of the years 2000 to 2699');
  IF p_from < p_to AND analysis.least_persons() > 1 THEN
    RAISE EXCEPTION 'role % sees some clinics only, and reads reviews of one month at a time',
      analysis.caller()
      USING ERRCODE = '22023', HINT = 'Ask for each month by itself: two ranges would tell of few persons.';
  END IF;
  RETURN analysis.open_reading(
    'report', analysis.review_report(p_report, p_from, p_to), analysis.audit_detail(p_detail));
END $$;
COMMENT ON FUNCTION analysis.open_reviews IS
  'Records that a report of reviews is read; answers what its function asks for.';

-- As what the audit knows it: 'report:agreement:2026-10', 'report:agreement:2026-09:2026-11'.
CREATE OR REPLACE FUNCTION analysis.review_report(p_report text, p_from smallint, p_to smallint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT concat_ws(
    ':', 'report', p_report, analysis.period_text(p_from),
    CASE WHEN p_to <> p_from THEN analysis.period_text(p_to) END)
$$;

-- Counts of the present verdicts: in all (1), of each condition and band of the primary condition (2;
-- without a condition where none was found), of each band (3), of each tenth of confidence (4), and of all
-- that have a condition (5). Of each its persons, and whether it is hidden from whoever sees counts of
-- p_least persons and more. Both reports are hidden together, since the tenths of a band add up to it.
CREATE OR REPLACE FUNCTION analysis.review_counts(
  p_from smallint, p_to smallint, p_clinics int[], p_least int)
RETURNS TABLE (
  kind int, id text, name text, normal boolean, band smallint, tenth int, agree bigint, disagree bigint,
  unsure bigint, persons bigint, confidence numeric, is_hidden boolean)
LANGUAGE sql STABLE AS $$
  WITH counted AS MATERIALIZED (
    SELECT row_number() OVER ()::int AS cell, c.*
    FROM (
      SELECT CASE
          WHEN GROUPING(v.primary_id) = 0 THEN 2 WHEN GROUPING(v.primary_band) = 0 THEN 3
          WHEN GROUPING(t.tenth) = 0 THEN 4 WHEN GROUPING(t.has_condition) = 0 THEN 5 ELSE 1 END AS kind,
        -- Of what has no condition no confidence is known, whatever it is grouped by.
        count(v.primary_id) > 0 AS has_condition,
        v.primary_id AS id, min(v.primary_name COLLATE "C") AS name, v.primary_normal AS normal,
        v.primary_band AS band, t.tenth,
        count(*) FILTER (WHERE v.verdict = 1) AS agree, count(*) FILTER (WHERE v.verdict = 2) AS disagree,
        count(*) FILTER (WHERE v.verdict = 3) AS unsure,
        -- By one number: rows of two columns take longer to sort.
        count(DISTINCT v.user_id * 65536 + v.shard) AS persons,
        avg(v.primary_confidence) FILTER (WHERE v.verdict < 3) AS confidence
      FROM analysis.review v
      CROSS JOIN LATERAL (
        SELECT CASE WHEN v.primary_id IS NOT NULL
            THEN least(width_bucket(v.primary_confidence, 0, 1, 10), 10) END AS tenth,
          v.primary_id IS NOT NULL AS has_condition) t
      WHERE v.shard IN (SELECT h.o_shard FROM analysis.all_shards() h) AND v.replaced_at IS NULL
        AND v.period BETWEEN p_from AND p_to
        AND (p_clinics IS NULL OR (v.shard, v.user_id) IN (
          SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (p_clinics)))
      GROUP BY GROUPING SETS (
        (v.primary_id, v.primary_normal, v.primary_band), (v.primary_band), (t.tenth), (t.has_condition),
        ())) c
    -- What has no condition is in one row alone.
    WHERE c.kind IN (1, 2) OR c.has_condition),
  lines (line, cell) AS (
    SELECT 'conditions ' || c.band, c.cell FROM counted c WHERE c.kind IN (2, 3) AND c.band IS NOT NULL
    UNION ALL
    SELECT 'tenths ' || CASE
        WHEN c.kind = 3 THEN c.band WHEN c.tenth <= 4 THEN 1 WHEN c.tenth <= 6 THEN 2
        WHEN c.tenth <= 8 THEN 3 ELSE 4 END, c.cell
    FROM counted c WHERE c.kind IN (3, 4)
    UNION ALL
    SELECT 'bands', c.cell FROM counted c WHERE c.kind IN (3, 5)
    UNION ALL
    SELECT 'all', c.cell FROM counted c WHERE c.kind IN (1, 5) OR c.kind = 2 AND c.band IS NULL),
  hidden AS (
    SELECT analysis.hidden_cells(
      ARRAY(SELECT c.persons FROM counted c ORDER BY c.cell),
      ARRAY(SELECT l.line FROM lines l ORDER BY l.line, l.cell),
      ARRAY(SELECT l.cell FROM lines l ORDER BY l.line, l.cell), p_least) AS cells)
  SELECT c.kind, c.id, c.name, c.normal, c.band, c.tenth, c.agree, c.disagree, c.unsure, c.persons,
    c.confidence, c.cell = ANY (h.cells)
  FROM counted c CROSS JOIN hidden h
$$;

-- How often clinicians agree: by the bytes of the conditions' ids and from the lowest band on, the normal
-- ones behind the others; then what was reviewed of analyses without a condition, and all together. The
-- share is of those who agree or disagree, with its interval of 95 %. What is hidden has no numbers.
CREATE OR REPLACE FUNCTION analysis.agreement_report(p_from smallint, p_to smallint, p_reading text)
RETURNS TABLE (
  o_row text, o_id text, o_name text, o_normal boolean, o_band smallint, o_agree bigint, o_disagree bigint,
  o_unsure bigint, o_persons bigint, o_agreement float8, o_low float8, o_high float8, o_hidden boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- Asked once: where they stood in the statement they would be for each review.
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_least int := analysis.least_persons();
BEGIN
  PERFORM analysis.require_reading(
    'report', analysis.review_report('agreement', p_from, p_to), p_reading);
  RETURN QUERY
  SELECT CASE WHEN c.kind = 1 THEN 'all' WHEN c.id IS NULL THEN 'none' ELSE 'condition' END,
    c.id, c.name, c.normal, c.band, s.agree, s.disagree, s.unsure, s.persons,
    w.o_share::float8, w.o_low::float8, w.o_high::float8, c.is_hidden
  FROM analysis.review_counts(p_from, p_to, v_seen, v_least) c
  LEFT JOIN LATERAL (SELECT c.agree, c.disagree, c.unsure, c.persons) s ON NOT c.is_hidden
  LEFT JOIN LATERAL analysis.wilson(s.agree, s.agree + s.disagree) w ON true
  WHERE c.kind IN (1, 2)
  ORDER BY c.kind = 1, c.id IS NULL, c.normal, c.id COLLATE "C", c.band;
END $$;
COMMENT ON FUNCTION analysis.agreement_report IS
  'Answers how often clinicians agree with what was found, by condition and band.';

-- Whether confidences keep what they promise: of each tenth of the primary confidence the mean confidence,
-- the share that clinicians agree with, its interval of 95 %, and by how much the two differ. The last row
-- is all together; there the difference is the expected calibration error: that of the tenths, each weighted
-- by its verdicts. Those who are unsure count apart. What is hidden has no numbers; where a tenth is, all
-- together have neither mean confidence nor error, which would tell of it.
CREATE OR REPLACE FUNCTION analysis.calibration_report(p_from smallint, p_to smallint, p_reading text)
RETURNS TABLE (
  o_tenth int, o_confidence float8, o_agree bigint, o_disagree bigint, o_unsure bigint, o_persons bigint,
  o_agreement float8, o_low float8, o_high float8, o_error float8, o_hidden boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- Asked once: where they stood in the statement they would be for each review.
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_least int := analysis.least_persons();
BEGIN
  PERFORM analysis.require_reading(
    'report', analysis.review_report('calibration', p_from, p_to), p_reading);
  RETURN QUERY
  WITH counted AS MATERIALIZED (
    SELECT c.kind, c.tenth, c.confidence, c.agree, c.disagree, c.unsure, c.persons, c.is_hidden,
      c.agree + c.disagree AS sure,
      abs(c.confidence - c.agree / nullif(c.agree + c.disagree, 0)::numeric) AS error
    FROM analysis.review_counts(p_from, p_to, v_seen, v_least) c
    WHERE c.kind IN (4, 5)),
  lines AS (
    SELECT g.tenth, CASE WHEN c.kind = 4 OR NOT t.is_hidden THEN c.confidence END AS confidence,
      coalesce(c.agree, 0) AS agree, coalesce(c.disagree, 0) AS disagree, coalesce(c.unsure, 0) AS unsure,
      coalesce(c.persons, 0) AS persons,
      CASE WHEN g.tenth IS NOT NULL THEN c.error WHEN NOT t.is_hidden THEN t.error END AS error,
      coalesce(c.is_hidden, false) AS is_hidden
    FROM (SELECT generate_series(1, 10) AS tenth UNION ALL SELECT NULL) g
    CROSS JOIN (
      SELECT bool_or(o.is_hidden) AS is_hidden, sum(o.sure * o.error) / nullif(sum(o.sure), 0) AS error
      FROM counted o WHERE o.kind = 4) t
    LEFT JOIN counted c ON c.kind = 4 AND c.tenth = g.tenth OR c.kind = 5 AND g.tenth IS NULL)
  SELECT r.tenth, round(s.confidence, 4)::float8, s.agree, s.disagree, s.unsure, s.persons,
    w.o_share::float8, w.o_low::float8, w.o_high::float8, round(s.error, 4)::float8, r.is_hidden
  FROM lines r
  LEFT JOIN LATERAL (
    SELECT r.confidence, r.agree, r.disagree, r.unsure, r.persons, r.error) s ON NOT r.is_hidden
  LEFT JOIN LATERAL analysis.wilson(s.agree, s.agree + s.disagree) w ON true
  ORDER BY r.tenth NULLS LAST;
END $$;
COMMENT ON FUNCTION analysis.calibration_report IS
  'Answers by how much confidences differ from the shares that clinicians agree with.';
