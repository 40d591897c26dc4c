-- A page of one shard's users that have a photo, by the bytes of their references.
SELECT a.user_ref, p.photo_url
  FROM analysis.account a
  JOIN analysis.profile p ON p.shard = a.shard AND p.user_id = a.user_id
 WHERE a.shard = $1 AND a.user_ref > $2 COLLATE "C" AND p.photo_url IS NOT NULL
 ORDER BY a.user_ref COLLATE "C"
 LIMIT $3
