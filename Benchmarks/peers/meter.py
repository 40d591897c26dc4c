"""Time, CPU and memory of this process while it works."""
import asyncio
import resource
import time


class Meter:
    """Measures from `begin` to `end`; a second `begin` changes nothing, so that the first claim counts."""

    def __init__(self):
        self._begun = None
        self.seconds = None
        self.cpu_seconds = None

    def begin(self):
        if self._begun is None:
            self._begun = (time.perf_counter(), _cpu_seconds())

    def end(self):
        wall, cpu = time.perf_counter(), _cpu_seconds()
        if self._begun is None:
            raise RuntimeError("the work ended before it began")
        self.seconds = wall - self._begun[0]
        self.cpu_seconds = cpu - self._begun[1]

    def result(self):
        return {
            "seconds": round(self.seconds, 6),
            "cpu_seconds": round(self.cpu_seconds, 6),
            "peak_rss_bytes": peak_rss_bytes(),
        }


class Progress:
    """How far a worker has come with `expected` jobs: it is told of the first claim and of each completion."""

    # A worker that completes nothing for so long is stuck: one of the peers can tell of the last completion only.
    PATIENCE_SECONDS = 300

    def __init__(self, expected, meter=None):
        self.expected = expected
        self.meter = meter
        self.completed = 0
        self._failure = None
        self._over = asyncio.Event()

    def claiming(self):
        """Called before each claim (or, where that cannot be seen, when a job's function starts)."""
        if self.meter:
            self.meter.begin()

    def committed(self, count):
        """Called when the completion of so many jobs is committed."""
        self.completed += count
        if self.completed == self.expected:
            if self.meter:
                self.meter.end()
            self._over.set()

    def failed(self, error):
        """Called when a job failed: no number of a run with failures is worth anything."""
        self._failure = self._failure or error
        self._over.set()

    async def wait(self):
        """Returns when all jobs are done."""
        seen = -1
        while not self._over.is_set():
            if seen == self.completed:
                raise RuntimeError(
                    f"no job was completed for {self.PATIENCE_SECONDS} s;"
                    f" {self.completed} of {self.expected} are done"
                )
            seen = self.completed
            try:
                await asyncio.wait_for(self._over.wait(), self.PATIENCE_SECONDS)
            except TimeoutError:
                pass
        if self._failure:
            raise RuntimeError(f"a job failed: {self._failure!r}") from self._failure


def percentiles(seconds):
    """p50, p95 and p99 in milliseconds, by nearest rank."""
    ordered = sorted(seconds)
    last = len(ordered) - 1

    def rank(percent):
        return round(ordered[min(last, max(0, -(-percent * len(ordered) // 100) - 1))] * 1000, 4)

    return {"p50": rank(50), "p95": rank(95), "p99": rank(99)}


def peak_rss_bytes():
    # VmHWM and not ru_maxrss, which begins with the size of the process that started this one.
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM")


def _cpu_seconds():
    """User and system time of all threads of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
