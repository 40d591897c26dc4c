-- Shares: users who let a clinician (a login) or a carer (another user) read their analyses.
--
-- The version before works beside this: it neither reads nor writes what is new.
CREATE SEQUENCE analysis.share_id AS bigint;
CREATE TABLE analysis.share (
  shard        smallint NOT NULL,                          -- of the owner
  carer_shard  smallint,
  login_id     oid,                                        -- of the clinician's role
  id           bigint NOT NULL DEFAULT nextval('analysis.share_id'),
  user_id      bigint NOT NULL,                            -- the owner: whose analyses they are
  carer_id     bigint,
  requested_at timestamptz NOT NULL,
  accepted_at  timestamptz,                                -- NULL: nobody reads by it yet
  expires_at   timestamptz,                                -- NULL: never
  revoked_at   timestamptz,
  -- The clinician's login. Name and number both have to be those of a role: one that was renamed, or dropped
  -- and made again, is somebody else.
  login        name,
  requested_by name NOT NULL,                              -- the login
  PRIMARY KEY (shard, id),
  CHECK ((login IS NULL) <> (carer_id IS NULL)),
  CHECK ((login IS NULL) = (login_id IS NULL) AND (carer_id IS NULL) = (carer_shard IS NULL)),
  CHECK ((carer_shard, carer_id) IS DISTINCT FROM (shard, user_id)),
  CHECK (accepted_at >= requested_at));
CREATE INDEX share_user ON analysis.share (shard, user_id);
CREATE INDEX share_login ON analysis.share (shard, login) WHERE login IS NOT NULL;
CREATE INDEX share_carer ON analysis.share (shard, carer_shard, carer_id) WHERE carer_id IS NOT NULL;

ALTER TABLE analysis.share ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.share FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
