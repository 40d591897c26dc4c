SELECT o_index, o_outcome, o_reason, o_job, o_period, o_limit, o_used
  FROM analysis.submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
 ORDER BY o_index
