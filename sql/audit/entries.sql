-- The whole chain, as the hashes are made of it.
SELECT a.id, a.at, a.role, a.os_user, a.host, a.address, a.action, a.object, a.reason,
       a.detail::text AS detail, a.previous, a.hash
  FROM analysis.audit a
 ORDER BY a.id
