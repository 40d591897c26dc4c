-- The same of the schema before, in which no image was encrypted; and whether it still is that schema.
SELECT k.id, k.bytes, left(encode(k.sha256, 'hex'), 16),
       NOT EXISTS (SELECT 1 FROM analysis.schema_migration m WHERE m.number >= 8)
  FROM analysis.image k
 WHERE k.shard = $1 AND k.period = $2 AND k.id = ANY ($3)
