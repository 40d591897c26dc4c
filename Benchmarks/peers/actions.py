"""The actions: each does its work, checks it in the database and returns what it measured."""
import asyncio
import random
import time

import analysis
import database as tables
from meter import Meter, Progress, percentiles
from peer import ANALYSIS, NOOP

# Of `fill`, which is not timed.
FILL_BATCH = 1000
# Between two rounds of `latency`, seconds: above the 0.25 s after which the slowest peer writes down that a job
# is done, so that the queue is idle; a random part keeps the rounds out of step with whatever polls.
PAUSE = 0.3
PAUSE_SPREAD = 0.05
# So many rounds of `latency` before the clock: they make connections, plans and caches.
WARM_UP = 20
USERS = 100


async def prepare(peer, database, options):
    await peer.install()
    picture = None
    if options.image:
        with open(options.image, "rb") as file:
            picture = file.read()
    await tables.make_tables(database, picture, options.image_bytes)


async def fill(peer, _database, options):
    await put_all(peer, NOOP, [{}] * options.jobs)


async def fill_whole(peer, _database, options):
    await put_all(peer, ANALYSIS, whole_jobs(options.jobs))


async def enqueue_one(peer, _database, options):
    meter = Meter()
    meter.begin()
    for _ in range(options.jobs):
        await peer.put(NOOP, {})
    meter.end()
    await check(peer, waiting=options.jobs, done=0)
    return meter.result()


async def enqueue_bulk(peer, _database, options):
    # All but the last are of the same size, and may be the same list: no peer keeps it.
    batch = [{}] * options.batch
    meter = Meter()
    meter.begin()
    for start in range(0, options.jobs, options.batch):
        await peer.put_many(NOOP, batch[: options.jobs - start])
    meter.end()
    await check(peer, waiting=options.jobs, done=0)
    return meter.result()


async def drain(peer, _database, options):
    await check(peer, waiting=options.jobs, done=0)
    meter = Meter()
    progress = Progress(options.jobs, meter)
    async with peer.worker(NOOP, None, None, progress):
        await progress.wait()
    await check(peer, waiting=0, done=options.jobs)
    return meter.result()


async def drain_whole(peer, database, options):
    return await run_whole(peer, database, options, analysis.storer(database), None)


async def whole(peer, database, options):
    function = analysis.analyser(database, options.endpoint, options.in_flight)
    return await run_whole(peer, database, options, function, options.in_flight)


async def run_whole(peer, database, options, lent, in_flight):
    await check(peer, waiting=options.jobs, done=0)
    meter = Meter()
    progress = Progress(options.jobs, meter)
    async with lent as function:
        async with peer.worker(ANALYSIS, function, in_flight, progress):
            await progress.wait()
    await check(peer, waiting=0, done=options.jobs)
    await check_results(database, options.jobs)
    return meter.result()


async def latency(peer, database, options):
    puts, begins = [], []
    started = asyncio.Event()

    async with analysis.analyser(database, options.endpoint, 1) as analyse:

        async def function(job_id, job):
            begins.append(time.time_ns())
            await analyse(job_id, job)
            started.set()

        meter = Meter()
        rounds = WARM_UP + options.rounds
        progress = Progress(rounds)
        async with peer.worker(ANALYSIS, function, None, progress):
            for number, job in enumerate(whole_jobs(rounds)):
                await asyncio.sleep(PAUSE + random.uniform(0, PAUSE_SPREAD))
                started.clear()
                if number == WARM_UP:
                    meter.begin()
                puts.append(time.time_ns())
                await peer.put(ANALYSIS, job)
                await asyncio.wait_for(started.wait(), 30)
            await progress.wait()
            meter.end()
    # Each ran, or its round would have ended the action; that none is left is all there is to look up. A peer may
    # have put finished jobs away by now.
    waiting, _ = await peer.counts()
    arrivals = await tables.arrivals(database)
    if waiting or len(arrivals) != rounds:
        raise RuntimeError(f"{peer.name} ran {len(arrivals)} jobs of {rounds}, and {waiting} wait")
    return {
        **meter.result(),
        "latency_ms": {**since(puts, arrivals), "until_function_p50": since(puts, begins)["p50"]},
    }


def since(begins, ends):
    """Percentiles of what lies between times in nanoseconds, behind the first rounds."""
    spans = [(end - begin) / 1e9 for begin, end in zip(begins, ends, strict=True)][WARM_UP:]
    if min(spans) < 0:
        raise RuntimeError("the clock was set back, or jobs did not run in their order")
    return percentiles(spans)


def whole_jobs(count):
    return [{"image": n % tables.IMAGE_COUNT, "user": f"user-{n % USERS}"} for n in range(count)]


async def put_all(peer, kind, jobs):
    before, _ = await peer.counts()
    for start in range(0, len(jobs), FILL_BATCH):
        await peer.put_many(kind, jobs[start : start + FILL_BATCH])
    await check(peer, waiting=before + len(jobs), done=0)


async def check(peer, *, waiting, done):
    found = await peer.counts()
    if found != (waiting, done):
        raise RuntimeError(
            f"{peer.name} has {found[0]} jobs waiting and {found[1]} done, not {waiting} and {done};"
            " each timed action wants a database of its own, prepared and (drain) filled"
        )


async def check_results(database, count):
    connection = await database.connect()
    try:
        row = await connection.fetchrow(
            "SELECT count(*) AS results,"
            " count(*) FILTER (WHERE jsonb_array_length(conditions) > 0 AND primary_band IS NOT NULL) AS whole"
            " FROM peer_result"
        )
    finally:
        await connection.close()
    if (row["results"], row["whole"]) != (count, count):
        raise RuntimeError(f"{row['results']} results, {row['whole']} of them whole, for {count} jobs")


UNTIMED = {"prepare": prepare, "fill": fill, "fill-whole": fill_whole}
TIMED = {
    "enqueue-one": enqueue_one, "enqueue-bulk": enqueue_bulk, "drain": drain, "drain-whole": drain_whole,
    "whole": whole, "latency": latency,
}
