SELECT analysis.rewrap_images($1, $2, $3, $4::text[]::tid[], $5, $6, $7)
