-- Which of some jobs of one shard and month are finished.
SELECT o_job, o_state FROM analysis.jobs_ended($1, $2, $3)
