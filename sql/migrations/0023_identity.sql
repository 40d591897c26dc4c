-- What a change of a row is known by beside a publication of all tables: these two have no key, and are
-- known by the whole row.
ALTER TABLE analysis.freed_place REPLICA IDENTITY FULL;
ALTER TABLE ONLY analysis.attempt_error REPLICA IDENTITY FULL;
DO $$
DECLARE
  v_partition regclass;
BEGIN
  FOR v_partition IN
    SELECT i.inhrelid::regclass FROM pg_inherits i WHERE i.inhparent = 'analysis.attempt_error'::regclass
  LOOP
    EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', v_partition);
  END LOOP;
END $$;

-- Who wakes the workers locks this row until the commit.
INSERT INTO analysis.gauge (name, value, at) VALUES ('wake', 0, '-infinity');
