-- Images of a worker's jobs with whose they are and with what is needed to send them; of an encrypted one also under which
-- key it is, its own key under that one, and what it is bound to: its user and the hash of what it was. Once each: what is
-- sorted are references to the bytes.
SELECT DISTINCT ON (k.period, k.id) k.id, k.bytes, left(encode(k.sha256, 'hex'), 16), k.sealed_by, k.sealed_key,
       CASE WHEN k.sealed_by IS NOT NULL THEN k.sha256 END, k.user_sha256, k.user_id, k.period
  FROM analysis.image_to_send k
 WHERE k.shard = $1 AND k.batch_id = ANY ($2) AND k.job_id = ANY ($3)
 ORDER BY k.period, k.id
