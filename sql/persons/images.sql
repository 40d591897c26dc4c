SELECT o_image, o_bytes, o_unsanitized, o_encrypted_by, o_wrapped_key, CASE WHEN o_encrypted_by IS NOT NULL THEN o_sha256 END, o_user_sha256
  FROM analysis.export_images($1, $2, $3, $4, $5, $6)
