"""What a peer has to offer to be measured."""
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Protocol

NOOP = "noop"
ANALYSIS = "analysis"


class Peer(Protocol):
    """A job queue. A job is a small dictionary, empty for one that does nothing."""

    # What it is called on the command line, the package it comes in, and what was set.
    name: str
    distribution: str
    settings: dict

    async def open(self, database):
        """Connects."""

    async def close(self):
        """Ends what `open` began."""

    async def install(self):
        """Makes its schema in an empty database."""

    async def put(self, kind, job):
        """Puts in one job, committed when it returns, on one connection."""

    async def put_many(self, kind, jobs):
        """Puts in jobs by its fastest bulk call, committed when it returns."""

    def worker(self, kind, function, in_flight, progress) -> AbstractAsyncContextManager:
        """One worker, connected and ready (or about to be), which runs while the context is open.

        - kind: whose jobs it takes.
        - function: what is awaited with a job's id and content; None for a job that does nothing.
        - in_flight: how many jobs it may run at once; None for as many as suit it.
        - progress: is told of the first claim, of completions and of failures.
        """

    async def counts(self):
        """How many jobs are not completed, and how many are completed successfully."""


def peer_version(peer):
    return version(peer.distribution)
