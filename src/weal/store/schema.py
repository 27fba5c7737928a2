"""The tables of a store, as numbered steps: a new store takes all, an old one those it lacks.

A step that was released is never changed; a change is a step more. The number of the last step is
kept in the store (SQLite's user_version, PostgreSQL's table weal_schema), and a store with a
higher number than we know is refused.
"""

from weal import __version__
from weal.errors import WealError

APPLICATION_ID = 0x5745414C  # "WEAL", in the header of our SQLite files

# fmt: off
SQLITE: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE weal_campaign (
            name TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, hash TEXT NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE weal_event (
            campaign TEXT NOT NULL, seq INTEGER NOT NULL,
            kind TEXT NOT NULL, id TEXT, body TEXT NOT NULL, who TEXT NOT NULL,
            time TEXT NOT NULL, key TEXT, hash TEXT NOT NULL, token TEXT NOT NULL,
            PRIMARY KEY (campaign, seq)
        ) WITHOUT ROWID""",
        "CREATE INDEX weal_event_id ON weal_event (campaign, id) WHERE id IS NOT NULL",
        "CREATE UNIQUE INDEX weal_event_key ON weal_event (campaign, key) WHERE key IS NOT NULL",
        """CREATE TABLE weal_candidate (
            campaign TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (campaign, id)
        ) WITHOUT ROWID""",
        """CREATE TABLE weal_chunk (
            campaign TEXT NOT NULL, number INTEGER NOT NULL, sha256 TEXT NOT NULL,
            data BLOB NOT NULL, PRIMARY KEY (campaign, number)
        )""",
        """CREATE TABLE weal_snapshot (
            campaign TEXT NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL,
            data BLOB NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (campaign, kind)
        )""",
    ),
)

# A hash index takes ids of any length.
POSTGRES: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE weal_campaign (
            name text PRIMARY KEY, last bigint NOT NULL, hash text NOT NULL
        )""",
        """CREATE TABLE weal_event (
            campaign text NOT NULL, seq bigint NOT NULL,
            kind text NOT NULL, id text, body text NOT NULL, who text NOT NULL,
            time text NOT NULL, key text, hash text NOT NULL, token text NOT NULL,
            PRIMARY KEY (campaign, seq)
        )""",
        "CREATE INDEX weal_event_id ON weal_event USING hash (id)",
        "CREATE UNIQUE INDEX weal_event_key ON weal_event (campaign, key) WHERE key IS NOT NULL",
        """CREATE TABLE weal_candidate (
            campaign text NOT NULL, id text NOT NULL, PRIMARY KEY (campaign, id)
        )""",
        """CREATE TABLE weal_chunk (
            campaign text NOT NULL, number bigint NOT NULL, sha256 text NOT NULL,
            data bytea NOT NULL, PRIMARY KEY (campaign, number)
        )""",
        """CREATE TABLE weal_snapshot (
            campaign text NOT NULL, kind text NOT NULL, seq bigint NOT NULL, hash text NOT NULL,
            data bytea NOT NULL, digest text NOT NULL, PRIMARY KEY (campaign, kind)
        )""",
    ),
)
# fmt: on


def check_version(found: int, newest: int, place: str) -> None:
    """An error for a store that a newer weal has written."""
    if found > newest:
        raise WealError(
            f"{place} was written by a newer weal (its tables have version {found}; weal "
            f"{__version__} knows versions up to {newest}): upgrade weal"
        )
