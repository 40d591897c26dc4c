-- How lanes and attempts are written as numbers, and nowhere else but in the programs' Lane. The planner
-- puts each of these expressions in the place of its call.

-- A lane is four times the type of analysis, and the priority: 0 urgent, 1 normal, 2 bulk; 3 is the
-- quarantine of the type.
CREATE OR REPLACE FUNCTION analysis.lane_of(p_kind smallint, p_priority smallint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_kind * 4 + p_priority)::smallint $$;

CREATE OR REPLACE FUNCTION analysis.quarantine_of(p_kind smallint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_kind * 4 + 3)::smallint $$;

CREATE OR REPLACE FUNCTION analysis.is_quarantine(p_lane smallint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT p_lane % 4 = 3 $$;

CREATE OR REPLACE FUNCTION analysis.kind_of(p_lane smallint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_lane / 4)::smallint $$;

CREATE OR REPLACE FUNCTION analysis.priority_of(p_lane smallint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_lane % 4)::smallint $$;

-- `tries` holds the attempts that were consumed in its low byte, and above it how often a lease of the job
-- was lost: 0 to 2.
CREATE OR REPLACE FUNCTION analysis.attempts_of(p_tries smallint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_tries & 255::smallint) $$;

CREATE OR REPLACE FUNCTION analysis.losses_of(p_tries smallint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_tries >> 8) $$;

CREATE OR REPLACE FUNCTION analysis.tries_of(p_attempts int, p_losses int) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$ SELECT (p_attempts + 256 * p_losses)::smallint $$;
