-- Sets where a user's photo is, or that there is none.
INSERT INTO analysis.profile AS p (shard, user_id, photo_url, updated_at)
SELECT a.shard, a.user_id, $3, clock_timestamp()
  FROM analysis.account a
 WHERE a.shard = $1 AND a.user_ref = $2
ON CONFLICT (shard, user_id) DO UPDATE
   SET photo_url = EXCLUDED.photo_url,
       updated_at = EXCLUDED.updated_at
