"""The whole job, the same for every peer: read the picture, upload it, check the answer, store the result."""
from contextlib import asynccontextmanager

import aiohttp
import orjson

KIND = "throat"
# The deadline of a call, seconds; the default of analysis-worker.
DEADLINE = 120
# Connections for pictures and results, beside the peer's own. More of them give the two cores of a small machine
# no more work to do.
CONNECTIONS = 16
# Random, as a form's boundary is, but drawn once: with that many bits it meets no picture.
BOUNDARY = "form-2k9x7q4v1m8zt-1c5r3w6n0y7hb"

_FORM = f"multipart/form-data; boundary={BOUNDARY}"
_BEFORE = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="type"\r\n\r\n{KIND}\r\n'
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="image"; filename="image.jpg"\r\n'
    "Content-Type: image/jpeg\r\n\r\n"
).encode()
_AFTER = f"\r\n--{BOUNDARY}--\r\n".encode()

_STORE = """
INSERT INTO peer_result (job_id, user_id, analysis_id, primary_id, primary_name, primary_confidence,
  primary_band, secondary_id, secondary_name, secondary_confidence, secondary_band, conditions)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::jsonb)
"""


@asynccontextmanager
async def analyser(database, endpoint, in_flight):
    """Lends the function of a whole job, which takes the job's id and its content."""
    url = endpoint.rstrip("/") + "/api/analyze"
    connector = aiohttp.TCPConnector(limit=in_flight, keepalive_timeout=60)
    pool = await database.pool(min(CONNECTIONS, in_flight))
    async with pool, aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=DEADLINE),
    ) as session:

        async def analyse(job_id, job):
            picture = await pool.fetchval("SELECT bytes FROM peer_image WHERE id = $1", job["image"])
            headers = {
                "Accept": "application/json", "Content-Type": _FORM,
                "Idempotency-Key": f"{KIND}-0-{job_id}",
            }
            body = b"".join((_BEFORE, picture, _AFTER))
            async with session.post(url, data=body, headers=headers) as response:
                answer = await response.read()
                status = response.status
            await pool.execute(_STORE, job_id, job["user"], *_columns(status, answer))

        yield analyse


def _columns(status, answer):
    """The result's columns from the analysis to the conditions; raises where the answer is no valid analysis."""
    if not 200 <= status <= 299:
        raise ValueError(f"the endpoint answered {status}")
    found = orjson.loads(answer)
    if found.get("error") or found["type"] != KIND:
        raise ValueError("the endpoint answered a failure, or an analysis of another type")
    conditions = found["conditions"]
    for condition in conditions:
        if condition.get("isError") or not 0 <= condition["confidence"] <= 1:
            raise ValueError("the endpoint answered a condition that is none")
        condition["band"] = _band(condition["confidence"])
    first, second = (conditions + [{}, {}])[:2]
    names = [part.get(key) for part in (first, second) for key in ("id", "name", "confidence", "band")]
    return (str(found["id"]), *names, orjson.dumps(conditions).decode())


def _band(confidence):
    if confidence >= 0.8:
        return "red"
    if confidence >= 0.6:
        return "orange"
    return "yellow" if confidence >= 0.4 else "green"
