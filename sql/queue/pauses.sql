-- What operators have paused and is paused still.
SELECT scope, name, reason, paused_by, extract(epoch FROM paused_at)::float8, extract(epoch FROM until_at)::float8,
       extract(epoch FROM until_at - clock_timestamp())::float8
  FROM analysis.pause
 WHERE resumed_at IS NULL AND (until_at IS NULL OR until_at > clock_timestamp())
 ORDER BY scope, name
