-- The results that were cancelled, or took another number of calls than one: few. With them reports count all
-- others by their keys, without reading what was found. To make it the server reads all results once, and
-- none is stored meanwhile. A migration of its own, so that nothing else waits. The version before works
-- beside this.
CREATE INDEX result_uncommon ON analysis.result (shard, period, user_id) INCLUDE (outcome, calls)
  WHERE outcome = 2 OR calls <> 1;
