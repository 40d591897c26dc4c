SELECT o_user, o_open, o_cancelled, o_profile, o_images, o_image_bytes, o_results, o_dead, o_attempts, o_jobs, o_keys, o_lines,
       o_photo
  FROM analysis.erase_user($1, $2, $3, $4)
