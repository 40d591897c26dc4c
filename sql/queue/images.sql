SELECT o_image, o_bytes, o_digest_prefix, o_encrypted_by, o_wrapped_key, o_sha256, o_user_sha256, o_user
  FROM analysis.images_of_jobs($1, $2, $3, $4)
