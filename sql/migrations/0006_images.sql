-- Images: written once at submit, read by key, partitioned by month.
--
-- Most are encrypted before they come here. `bytes` then begins with 24 bytes of nonce and ends with 16 of
-- authentication, and `byte_count` counts them too: it is what a worker will hold. `sha256` stays that of the
-- image as it was, by which a user's images are told apart. The server never has a key: `wrapped_key` is the
-- image's own key, encrypted under the key of a client's key file that `encrypted_by` names (24 bytes of
-- nonce, 48 of the key). To change that key is to write these two anew; the bytes stay where they are.

CREATE SEQUENCE analysis.image_id AS bigint CACHE 64;

CREATE TABLE analysis.image (
  shard      smallint NOT NULL,
  period     smallint NOT NULL,
  -- not cleaned yet: the worker does it before the image leaves
  unsanitized        boolean NOT NULL,
  id         bigint NOT NULL DEFAULT nextval('analysis.image_id'),
  user_id    bigint NOT NULL,
  created_at timestamptz NOT NULL,
  used_at    timestamptz NOT NULL,       -- last submit that named it
  encrypted_by  bigint,                     -- NULL: plaintext
  byte_count int NOT NULL CHECK (byte_count = octet_length(bytes)),
  width      int CHECK (width BETWEEN 1 AND 100000),
  height     int CHECK (height BETWEEN 1 AND 100000),
  sha256     bytea NOT NULL CHECK (octet_length(sha256) = 32),
  wrapped_key bytea,
  -- 10 MB, and a little for encryption.
  bytes      bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 10000512),
  PRIMARY KEY (shard, period, id),
  UNIQUE (shard, period, user_id, sha256),
  CONSTRAINT image_encrypted_whole CHECK (
    CASE WHEN encrypted_by IS NULL THEN wrapped_key IS NULL
         ELSE encrypted_by > 0 AND octet_length(wrapped_key) = 72 AND octet_length(bytes) > 40 END IS TRUE))
  PARTITION BY RANGE (period);

-- Images are compressed already, and 20 to 30 % of the work of an insert would go into trying again.
ALTER TABLE analysis.image ALTER COLUMN bytes SET STORAGE EXTERNAL;
