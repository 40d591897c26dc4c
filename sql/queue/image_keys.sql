SELECT o_sealed_by, o_images FROM analysis.image_keys($1)
