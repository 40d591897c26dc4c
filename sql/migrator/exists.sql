-- Whether there are tables of the migrator.
SELECT pg_catalog.to_regclass('analysis.schema_migration') IS NOT NULL
   AND pg_catalog.to_regclass('analysis.schema_function') IS NOT NULL AS is_prepared
