-- A page of one shard's users by the bytes of their references, so that pages of several shards can be put together.
SELECT a.user_ref, a.zone, p.name, l.monthly_limit, coalesce(u.used, 0), m.period
  FROM (SELECT shard, user_id, user_ref, zone FROM analysis.account
         WHERE shard = $1 AND user_ref > $2 COLLATE "C" ORDER BY user_ref COLLATE "C" LIMIT $3) a
 CROSS JOIN LATERAL (SELECT analysis.period_of(now(), a.zone) AS period) m
  LEFT JOIN LATERAL analysis.limit_of(a.shard, a.user_id, now()) l ON true
  LEFT JOIN analysis.plan p ON p.id = l.plan_id
  LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id AND u.period = m.period
 ORDER BY a.user_ref COLLATE "C"
