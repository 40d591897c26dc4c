-- Images of one month by a database whose functions are of an earlier program: it is asked by image and not by job, and may
-- not know whose they are. There the name means the NULL outside.
SELECT i.id, i.bytes, left(encode(i.sha256, 'hex'), 16), i.sealed_by, i.sealed_key,
       CASE WHEN i.sealed_by IS NOT NULL THEN i.sha256 END, i.user_sha256, i.owner
  FROM (SELECT NULL::bigint AS user_id) o
 CROSS JOIN LATERAL (
       SELECT k.id, k.bytes, k.sha256, k.sealed_by, k.sealed_key, k.user_sha256, user_id AS owner
         FROM analysis.image_to_send k
        WHERE k.shard = $1 AND k.period = $2 AND k.id = ANY ($3)) i
