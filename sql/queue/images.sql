-- Images of one month with what is needed to send them; of an encrypted one also under which key it is, its own key
-- under that one, and what it is bound to: its user and the hash of what it was.
SELECT k.id, k.bytes, left(encode(k.sha256, 'hex'), 16), k.sealed_by, k.sealed_key,
       CASE WHEN k.sealed_by IS NOT NULL THEN k.sha256 END, k.user_sha256
  FROM analysis.image_to_send k
 WHERE k.shard = $1 AND k.period = $2 AND k.id = ANY ($3)
