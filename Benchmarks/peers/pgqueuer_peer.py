"""PgQueuer: jobs are claimed and completed in batches, over asyncpg."""
import asyncio
from contextlib import asynccontextmanager

import orjson
from pgqueuer import PgQueuer as Application
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.queries import Queries

# Jobs a claim, and completions a write, where jobs do nothing.
DRAIN_BATCH = 1000
# Its own connections: one listens, one claims, one completes, one is for the rest.
CONNECTIONS = 4


class CountingQueries(Queries):
    """Its own statements, with a word to `progress` before a claim and after a completion."""

    progress = None

    async def dequeue(self, *arguments, **named):
        self.progress.claiming()
        return await super().dequeue(*arguments, **named)

    async def log_jobs(self, job_status):
        await super().log_jobs(job_status)
        self.progress.committed(sum(status == "successful" for _, status, _ in job_status))


class PgQueuer:
    name = "pgqueuer"
    distribution = "pgqueuer"

    def __init__(self):
        self.settings = {"driver": "asyncpg", "loop": "uvloop"}

    async def open(self, database):
        self._database = database
        self._connection = await database.connect()
        self._queries = Queries(AsyncpgDriver(self._connection))

    async def close(self):
        await self._connection.close()

    async def install(self):
        await self._queries.install()
        # What `pgq autovac` does, and its documentation advises.
        await self._queries.optimize_autovacuum()

    async def put(self, kind, job):
        await self._queries.enqueue(kind, orjson.dumps(job) if job else None)

    async def put_many(self, kind, jobs):
        payloads = [orjson.dumps(job) if job else None for job in jobs]
        await self._queries.enqueue([kind] * len(jobs), payloads, [0] * len(jobs))

    @asynccontextmanager
    async def worker(self, kind, function, in_flight, progress):
        async with await self._database.pool(CONNECTIONS) as pool:
            driver = AsyncpgPoolDriver(pool)
            queries = CountingQueries(driver)
            queries.progress = progress
            application = Application(driver, queries=queries)
            application.entrypoint(kind)(_entrypoint(function, in_flight, progress))
            limits = self._limits(in_flight)
            self.settings |= {"connections": CONNECTIONS, **limits}
            task = asyncio.create_task(application.run(**limits))
            task.add_done_callback(lambda ended: _report(ended, progress))
            try:
                yield
            finally:
                application.shutdown.set()
                await task

    def _limits(self, in_flight):
        if in_flight is None:
            return {"batch_size": DRAIN_BATCH}
        # A worker that holds as many jobs as it may sleeps 0.1 s before it claims again. It therefore may hold
        # several times what is in flight, and a semaphore bounds the calls.
        return {"batch_size": 2 * in_flight, "max_concurrent_tasks": 8 * in_flight}

    async def counts(self):
        waiting = await self._connection.fetchval("SELECT count(*) FROM pgqueuer")
        done = await self._connection.fetchval(
            "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"
        )
        return waiting, done


def _entrypoint(function, in_flight, progress):
    if function is None:

        async def nothing(_job):
            pass

        return nothing
    slots = asyncio.Semaphore(in_flight or DRAIN_BATCH)

    async def run(job):
        async with slots:
            try:
                await function(job.id, orjson.loads(job.payload) if job.payload else {})
            except Exception as error:
                progress.failed(error)
                raise

    return run


def _report(task, progress):
    if not task.cancelled() and task.exception():
        progress.failed(task.exception())
