-- What is known of a person; kept apart from the account.
SELECT name, email, backend_subscription, backend_count, extract(epoch FROM last_reset)::float8, extract(epoch FROM updated_at)::float8
  FROM analysis.profile
 WHERE shard = $1 AND user_id = $2
