SELECT o_encrypted_by, o_images FROM analysis.image_keys($1)
