"""River: a queue in Go. A program of its own (river/) does all but the tables of the whole job."""
import json
import os
import subprocess
import sys
from pathlib import Path

# Where scripts/bench builds it: beside the Python that runs this.
PROGRAM = Path(sys.prefix, "bin", "river-peer")


class River:
    name = "river"

    async def open(self, database):
        self._database = database

    async def close(self):
        pass

    async def install(self):
        subprocess.run(_words(self._database, action="prepare"), check=True)


def become(database, options):
    """Makes this process the program that runs the action."""
    words = _words(database, **vars(options))
    os.execv(words[0], words)


def _words(database, **options):
    return [str(PROGRAM), json.dumps({**options, "database": database.conninfo})]
