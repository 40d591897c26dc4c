-- What the backend says of a user: what it leaves out stays as it was.
INSERT INTO analysis.profile AS p (shard, user_id, name, email, backend_subscription, backend_count, last_reset, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8), clock_timestamp())
ON CONFLICT (shard, user_id) DO UPDATE
   SET name = coalesce(EXCLUDED.name, p.name),
       email = coalesce(EXCLUDED.email, p.email),
       backend_subscription = coalesce(EXCLUDED.backend_subscription, p.backend_subscription),
       backend_count = coalesce(EXCLUDED.backend_count, p.backend_count),
       last_reset = coalesce(EXCLUDED.last_reset, p.last_reset),
       updated_at = EXCLUDED.updated_at
