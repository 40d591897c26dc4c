SELECT analysis.save_profile($1, $2, $3, $4, $5, $6, to_timestamp($7::float8))
