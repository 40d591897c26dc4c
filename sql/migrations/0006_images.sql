-- Images: written once at submit, read by key, partitioned by month.
--
-- Most are encrypted before they come here. `bytes` then begins with 24 bytes of nonce and ends with 16 of
-- authentication, and `byte_count` counts them too: it is what a worker will hold. The server never has a
-- key: `wrapped_key` is the image's own key, encrypted under the key of a client's key file that
-- `encrypted_by` names (24 bytes of nonce, 48 of the key). To change that key is to write these two anew; the
-- bytes stay where they are.
--
-- `sha256` is a hash of the image as it was before, by which a user's images are told apart. `encrypted_by`
-- says which: NULL, the SHA-256; else the HMAC-SHA-256 under a key of the key file, so that whoever has a
-- dump and a picture cannot find out whether it is here. The same picture by both ways is two images.

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
  -- Whether a submit of the same picture uses this row again. Not after an encrypted one took the place
  -- of one in plaintext or under another key, nor after a worker found it changed. Jobs that show it keep it.
  reusable   boolean NOT NULL DEFAULT true,
  encrypted_by  bigint,                     -- NULL: plaintext
  byte_count int NOT NULL CHECK (byte_count = octet_length(bytes)),
  width      int CHECK (width BETWEEN 1 AND 100000),
  height     int CHECK (height BETWEEN 1 AND 100000),
  sha256     bytea NOT NULL CHECK (octet_length(sha256) = 32),
  wrapped_key bytea,
  -- 10 MB, and a little for encryption.
  bytes      bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 10000512),
  PRIMARY KEY (shard, period, id),
  CONSTRAINT image_encrypted_whole CHECK (
    CASE WHEN encrypted_by IS NULL THEN wrapped_key IS NULL
         ELSE encrypted_by > 0 AND octet_length(wrapped_key) = 72 AND octet_length(bytes) > 40 END IS TRUE))
  PARTITION BY RANGE (period);

CREATE UNIQUE INDEX image_hash ON analysis.image (shard, period, user_id, sha256) WHERE reusable;

-- Images are compressed already, and 20 to 30 % of the work of an insert would go into trying again.
ALTER TABLE analysis.image ALTER COLUMN bytes SET STORAGE EXTERNAL;
