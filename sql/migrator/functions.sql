-- The function groups of this database.
SELECT name, checksum FROM analysis.schema_function ORDER BY name
