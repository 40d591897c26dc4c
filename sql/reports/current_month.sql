-- The label of the running month in the installation's zone.
SELECT analysis.period_of(now(), coalesce((SELECT s.value FROM analysis.setting s WHERE s.name = 'zone'), 'UTC')) AS period
