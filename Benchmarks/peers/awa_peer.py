"""awa: an engine in Rust with its own connections, which calls functions in Python."""
import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

import awa

# Jobs at once, where jobs do nothing.
DRAIN_WORKERS = 1000
CONNECTIONS = 10
# How often the database is asked whether the last completions are committed, which the engine tells nobody.
LOOK_SECONDS = 0.01


@dataclass
class Noop:
    pass


@dataclass
class Analysis:
    image: int
    user: str


KINDS = {"noop": Noop, "analysis": Analysis}


class Awa:
    name = "awa"
    distribution = "awa-pg"

    def __init__(self):
        self.settings = {"loop": "uvloop", "connections": CONNECTIONS}

    async def open(self, database):
        self._database = database
        self._client = awa.AsyncClient(database.url, max_connections=CONNECTIONS)
        self._connection = await database.connect()
        # Its view of all jobs joins tables of which the server knows nothing yet: with nested loops to count 50,000
        # jobs took minutes.
        await self._connection.execute("SET enable_nestloop = off")

    async def close(self):
        await self._connection.close()
        await self._client.close()

    async def install(self):
        await self._client.migrate()
        # Its present storage, which is what `enqueue_many_copy` writes to.
        await self._client.install_queue_storage()

    async def put(self, kind, job):
        await self._client.insert(KINDS[kind](**job), queue=kind)

    async def put_many(self, kind, jobs):
        make = KINDS[kind]
        await self._client.enqueue_many_copy([make(**job) for job in jobs], queue=kind)

    @asynccontextmanager
    async def worker(self, kind, function, in_flight, progress):
        returned = Returned(progress, self.counts)
        self._client.task(KINDS[kind], queue=kind)(_handler(function, returned))
        queue = {"name": kind, "max_workers": in_flight or DRAIN_WORKERS}
        self.settings |= queue
        await self._client.start([queue])
        try:
            yield
        finally:
            await self._client.shutdown()
            await returned.close()

    async def counts(self):
        rows = await self._connection.fetch("SELECT state::text, count(*) FROM awa.jobs GROUP BY 1")
        found = {row["state"]: row["count"] for row in rows}
        done = found.pop("completed", 0)
        return sum(found.values()), done


class Returned:
    """Counts the functions that returned, and looks for the completion of the last one in the database."""

    def __init__(self, progress, counts):
        self.progress = progress
        self._counts = counts
        self._count = 0
        self._look = None

    def one(self):
        self._count += 1
        if self._count == self.progress.expected:
            self._look = asyncio.create_task(self._wait())

    async def _wait(self):
        while (await self._counts())[0] > 0:
            await asyncio.sleep(LOOK_SECONDS)
        self.progress.committed(self._count)

    async def close(self):
        if self._look:
            await self._look


def _handler(function, returned):
    async def run(job):
        returned.progress.claiming()
        if function:
            try:
                await function(job.id, vars(job.args))
            except Exception as error:
                returned.progress.failed(error)
                raise
        returned.one()

    return run
