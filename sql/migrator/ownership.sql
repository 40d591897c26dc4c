-- Gives what a step has made to the schema's owner, as soon as there is the function for it.
DO $$
BEGIN
  IF to_regprocedure('analysis.settle_ownership()') IS NOT NULL THEN
    PERFORM analysis.settle_ownership();
  END IF;
END $$
