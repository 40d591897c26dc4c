-- Every clinic with the number of its users, by the bytes of its name.
SELECT c.id, c.name, coalesce(n.users, 0)::int
  FROM analysis.clinic c
  LEFT JOIN (SELECT a.clinic_id, count(*) AS users FROM analysis.account a WHERE a.clinic_id IS NOT NULL GROUP BY 1) n
    ON n.clinic_id = c.id
 ORDER BY c.name COLLATE "C"
