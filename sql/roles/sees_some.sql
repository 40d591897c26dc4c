-- Whether the login sees some clinics only. Every login may ask.
SELECT analysis.clinics_seen(current_user) IS NOT NULL AS sees_some
