-- Whose the jobs of a lease are, so that a completion need not look the jobs up again. NULL in a lease that was
-- taken while the functions were still those of before.
ALTER TABLE analysis.batch
  ADD COLUMN user_ids bigint[],
  ADD CONSTRAINT batch_users_whole CHECK (cardinality(user_ids) = cardinality(job_ids));
