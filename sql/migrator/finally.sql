-- At the end of each migration: the rights, and what is missing of the partitions of the coming months.
SELECT analysis.apply_rights(), analysis.prepare_months()
