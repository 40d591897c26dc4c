-- Whose a user is; no row for one who is of no clinic.
SELECT c.name FROM analysis.account a JOIN analysis.clinic c ON c.id = a.clinic_id WHERE a.shard = $1 AND a.user_id = $2
