-- The login roles of an installation, each a member of the role with its duty. Run once after the first
-- `analysisctl migrate`, as an administrator:
--
--   psql -d analysis -f roles.sql
--
-- The passwords are asked for on the terminal and sent as hashes; they stand in no file but the programs' own password
-- files (see pg_service.conf).

-- Workers: six connections each.
CREATE ROLE worker LOGIN IN ROLE analysis_worker;
\password worker

-- The back-end that submits.
CREATE ROLE backend LOGIN IN ROLE analysis_submitter;
\password backend

-- The monthly statements.
CREATE ROLE accounts LOGIN IN ROLE analysis_reporter;
\password accounts

-- Removal of what has been kept for long enough.
CREATE ROLE keeper LOGIN;
SELECT analysis.allow('keeper', 'retention');
\password keeper

-- Whoever answers persons who ask for their data, or to be forgotten.
CREATE ROLE privacy LOGIN;
SELECT analysis.allow('privacy', 'privacy');
\password privacy

-- Whoever looks after users, plans and clinics, and whoever pauses and retries.
CREATE ROLE office LOGIN;
SELECT analysis.allow('office', 'administrator'), analysis.allow('office', 'operator');
\password office

-- Upgrades: owns the schema by membership, and is no superuser.
CREATE ROLE upgrades LOGIN IN ROLE analysis_owner;
\password upgrades
