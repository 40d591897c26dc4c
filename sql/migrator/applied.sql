-- The migrations of this database.
SELECT number, name, checksum, applied_at FROM analysis.schema_migration ORDER BY number
