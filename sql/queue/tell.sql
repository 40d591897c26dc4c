SELECT analysis.tell($1, $2, $3)
