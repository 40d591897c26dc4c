SELECT analysis.record_report($1, $2, $3)
