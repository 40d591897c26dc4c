-- The whole chain, as the hashes are made of it.
SELECT a.id, CASE WHEN pg_catalog.isfinite(a.at) THEN (extract(epoch FROM a.at) * 1000000)::int8 END, a.role, a.os_user,
       a.host, a.address, a.action, a.object, a.reason, a.detail::text, a.previous, a.hash
  FROM analysis.audit a
 ORDER BY a.id
