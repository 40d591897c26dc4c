-- Jobs that died in the last day, by cause, the most frequent first.
SELECT o_class, o_code, o_count::int, o_job FROM analysis.dead_causes(now() - interval '1 day', 10)
 ORDER BY o_count DESC, o_class, o_code
