SELECT analysis.set_photo($1, $2, $3)
