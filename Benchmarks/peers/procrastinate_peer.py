"""Procrastinate: jobs are claimed and completed one by one, over psycopg."""
import asyncio
from contextlib import asynccontextmanager

import procrastinate
import psycopg_pool
from procrastinate.manager import JobManager

# Jobs at once in each of its workers, where jobs do nothing.
DRAIN_CONCURRENCY = 16
# Workers in the one process. A worker claims one job at a time, so that a few of them claim side by side.
WORKERS = 2
# Its own connections.
CONNECTIONS = 8


class CountingManager(JobManager):
    """Its own statements, with a word to `progress` before a claim and after a completion."""

    progress = None

    async def fetch_job(self, *arguments, **named):
        if self.progress:
            self.progress.claiming()
        return await super().fetch_job(*arguments, **named)

    async def finish_job(self, job, status, delete_job):
        await super().finish_job(job=job, status=status, delete_job=delete_job)
        if status is procrastinate.jobs.Status.SUCCEEDED:
            self.progress.committed(1)


class Procrastinate:
    name = "procrastinate"
    distribution = "procrastinate"

    def __init__(self):
        self.settings = {"driver": "psycopg (C)", "loop": "uvloop", "autocommit": True, "connections": CONNECTIONS}

    async def open(self, database):
        self._app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=database.conninfo, min_size=CONNECTIONS, max_size=CONNECTIONS,
                configure=_autocommit, pool_factory=_pool,
            )
        )
        self._app.job_manager = CountingManager(self._app.connector)
        self._functions = {}
        self._tasks = {kind: self._task(kind) for kind in ("noop", "analysis")}
        await self._app.open_async()

    async def close(self):
        await self._app.close_async()

    async def install(self):
        await self._app.schema_manager.apply_schema_async()

    async def put(self, kind, job):
        await self._tasks[kind].defer_async(**job)

    async def put_many(self, kind, jobs):
        await self._tasks[kind].batch_defer_async(*jobs)

    def _task(self, kind):
        async def run(context, **job):
            function = self._functions[kind]
            if function is None:
                return
            try:
                await function(context.job.id, job)
            except Exception as error:
                self._app.job_manager.progress.failed(error)
                raise

        return self._app.task(name=kind, queue=kind, pass_context=True)(run)

    @asynccontextmanager
    async def worker(self, kind, function, in_flight, progress):
        self._functions[kind] = function
        self._app.job_manager.progress = progress
        share = -(-in_flight // WORKERS) if in_flight else DRAIN_CONCURRENCY
        self.settings |= {"workers": WORKERS, "concurrency of each": share}
        tasks = [
            asyncio.create_task(
                self._app.run_worker_async(
                    queues=[kind], name=f"worker-{number}", concurrency=share, install_signal_handlers=False
                )
            )
            for number in range(WORKERS)
        ]
        for task in tasks:
            task.add_done_callback(lambda ended: _report(ended, progress))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def counts(self):
        rows = await self._app.connector.execute_query_all_async(
            "SELECT status = 'succeeded' AS done, count(*) AS jobs FROM procrastinate_jobs GROUP BY 1"
        )
        found = {row["done"]: row["jobs"] for row in rows}
        return found.get(False, 0), found.get(True, 0)


async def _autocommit(connection):
    # Each of its calls is one statement; in a transaction of its own by BEGIN and COMMIT it takes three round trips.
    await connection.set_autocommit(True)


def _pool(**arguments):
    # It asks by a round trip whether a connection still lives each time it takes one from the pool.
    arguments["check"] = None
    return psycopg_pool.AsyncConnectionPool(**arguments)


def _report(task, progress):
    if not task.cancelled() and task.exception():
        progress.failed(task.exception())
