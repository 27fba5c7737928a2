"""Pools in files are recorded by absolute paths: golden copies are turned to where the files are.

A store is sealed anew by the formula of `docs/reference/files.md`, written down here once more, so
that it is checked on what 0.2 wrote too.
"""

import hashlib
import json
import sqlite3
import zipfile
from contextlib import closing

FIELDS = "campaign, seq, kind, id, body, who, time, key, hash"


def seal(previous, fields):
    """The hash of an event with these fields after an event with that hash."""
    text = json.dumps([previous, *fields], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def read_events(connection):
    return connection.execute(f"SELECT {FIELDS} FROM weal_event ORDER BY campaign, seq").fetchall()


def broken_seals(store):
    """Numbers of the events that do not match their hash."""
    with closing(sqlite3.connect(store)) as connection:
        rows, previous, wrong = read_events(connection), "", []
    for row in rows:
        previous = "" if row[1] == 1 else previous
        if seal(previous, row[:-1]) != row[-1]:
            wrong.append(row[:2])
        previous = row[-1]
    return wrong


def relocate_store(store, old, new):
    """Replace the folder `old` by `new` in the events of a store of one campaign."""
    old, new = (json.dumps(str(one))[1:-1] for one in (old, new))
    with closing(sqlite3.connect(store)) as connection, connection:
        previous, sealed = "", {}
        for row in read_events(connection):
            fields = [*row[:4], row[4].replace(old, new), *row[5:8]]
            previous = sealed[row[8]] = seal(previous, fields)
            connection.execute(
                "UPDATE weal_event SET body = ?, hash = ? WHERE campaign = ? AND seq = ?",
                (fields[4], previous, *row[:2]),
            )
        _seal_the_others(connection, sealed)


def _seal_the_others(connection, sealed):
    """Hashes of the campaign's end and of its snapshots; `sealed` maps old hashes to new ones."""
    (end,) = connection.execute("SELECT hash FROM weal_campaign").fetchone()
    connection.execute("UPDATE weal_campaign SET hash = ?", (sealed[end],))
    rows = connection.execute("SELECT kind, seq, hash, data FROM weal_snapshot").fetchall()
    for kind, seq, old, data in rows:
        whole = f"{seq} {sealed[old]} ".encode() + data
        digest = hashlib.blake2b(whole, digest_size=32).hexdigest()
        connection.execute(
            "UPDATE weal_snapshot SET hash = ?, digest = ? WHERE kind = ?",
            (sealed[old], digest, kind),
        )


def relocate_learner(path, old, new):
    """Replace the folder `old` by `new` in the header of a learner's file."""
    old, new = (json.dumps(str(one))[1:-1].encode() for one in (old, new))
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["header.json"] = members["header.json"].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, data in members.items():
            file.writestr(name, data)
