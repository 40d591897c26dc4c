-- What else is known of a clinic: its kind, where it is, its product and its logos.
--
-- The version before works beside this: a clinic that it adds has the defaults.

-- Logos of clinics: cleaned JPEG pictures, each once, by its hash. They are in the database so that every
-- machine has them that makes a statement, and a closed month keeps those that it was closed with.
CREATE TABLE analysis.logo (
  sha256 bytea PRIMARY KEY CHECK (octet_length(sha256) = 32),
  width  int   NOT NULL CHECK (width > 0),
  height int   NOT NULL CHECK (height > 0),
  bytes  bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 262144));
-- A JPEG is compressed already.
ALTER TABLE analysis.logo ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE analysis.clinic
  ADD COLUMN kind text NOT NULL DEFAULT 'clinic' CHECK (kind IN ('clinic', 'pharmacy', 'both')),
  ADD COLUMN address text CHECK (length(address) BETWEEN 1 AND 1000),                -- in lines
  ADD COLUMN product text CHECK (product ~ '^[a-z0-9][a-z0-9_-]{0,59}$'),            -- NULL: of none
  ADD COLUMN logo bytea REFERENCES analysis.logo,                                    -- as a clinic
  ADD COLUMN pharmacy_logo bytea REFERENCES analysis.logo;                           -- as a pharmacy

-- As it was when the month was closed.
ALTER TABLE analysis.statement_clinic
  ADD COLUMN kind text NOT NULL DEFAULT 'clinic',
  ADD COLUMN address text,
  ADD COLUMN product text,
  ADD COLUMN logo bytea REFERENCES analysis.logo,
  ADD COLUMN pharmacy_logo bytea REFERENCES analysis.logo;
