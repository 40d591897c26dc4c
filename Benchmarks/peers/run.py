"""Runs one action of one peer.

Prints one line of JSON on standard output for a timed action; everything else goes to standard error. Exits with
0 only when every job was done, which is looked up in the database.
"""
import argparse
import importlib
import json
import logging
import sys

import uvloop

import actions
import river_peer
from database import IMAGE_BYTES, Database
from peer import peer_version

# The module and class of each; loaded when asked for, so that no peer pays for another's memory.
PEERS = {
    "awa": ("awa_peer", "Awa"),
    "pgqueuer": ("pgqueuer_peer", "PgQueuer"),
    "procrastinate": ("procrastinate_peer", "Procrastinate"),
    "river": ("river_peer", "River"),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("action", choices=[*actions.UNTIMED, *actions.TIMED])
    parser.add_argument("--dsn", required=True, help="the database, as a URL or libpq's keywords")
    parser.add_argument("--jobs", type=positive, default=10_000)
    parser.add_argument("--batch", type=positive, default=1000, help="jobs a call, for enqueue-bulk")
    parser.add_argument("--in-flight", type=positive, default=64, help="calls at once, for whole")
    parser.add_argument("--endpoint", help="the backend's base address, for whole and latency")
    parser.add_argument("--image", help="a JPEG, for prepare; random bytes if there is none")
    parser.add_argument("--image-bytes", type=positive, default=IMAGE_BYTES, help="how many random bytes")
    parser.add_argument("--rounds", type=positive, default=200, help="for latency")
    options = parser.parse_args()
    if options.action in ("whole", "latency") and not options.endpoint:
        parser.error(f"{options.action} needs --endpoint")
    return options


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


async def run(options):
    module, name = PEERS[options.peer]
    peer = getattr(importlib.import_module(module), name)()
    database = Database(options.dsn)
    await peer.open(database)
    try:
        if options.action in actions.UNTIMED:
            await actions.UNTIMED[options.action](peer, database, options)
            return None
        measured = await actions.TIMED[options.action](peer, database, options)
    finally:
        await peer.close()
    jobs = options.rounds if options.action == "latency" else options.jobs
    return {
        "peer": peer.name, "version": peer_version(peer), "action": options.action, "jobs": jobs, **measured,
        "settings": peer.settings,
    }


def main():
    options = arguments()
    if options.peer == "river" and options.action != "prepare":
        river_peer.become(Database(options.dsn), options)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    result = uvloop.run(run(options))
    if result:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
