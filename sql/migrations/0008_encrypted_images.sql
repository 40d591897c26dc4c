-- Images that were encrypted before they came here.
--
-- `bytes` then begins with 24 bytes of nonce and ends with 16 of authentication, and `byte_count` counts them too: it
-- is what a worker will hold. `sha256` stays that of the image as it was, by which a user's images are told apart. The
-- server has no key and never had one: `sealed_key` is the image's own key, encrypted under the key of a client's
-- key file that `sealed_by` names (24 bytes of nonce, 48 of the key). To change that key is to write these two anew;
-- the bytes stay where they are.
ALTER TABLE analysis.image
  ADD COLUMN sealed_by  bigint,          -- NULL: in the clear
  ADD COLUMN sealed_key bytea,
  ADD CONSTRAINT image_sealed_whole CHECK (
    CASE WHEN sealed_by IS NULL THEN sealed_key IS NULL
         ELSE sealed_by > 0 AND octet_length(sealed_key) = 72 AND octet_length(bytes) > 40 END IS TRUE);

-- What a worker reads: of a user no more than the hash of the reference, to which an encrypted image is bound.
CREATE VIEW analysis.image_to_send AS
SELECT k.shard, k.period, k.id, k.bytes, k.sha256, k.sealed_by, k.sealed_key, a.user_sha256
FROM analysis.image k
LEFT JOIN LATERAL (
  SELECT sha256(convert_to(c.user_ref, 'UTF8')) AS user_sha256 FROM analysis.account c
  WHERE k.sealed_by IS NOT NULL AND c.shard = k.shard AND c.user_id = k.user_id OFFSET 0) a ON true;
