-- The roles that are restricted to clinics, with the names of those that they see.
SELECT v.role::text,
       ARRAY(SELECT c.name FROM analysis.clinic c WHERE c.id = ANY (v.clinic_ids) ORDER BY c.name COLLATE "C")
  FROM analysis.clinic_viewer v
 ORDER BY v.role::text COLLATE "C"
