SELECT o_image, o_place::text, o_encrypted_by, o_wrapped_key, o_sha256, o_user_sha256
  FROM analysis.images_to_rewrap($1, $2, $3, $4, $5) ORDER BY o_image
