-- Whether there are tables of the migrator.
SELECT to_regclass('analysis.schema_migration') IS NOT NULL AND to_regclass('analysis.schema_function') IS NOT NULL
