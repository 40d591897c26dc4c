SELECT o_image, o_bytes, o_mark, o_sealed_by, o_sealed_key, o_sha256, o_user_sha256, o_user
  FROM analysis.images_of_jobs($1, $2, $3, $4)
