-- Tokens by which the app of a user reaches analysis-gateway. The gateway knows a user by the token alone;
-- here is its hash, from which nobody makes the token.
--
-- The version before works beside this: it neither reads nor writes what is new.
CREATE TABLE analysis.user_token (
  shard        smallint NOT NULL,
  number       int NOT NULL CHECK (number > 0),            -- of the user's tokens; none is given twice
  last_used_on date,                                       -- by UTC, written once a day; NULL: never
  user_id      bigint NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,                                -- NULL: never
  revoked_at   timestamptz,
  created_by   name NOT NULL,                              -- the login that added it
  label        text CHECK (length(label) BETWEEN 1 AND 100),
  hash         bytea NOT NULL CHECK (octet_length(hash) = 32),      -- the SHA-256 of the token's whole text
  PRIMARY KEY (shard, user_id, number))
  WITH (fillfactor = 80);
CREATE UNIQUE INDEX user_token_hash ON analysis.user_token (shard, hash);
-- A label may tell who somebody is; the planner keeps no copy of it.
ALTER TABLE analysis.user_token
  ALTER COLUMN label SET STATISTICS 0,
  ALTER COLUMN hash SET STATISTICS 0;

ALTER TABLE analysis.user_token ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.user_token FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
