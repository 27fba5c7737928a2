"""A campaign as the store sees it, for the tests of stores: made, told and checked by hand."""

import io
import sqlite3
from array import array
from contextlib import closing, contextmanager
from itertools import accumulate

from weal.errors import AlreadyLabelled, UnknownId
from weal.store.events import Draft
from weal.store.integrity import examine
from weal.store.protocol import Chunk, open_store

NAME = "alloys"


def created(**more):
    body = {"v": 1, "settings": {}, "plan": {}, "target": None, "id": "sample", **more}
    return Draft("created", body, who="ann")


def chunk(ids):
    """Ids as the store keeps them; from buffers, since for a list Arrow would import pandas."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = [name.encode() for name in ids]
    ends = array("i", accumulate(map(len, words), initial=0))
    buffers = (pa.py_buffer(ends), pa.py_buffer(b"".join(words)))
    column = pa.StringArray.from_buffers(len(words), *buffers)
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([column], names=["sample"]), file)
    return Chunk.of(file.getvalue(), list(ids))


def added(one, number=0):
    return Draft("added", {"v": 1, "rows": len(one.ids), "chunk": number, "sha256": one.sha256})


def make(store, ids, name=NAME):
    one = chunk(ids)
    return store.create(name, [created(), added(one)], [one])


def names(count):
    return [f"id{i}" for i in range(count)]


def tell(store, one, y, name=NAME, who="ann"):
    """As the real tell: the number of the event, or of the one that said the same before."""
    found = []

    def decide(book):
        found[:] = [event for event in book.events_of([one]) if event.kind == "told"]
        if not book.existing_ids([one]):
            raise UnknownId(f"{one!r} is not a candidate")
        if found and found[-1].body["y"] != y:
            raise AlreadyLabelled(f"{one!r} has the label {found[-1].body['y']}")
        return [] if found else [Draft("told", {"v": 1, "y": y}, id=one, who=who)]

    written = store.transact(name, decide)
    return (written or found)[0].seq


def labels(store, name=NAME):
    """id -> label of everything told, read through the checked chain."""
    return {event.id: event.body["y"] for event in store.read(name) if event.kind == "told"}


@contextmanager
def opened(url):
    """The store, closed at the end."""
    with closing(open_store(url)) as store:
        yield store


def sound(url):
    """Whether SQLite and the chain find nothing wrong."""
    return [finding for finding in examine(url) if finding.level == "broken"] == []


def version(path):
    """The version of the tables in a SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]
