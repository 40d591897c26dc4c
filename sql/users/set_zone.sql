-- The zone that decides in which month a user's jobs count; jobs that exist keep their month.
UPDATE analysis.account SET zone = $3
 WHERE shard = $1 AND user_ref = $2 AND EXISTS (SELECT 1 FROM pg_catalog.pg_timezone_names z WHERE z.name = $3)
