-- What persons' results, images and failures are read by: functions, which filter by clinic themselves and have a committed
-- entry of the audit. No role but the owner reads them past those, by a table or by a view.

DROP FUNCTION IF EXISTS analysis.audit_read(text, text, jsonb), analysis.audit_result(smallint, smallint, bigint),
  analysis.result_of(text, bigint);
DROP VIEW IF EXISTS analysis.image_to_send, analysis.user_result, analysis.analysis_count, analysis.condition_count;

-- What a role has that none of its duties brings is taken back at the end of each migration, so nobody has to remember what
-- a duty brought before.
ALTER TABLE analysis.duty_granted DROP COLUMN is_narrowed;
