-- The time zones that the server knows, and the installation's own if the server does not know it.
WITH known AS MATERIALIZED (SELECT z.name FROM pg_timezone_names z)
SELECT (SELECT count(*)::int FROM known),
       (SELECT s.value FROM analysis.setting s
         WHERE s.name = 'zone' AND s.value NOT IN (SELECT k.name FROM known k))
