-- What clinicians say of analyses: verdicts, each version of them, and comments. And from how many persons
-- on a count is shown to a login that sees some clinics only.
--
-- The version before works beside this: it neither reads nor writes what is new.

-- The verdicts, each with the finding that it is about: the result's first condition, if it has any. That
-- never changes, and so reports need not look up a result for each. A clinician has one of a job; a change
-- is a new version, and the one before is kept. Erasing the person removes them, and they go with the job's
-- result.
CREATE TABLE analysis.review (
  shard              smallint NOT NULL,
  period             smallint NOT NULL,   -- the job's: it has a result and stays there
  version            smallint NOT NULL CHECK (version BETWEEN 1 AND 1000),
  verdict            smallint NOT NULL CHECK (verdict BETWEEN 1 AND 3), -- agree, disagree, unsure
  job_id             bigint NOT NULL,
  user_id            bigint NOT NULL,
  at                 timestamptz NOT NULL,
  replaced_at        timestamptz,         -- NULL: it is the present one
  primary_band       smallint,
  primary_normal     boolean,
  primary_confidence numeric,             -- to add them up exactly
  primary_id         text,
  primary_name       text,
  reviewer           text NOT NULL CHECK (length(reviewer) BETWEEN 1 AND 63),  -- the database login
  PRIMARY KEY (shard, period, job_id, reviewer, version));
CREATE UNIQUE INDEX review_present ON analysis.review (shard, period, job_id, reviewer)
  WHERE replaced_at IS NULL;
CREATE INDEX review_user ON analysis.review (shard, user_id);
-- The present ones in the order of a list.
CREATE INDEX review_at ON analysis.review (shard, at, job_id) WHERE replaced_at IS NULL;

-- The comments of a job, which its readers see below each other. They may tell who somebody is: the planner
-- keeps no copy of them, and neither the audit nor an error has any of their words.
CREATE TABLE analysis.review_comment (
  shard   smallint NOT NULL,
  period  smallint NOT NULL,                                     -- the job's
  number  smallint NOT NULL CHECK (number BETWEEN 1 AND 1000),   -- of the job's comments
  job_id  bigint NOT NULL,
  user_id bigint NOT NULL,
  at      timestamptz NOT NULL,
  author  text NOT NULL CHECK (length(author) BETWEEN 1 AND 63),
  body    text NOT NULL CHECK (length(body) BETWEEN 1 AND 4000),
  PRIMARY KEY (shard, period, job_id, number));
CREATE INDEX review_comment_user ON analysis.review_comment (shard, user_id);
ALTER TABLE analysis.review_comment ALTER COLUMN body SET STATISTICS 0;

ALTER TABLE analysis.review ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.review FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
ALTER TABLE analysis.review_comment ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.review_comment FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- The functions of the version before, which are there until this one's have been made, know no such setting
-- and would refuse it; and that it is there is nobody's change.
ALTER TABLE analysis.setting DISABLE TRIGGER USER;
INSERT INTO analysis.setting (name, value) VALUES ('report_threshold', '5');
ALTER TABLE analysis.setting ENABLE TRIGGER USER;
