-- Lists of jobs by user and by state, at any size.

-- The jobs of a user, by number.
CREATE INDEX job_user ON analysis.job (shard, period, user_id, id);

-- Cancellations are few among the results, and only they are in this index.
CREATE INDEX result_cancelled ON analysis.result (shard, period, job_id) WHERE outcome = 2;

-- Dead jobs of a month, and of a user.
CREATE INDEX dead_month ON analysis.dead (shard, period, job_id);
CREATE INDEX dead_user ON analysis.dead (shard, user_id, period, job_id);

-- Scheduled jobs of a month. No larger than the index that it replaces: who looks for a job by its number knows its
-- month.
DROP INDEX analysis.scheduled_job;
CREATE INDEX scheduled_job ON analysis.scheduled (shard, period, job_id);
