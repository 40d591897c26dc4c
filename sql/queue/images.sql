-- Images of one month with what is needed to send them; of an encrypted one also under which key it is, its own key
-- under that one, and what it is bound to: its user and the hash of what it was.
SELECT k.id, k.bytes, left(encode(k.sha256, 'hex'), 16), k.sealed_by, k.sealed_key,
       CASE WHEN k.sealed_by IS NOT NULL THEN k.sha256 END, a.user_ref
  FROM analysis.image k
  LEFT JOIN LATERAL (
    SELECT c.user_ref FROM analysis.account c
     WHERE k.sealed_by IS NOT NULL AND c.shard = k.shard AND c.user_id = k.user_id OFFSET 0) a ON true
 WHERE k.shard = $1 AND k.period = $2 AND k.id = ANY ($3)
