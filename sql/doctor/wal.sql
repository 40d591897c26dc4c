-- The write-ahead log on the server's disk, how large it is meant to be, and whether archiving it fails.
SELECT (SELECT coalesce(sum(w.size), 0)::bigint FROM pg_ls_waldir() w),
       (SELECT s.setting::bigint * 1024 * 1024 FROM pg_settings s WHERE s.name = 'max_wal_size'),
       (SELECT s.setting::bigint * 1024 * 1024 FROM pg_settings s WHERE s.name = 'wal_keep_size'),
       coalesce(
         (SELECT a.last_failed_time > coalesce(a.last_archived_time, '-infinity') FROM pg_stat_archiver a),
         false),
       (SELECT string_agg(s.slot_name, ', ' ORDER BY s.slot_name) FROM pg_replication_slots s
         WHERE NOT s.active AND s.restart_lsn IS NOT NULL)
