"""The database: its address in the forms that the drivers want, and the tables of the whole job."""
import os
from urllib.parse import quote, urlencode

import asyncpg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

# So many pictures are shared by all jobs: the disk would not hold one for each.
IMAGE_COUNT = 200
# Of a picture as an app sends it; used where no picture is given.
IMAGE_BYTES = 120_000

# EXTERNAL as in our own schema: pictures are compressed already, and trying again costs every insert.
TABLES = """
CREATE TABLE peer_image (
  id    int PRIMARY KEY,
  bytes bytea NOT NULL);
ALTER TABLE peer_image ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE peer_result (
  job_id               bigint PRIMARY KEY,
  user_id              text NOT NULL,
  finished_at          timestamptz NOT NULL DEFAULT now(),
  analysis_id          text NOT NULL,
  primary_id           text,
  primary_name         text,
  primary_confidence   double precision,
  primary_band         text,
  secondary_id         text,
  secondary_name       text,
  secondary_confidence double precision,
  secondary_band       text,
  conditions           jsonb NOT NULL)
"""


class Database:
    """An address (a URL or libpq's keywords), and the connections that are made to it."""

    def __init__(self, dsn):
        found = {key: str(value) for key, value in conninfo_to_dict(dsn).items() if value is not None}
        self.host = found.pop("host", None) or os.environ.get("PGHOST", "localhost")
        self.port = int(found.pop("port", None) or os.environ.get("PGPORT", "5432"))
        self.user = found.pop("user", None) or os.environ.get("PGUSER", "postgres")
        self.name = found.pop("dbname", None) or os.environ.get("PGDATABASE", self.user)
        if "password" in found:
            raise SystemExit("Take the password out of --dsn, and put it into a password file (PGPASSFILE).")

    @property
    def conninfo(self):
        """As libpq (psycopg) wants it."""
        return make_conninfo(host=self.host, port=self.port, user=self.user, dbname=self.name)

    @property
    def url(self):
        """As awa wants it; a socket's folder is a parameter there."""
        account = quote(self.user, safe="")
        name = quote(self.name, safe="")
        if self.host.startswith("/"):
            return f"postgres://{account}@localhost:{self.port}/{name}?{urlencode({'host': self.host})}"
        return f"postgres://{account}@{self.host}:{self.port}/{name}"

    @property
    def _arguments(self):
        return {"host": self.host, "port": self.port, "user": self.user, "database": self.name}

    async def connect(self):
        return await asyncpg.connect(**self._arguments)

    async def pool(self, size):
        # By default asyncpg resets a connection's session each time it is given back, by a round trip of its
        # own. Nothing here changes a session.
        return await asyncpg.create_pool(min_size=size, max_size=size, reset=_keep, **self._arguments)


async def _keep(_connection):
    pass


async def make_tables(database, picture, size):
    """Makes the tables of the whole job and fills the pictures' one.

    `picture` is a JPEG's bytes, or None for so many random bytes that begin as one.
    """
    connection = await database.connect()
    try:
        await connection.execute(TABLES)
        await connection.executemany(
            "INSERT INTO peer_image (id, bytes) VALUES ($1, $2)",
            [(number, _numbered(picture, number, size)) for number in range(IMAGE_COUNT)],
        )
    finally:
        await connection.close()


async def picture(connection, number):
    """The bytes of a picture; from a connection or a pool."""
    return await connection.fetchval("SELECT bytes FROM peer_image WHERE id = $1", number)


async def arrivals(database):
    """When the endpoint had each request, in nanoseconds, in that order: that of `latency` answers so."""
    connection = await database.connect()
    try:
        rows = await connection.fetch("SELECT analysis_id::bigint FROM peer_result ORDER BY 1")
    finally:
        await connection.close()
    return [arrival for (arrival,) in rows]


def _numbered(picture, number, size):
    """The picture with its number in a comment segment (after the start marker), so that no two are the same."""
    comment = b"\xff\xfe\x00\x06" + number.to_bytes(4, "big")
    if picture is None:
        return b"\xff\xd8" + comment + os.urandom(size - 2 - len(comment))
    if picture[:2] != b"\xff\xd8":
        raise ValueError("the image is not a JPEG: give --image a file that begins with FF D8")
    return picture[:2] + comment + picture[2:]
