-- What settling a job costs the server.

-- Whose the jobs of a lease are, so that a completion need not look the jobs up again. NULL in a lease that was
-- taken while the functions were still those of before. The arrays of a few hundred jobs stay in the row as they
-- are: to compress them, or to keep them elsewhere, at every change of a row that lives for seconds is work for
-- nothing.
ALTER TABLE analysis.batch
  ADD COLUMN user_ids bigint[],
  ADD CONSTRAINT batch_users_whole CHECK (cardinality(user_ids) = cardinality(job_ids)),
  ALTER COLUMN job_ids SET STORAGE EXTERNAL,
  ALTER COLUMN periods SET STORAGE EXTERNAL,
  ALTER COLUMN tries SET STORAGE EXTERNAL,
  ALTER COLUMN user_ids SET STORAGE EXTERNAL,
  SET (toast_tuple_target = 8160);

-- The server reads and prepares every check anew for every statement: one for each column was three quarters of
-- what storing a single result took. Kept is what a result means, as few checks; how long its texts are, the worker
-- decides when it reads the answer.
ALTER TABLE analysis.result
  DROP CONSTRAINT result_outcome_check,
  DROP CONSTRAINT result_primary_confidence_check,
  DROP CONSTRAINT result_secondary_confidence_check,
  DROP CONSTRAINT result_call_ms_check,
  DROP CONSTRAINT result_attempt_check,
  DROP CONSTRAINT result_calls_check,
  DROP CONSTRAINT result_condition_count_check,
  DROP CONSTRAINT result_primary_band_check,
  DROP CONSTRAINT result_secondary_band_check,
  DROP CONSTRAINT result_analysis_id_check,
  DROP CONSTRAINT result_primary_id_check,
  DROP CONSTRAINT result_primary_name_check,
  DROP CONSTRAINT result_secondary_id_check,
  DROP CONSTRAINT result_secondary_name_check,
  DROP CONSTRAINT result_endpoint_check,
  DROP CONSTRAINT result_model_check,
  DROP CONSTRAINT result_version_check,
  DROP CONSTRAINT result_conditions_check,
  DROP CONSTRAINT result_analysis_whole,
  DROP CONSTRAINT result_primary_whole,
  DROP CONSTRAINT result_secondary_whole,
  ADD CONSTRAINT result_analysis_whole CHECK (
    CASE outcome
      WHEN 1 THEN analysis_id IS NOT NULL AND condition_count = jsonb_array_length(conditions) AND attempt BETWEEN 1 AND 255 AND calls > 0
      WHEN 2 THEN num_nonnulls(analysis_id, conditions, condition_count, primary_id, secondary_id) = 0
      ELSE false END IS TRUE),
  ADD CONSTRAINT result_primary_whole CHECK (
    CASE WHEN condition_count > 0
      THEN num_nulls(primary_id, primary_name, primary_normal) = 0
           AND primary_confidence BETWEEN 0 AND 1 AND primary_band BETWEEN 1 AND 4
      ELSE num_nonnulls(primary_id, primary_name, primary_confidence, primary_band, primary_normal) = 0 END IS TRUE),
  ADD CONSTRAINT result_secondary_whole CHECK (
    CASE WHEN condition_count > 1
      THEN num_nulls(secondary_id, secondary_name, secondary_normal) = 0
           AND secondary_confidence BETWEEN 0 AND 1 AND secondary_band BETWEEN 1 AND 4
      ELSE num_nonnulls(secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal) = 0 END IS TRUE);
