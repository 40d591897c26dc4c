-- How large the database is, and where submits stop.
SELECT pg_database_size(current_database())::bigint,
       (SELECT nullif(s.value, '')::bigint FROM analysis.setting s WHERE s.name = 'max_database_bytes')
