-- The functions of the schema as the server keeps them.
SELECT p.proname::text, p.prosrc FROM pg_proc p WHERE p.pronamespace = to_regnamespace('analysis')
