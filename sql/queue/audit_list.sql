-- Entries of the audit, the latest first.
SELECT o_id, extract(epoch FROM o_at)::float8, o_role, o_os_user, o_host, o_address, o_action, o_object, o_reason, o_detail::text,
       o_hash
  FROM analysis.audit_list($1, $2, $3, $4, $5, $6, $7, $8)
 ORDER BY o_id DESC
