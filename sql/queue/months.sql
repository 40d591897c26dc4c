-- The months that have partitions, the latest first.
SELECT period FROM analysis.partition_made ORDER BY period DESC
