-- Counts of few people describe single persons: what is hidden from a login that sees some clinics only. And
-- the interval in which a share lies.

-- From how many persons on a count is shown to whoever calls: to a login that sees all clinics each is (1),
-- to another those of the setting report_threshold.
CREATE OR REPLACE FUNCTION analysis.least_persons() RETURNS int
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN analysis.clinics_seen(analysis.caller()) IS NULL THEN 1
    ELSE coalesce(
      (SELECT s.value::int FROM analysis.setting s WHERE s.name = 'report_threshold'), 5) END
$$;

-- Which cells of a table are hidden: those of fewer persons than p_least, and where a sum would give them
-- away the next smallest of the same line too. p_persons: how many persons each cell is of, the first is
-- cell 1. A line is cells of which one is the sum of the others, as a row with its total: it is named in
-- p_line for each cell in p_cell. A cell may be in several lines. A cell of nobody hides nobody and is shown:
-- so a hidden one is at least 1, and two of which the sum is 2 are 1 each. Of no line may just one be hidden,
-- nor so few persons that one of the hidden cells could not be p_least, whatever the others are.
CREATE OR REPLACE FUNCTION analysis.hidden_cells(
  p_persons bigint[], p_line text[], p_cell int[], p_least int) RETURNS int[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_hidden int[] := ARRAY(
    SELECT c.cell::int FROM unnest(p_persons) WITH ORDINALITY c(persons, cell)
    WHERE c.persons BETWEEN 1 AND p_least - 1);
  v_more int[];
BEGIN
  LOOP
    v_more := ARRAY(
      SELECT DISTINCT n.cell
      FROM (
        SELECT DISTINCT ON (l.line) l.line, l.cell
        FROM unnest(p_line, p_cell) l(line, cell)
        JOIN (
          SELECT k.line FROM unnest(p_line, p_cell) k(line, cell)
          WHERE k.cell = ANY (v_hidden)
          GROUP BY k.line HAVING count(*) = 1 OR sum(p_persons[k.cell]) - count(*) < p_least - 1) told
          ON told.line = l.line
        WHERE p_persons[l.cell] > 0 AND NOT l.cell = ANY (v_hidden)
        ORDER BY l.line, p_persons[l.cell], l.cell) n);
    EXIT WHEN v_more = '{}';
    v_hidden := v_hidden || v_more;
  END LOOP;
  RETURN v_hidden;
END $$;

-- Between which shares the true one lies with 95 % confidence, by Wilson's score: p_hits of p_count. NULL: of
-- nothing. PostgreSQL 18 calculates with the arguments while it plans, before the condition can stop it:
-- nullif keeps it from dividing by zero.
CREATE OR REPLACE FUNCTION analysis.wilson(
  p_hits bigint, p_count bigint, OUT o_share numeric, OUT o_low numeric, OUT o_high numeric)
LANGUAGE sql IMMUTABLE AS $$
  SELECT round(p, 4), round(greatest((p + zz / (2 * n) - half) / (1 + zz / n), 0), 4),
    round(least((p + zz / (2 * n) + half) / (1 + zz / n), 1), 4)
  FROM (SELECT nullif(p_count, 0)::numeric AS n WHERE p_count > 0) c
  CROSS JOIN LATERAL (SELECT p_hits / n AS p, 1.959963984540054 ^ 2 AS zz) s
  CROSS JOIN LATERAL (SELECT sqrt(zz) * sqrt(p * (1 - p) / n + zz / (4 * n * n)) AS half) h
$$;
