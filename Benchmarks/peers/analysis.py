"""The whole job, the same for every peer: read the picture, upload it, check the answer, store the result."""
import asyncio
from contextlib import asynccontextmanager

import aiohttp
import orjson

from database import picture

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

# Results in a statement at most, as many as our worker stores at once.
BATCH = 100

_STORE = """
INSERT INTO peer_result (job_id, user_id, analysis_id, primary_id, primary_name, primary_confidence,
  primary_band, secondary_id, secondary_name, secondary_confidence, secondary_band, conditions)
SELECT a, b, c, d, e, f, g, h, i, j, k, l::jsonb
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[], $8::text[],
  $9::text[], $10::float8[], $11::text[], $12::text[]) r (a, b, c, d, e, f, g, h, i, j, k, l)
"""

# What is stored where no model is asked: the analysis of our own drain, some 1 kB.
_SAMPLE = orjson.dumps({
    "id": "a", "type": KIND,
    "conditions": [
        {
            "id": name, "name": name.capitalize(), "confidence": confidence, "isPotentiallySerious": False,
            "explanation": "An inflammation of the back of the throat, mostly by a virus, that goes by itself.",
            "symptoms": ["sore throat", "fever", "painful swallowing"], "recommendsConsultation": confidence > 0.8,
            "treatment": "Rest, fluids, and something against the pain.", "isNormal": name == "normal",
        }
        for name, confidence in (("tonsillitis", 0.83), ("pharyngitis", 0.41), ("normal", 0.07))
    ],
})


class Results:
    """Stores results many in a statement: all that came while the one before was on its way."""

    def __init__(self, pool):
        self._pool = pool
        self._waiting = []
        self._writer = None

    async def store(self, *columns):
        """Returns when the result is committed."""
        committed = asyncio.get_running_loop().create_future()
        self._waiting.append((columns, committed))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        await committed

    async def _write(self):
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                await self._pool.execute(_STORE, *zip(*(columns for columns, _ in batch)))
            except Exception as error:
                for _, committed in batch:
                    committed.set_exception(error)
            else:
                for _, committed in batch:
                    committed.set_result(None)
        self._writer = None


@asynccontextmanager
async def storer(database):
    """Lends a function that stores a whole analysis, and asks nobody for it."""
    columns = _columns(200, _SAMPLE)
    async with await database.pool(1) as pool:
        results = Results(pool)

        async def store(job_id, job):
            await results.store(job_id, job["user"], *columns)

        yield store


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
        results = Results(pool)

        async def analyse(job_id, job):
            content = await picture(pool, job["image"])
            headers = {
                "Accept": "application/json", "Content-Type": _FORM,
                "Idempotency-Key": f"{KIND}-0-{job_id}",
            }
            body = b"".join((_BEFORE, content, _AFTER))
            async with session.post(url, data=body, headers=headers) as response:
                answer = await response.read()
                status = response.status
            await results.store(job_id, job["user"], *_columns(status, answer))

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
