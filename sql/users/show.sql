-- A user with the plan in force and the present month's count.
SELECT a.user_id, a.zone, extract(epoch FROM a.created_at)::float8, p.name, p.display_name, l.monthly_limit, m.period,
       coalesce(u.used, 0) - (SELECT count(*)::int FROM analysis.refund f
                               WHERE f.shard = a.shard AND f.user_id = a.user_id AND f.period = m.period),
       coalesce(u.refunded, 0) + (SELECT count(*)::int FROM analysis.refund f
                                   WHERE f.shard = a.shard AND f.user_id = a.user_id AND f.period = m.period),
       coalesce(u.refused, 0),
       (SELECT count(*)::int FROM analysis.result r
         WHERE r.shard = a.shard AND r.user_id = a.user_id AND r.period = m.period AND r.outcome = 1)
  FROM analysis.account a
 CROSS JOIN LATERAL (SELECT analysis.period_of(now(), a.zone) AS period) m
  LEFT JOIN LATERAL analysis.limit_of(a.shard, a.user_id, now()) l ON true
  LEFT JOIN analysis.plan p ON p.id = l.plan_id
  LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id AND u.period = m.period
 WHERE a.shard = $1 AND a.user_ref = $2
