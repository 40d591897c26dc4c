-- A user with the plan in force and the present month's count.
SELECT a.user_id, a.zone, extract(epoch FROM a.created_at)::float8, p.name, p.display_name, l.monthly_limit, m.period,
       u.o_used, u.o_refunded, u.o_refused, u.o_analysed
  FROM analysis.account a
 CROSS JOIN LATERAL (SELECT analysis.period_of(now(), a.zone) AS period) m
 CROSS JOIN LATERAL analysis.month_of(a.shard, a.user_id, m.period) u
  LEFT JOIN LATERAL analysis.limit_of(a.shard, a.user_id, now()) l ON true
  LEFT JOIN analysis.plan p ON p.id = l.plan_id
 WHERE a.shard = $1 AND a.user_ref = $2
