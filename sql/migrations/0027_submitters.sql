-- A login may have several numbers: those of its sessions whose first submits were open at the same time.
-- The version before works beside this.
ALTER TABLE analysis.submitter DROP CONSTRAINT submitter_login_key;
CREATE INDEX submitter_login ON analysis.submitter (login);

-- Keys that are there are kept without the login that submitted, and are looked for as they are.
INSERT INTO analysis.gauge (name, value) SELECT 'old_keys', 1 WHERE EXISTS (SELECT FROM analysis.idem);
