SELECT o_lease, o_lane, o_job, o_period, o_attempt, o_vt, o_user, o_kind, o_image_period, o_image, o_bytes, o_unsanitized, o_expired,
       o_max_attempts
  FROM analysis.claim($1, $2, $3, $4, $5, $6, $7, $8)
