SELECT analysis.set_zone($1, $2, $3)
