-- A row a condition, over all conditions of each analysis; the normal ones apart, at the end. Of several
-- names the first in byte order is shown. Bands are those stored with the result: 1 green to 4 red.
-- $1 the month's label.
SELECT $1::smallint AS period, c.id, min(c.name COLLATE "C") AS name, coalesce(c.normal, false) AS normal,
  count(*) FILTER (WHERE c.band = 1) AS green, count(*) FILTER (WHERE c.band = 2) AS yellow,
  count(*) FILTER (WHERE c.band = 3) AS orange, count(*) FILTER (WHERE c.band = 4) AS red,
  count(*) AS total
FROM analysis.result r
CROSS JOIN LATERAL jsonb_to_recordset(r.conditions) AS c(id text, name text, band smallint, normal boolean)
WHERE r.period = $1 AND r.outcome = 1
GROUP BY c.id, coalesce(c.normal, false)
ORDER BY coalesce(c.normal, false), c.id COLLATE "C"
