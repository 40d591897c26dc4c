# Submits throat.jpg of its folder, asks until the job has ended, and prints what was found. See ../sql.md.
import os
import time

import psycopg

with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
    with open("throat.jpg", "rb") as image:
        submitted = db.execute(
            # %b sends the bytes as they are; as text the driver escapes them by a setting of the session.
            "SELECT outcome, reason, argument, job_id FROM analysis.submit_images(%s, %s, %b, %s)",
            (["u1"], ["throat"], [image.read()], ["python-4711"]),
        )
    outcome, reason, argument, job = submitted.fetchone()
    if outcome == "refused":
        raise SystemExit(f"refused: {reason} {argument}")
    while True:
        asked = db.execute("SELECT state, message FROM analysis.job_state(%s, %s)", ("u1", job))
        state, message = asked.fetchone()
        if state in ("succeeded", "dead", "cancelled"):
            break
        time.sleep(0.2)
    print(job, state, message or "")
    if state == "succeeded":
        reading = db.execute("SELECT analysis.open_results(%s, %s)", ("u1", [job])).fetchone()[0]
        found = "SELECT primary_name, primary_band FROM analysis.analyses_of(%s, %s)"
        for name, band in db.execute(found, ("u1", reading)):
            print(name, band)
