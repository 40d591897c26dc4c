SELECT o FROM analysis.heartbeat($1, $2, $3, $4, $5, $6, $7, $8) AS o
