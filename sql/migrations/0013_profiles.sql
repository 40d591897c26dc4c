-- Who a person is beyond name and e-mail address, and users who were given another name.
--
-- The version before works beside this: it neither reads nor writes what is new, and its calls of functions
-- that are replaced answer as before.

-- What an office keeps of a person. The gender is a word of the person's own choosing; nothing is computed
-- from it, and NULL says that it is not stated.
ALTER TABLE analysis.profile
  ADD COLUMN birthday date CHECK (birthday >= '1850-01-01'),
  ADD COLUMN address  text CHECK (length(address) BETWEEN 1 AND 500),
  ADD COLUMN gender   text CHECK (length(gender) BETWEEN 1 AND 60);
ALTER TABLE analysis.profile
  ALTER COLUMN birthday SET STATISTICS 0,                                -- see 0001_accounts.sql
  ALTER COLUMN address SET STATISTICS 0,
  ALTER COLUMN gender SET STATISTICS 0;

-- Every name that a renamed user has or had, as its SHA-256, with the shard where the user has been from the
-- beginning: a name's own hash may point to another. A name that a user had before stays theirs until they
-- are erased, so that nobody else is taken for them. There are a few rows, or none.
CREATE TABLE analysis.renamed (
  name_sha256 bytea PRIMARY KEY CHECK (octet_length(name_sha256) = 32),
  shard       smallint NOT NULL,
  user_id     bigint NOT NULL,
  since       timestamptz NOT NULL);

CREATE INDEX renamed_user ON analysis.renamed (shard, user_id);
ALTER TABLE analysis.renamed ALTER COLUMN name_sha256 SET STATISTICS 0;

ALTER TABLE analysis.renamed ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.renamed FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- An encrypted image is bound to the SHA-256 of its user's name. Here it is where the user has had another
-- name since; NULL: it is that of the name in the account.
ALTER TABLE analysis.image ADD COLUMN user_sha256 bytea CHECK (octet_length(user_sha256) = 32);
