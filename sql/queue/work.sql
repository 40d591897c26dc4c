SELECT w.o_shard, w.o_marks, w.o_next_run, w.o_refunds, w.o_held, w.o_lost, array_to_string(w.o_turns, ','), l.lane,
       l.scan_from
  FROM analysis.work($1, $2, $3, $4) w
  LEFT JOIN LATERAL unnest(w.o_lanes, w.o_scan_from) l(lane, scan_from) ON true
