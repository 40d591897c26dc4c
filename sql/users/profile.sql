-- What is known of a person; kept apart from the account. The photo's column is not there before its migration.
SELECT name, email, backend_subscription, backend_count, extract(epoch FROM last_reset)::float8, extract(epoch FROM updated_at)::float8,
       to_jsonb(p) ->> 'photo_url'
  FROM analysis.profile p
 WHERE shard = $1 AND user_id = $2
