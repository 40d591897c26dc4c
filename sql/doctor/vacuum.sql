-- The tables of the queue: whether vacuum comes by itself, and how much it has to do.
SELECT c.relname::text, coalesce(o.enabled, true), coalesce(s.n_dead_tup, 0)::bigint,
       coalesce(s.n_live_tup, 0)::bigint,
       (coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::float8)
        + coalesce(o.scale, current_setting('autovacuum_vacuum_scale_factor')::float8) * coalesce(
          s.n_live_tup, 0))::float8,
       extract(epoch FROM clock_timestamp() - greatest(s.last_autovacuum, s.last_vacuum))::float8
  FROM pg_class c
  LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
  CROSS JOIN LATERAL (
    SELECT bool_and(p.option_value::bool) FILTER (WHERE p.option_name = 'autovacuum_enabled') AS enabled,
           max(p.option_value::float8) FILTER (
             WHERE p.option_name = 'autovacuum_vacuum_threshold') AS threshold,
           max(p.option_value::float8) FILTER (
             WHERE p.option_name = 'autovacuum_vacuum_scale_factor') AS scale
      FROM pg_options_to_table(c.reloptions) p
     WHERE p.option_name IN (
       'autovacuum_enabled', 'autovacuum_vacuum_threshold', 'autovacuum_vacuum_scale_factor')) o
 WHERE c.relnamespace = to_regnamespace('analysis') AND c.relkind = 'r'
 ORDER BY s.n_dead_tup DESC NULLS LAST, c.relname
