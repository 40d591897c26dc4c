-- Every user of one shard and month whose counter differs from what their jobs say.
SELECT o_user, o_used, o_pending, o_analysed, o_open FROM analysis.usage_differences($1, $2)
 ORDER BY o_user
