"""A small store, damaged in many ways, and what must hold of the doctor and the rescue then."""

import json
import random
import shutil
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

from campaign.telling import make, names, tell
from weal.errors import WealError
from weal.store.integrity import examine
from weal.store.protocol import open_store
from weal.store.recovery import RECOVERED_FIELDS, recover

PAGE = 4096
TABLES = ("weal_event", "weal_campaign", "weal_candidate", "weal_chunk", "weal_snapshot")
INDEXES = ("weal_event_id", "weal_event_key")
COLUMNS = ("kind", "id", "body", "who", "time", "key", "hash", "token")


def small_store(path):
    """Two campaigns with some labels, and their rows."""
    with closing(open_store(str(path))) as store:
        for name, count in (("alloys", 60), ("paints", 9)):
            make(store, names(count), name)
            for i in range(count // 2):
                tell(store, f"id{i}", i / 7, name)
            store.write_snapshot(name, "mind", *store.head(name), bytes(range(256)) * 9)
    return rows_of(path)


def rows_of(path):
    """All that must be the same: events, heads, candidates, chunks; None where they cannot be read.

    Tokens are left out, which no event has, and snapshots, which are advice.
    """
    questions = [
        f"SELECT {', '.join(RECOVERED_FIELDS)} FROM weal_event ORDER BY campaign, seq",
        "SELECT name, last, hash FROM weal_campaign ORDER BY name",
        "SELECT campaign, id FROM weal_candidate ORDER BY campaign, id",
        "SELECT campaign, number, sha256, data FROM weal_chunk ORDER BY campaign, number",
    ]
    try:
        with closing(sqlite3.connect(path)) as connection:
            return [connection.execute(question).fetchall() for question in questions]
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def flip_bit(data, rng):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_many(data, rng):
    for _ in range(rng.randrange(2, 20)):
        flip_bit(data, rng)


def flip_letter(data, rng):
    """One bit of some text: ids, labels, hashes."""
    letters = [at for at in range(len(data)) if chr(data[at]).isalnum()]
    data[rng.choice(letters)] ^= 1 << rng.randrange(5)


def flip_front(data, rng):
    data[rng.randrange(PAGE)] ^= 1 << rng.randrange(8)


def garbage(data, rng):
    size = rng.choice((16, 300, PAGE))
    at = rng.randrange(len(data) - size)
    data[at : at + size] = rng.randbytes(size)


def all_garbage(data, rng):
    data[:] = rng.randbytes(rng.randrange(1, len(data)))


def zero_page(data, rng):
    at = PAGE * rng.randrange(len(data) // PAGE)
    data[at : at + PAGE] = bytes(PAGE)


def swap_pages(data, rng):
    one, other = (PAGE * rng.randrange(len(data) // PAGE) for _ in range(2))
    kept = data[one : one + PAGE]
    data[one : one + PAGE] = data[other : other + PAGE]
    data[other : other + PAGE] = kept


def repeat_page(data, rng):
    one, other = (PAGE * rng.randrange(len(data) // PAGE) for _ in range(2))
    data[one : one + PAGE] = data[other : other + PAGE]


def truncate(data, rng):
    del data[rng.choice((0, PAGE * rng.randrange(len(data) // PAGE), rng.randrange(len(data)))) :]


def drop_column(rng):
    column = rng.choice(COLUMNS)
    drops = [f"DROP INDEX {index}" for index in INDEXES]
    return [*drops, f"ALTER TABLE weal_event DROP COLUMN {column}"]


def drop_index(rng):
    return [f"DROP INDEX {rng.choice(INDEXES)}"]


def drop_table(rng):
    return [f"DROP TABLE {rng.choice(TABLES)}"]


def view_for_table(rng):
    table = rng.choice(TABLES)
    return [
        f"ALTER TABLE {table} RENAME TO hidden",
        f"CREATE VIEW {table} AS SELECT * FROM hidden",
    ]


def rewind_head(rng):
    to = rng.randrange(1, 5)
    tip = f"(SELECT hash FROM weal_event WHERE campaign = name AND seq = {to})"
    return [f"UPDATE weal_campaign SET last = {to}, hash = {tip} WHERE name = 'alloys'"]


def odd_value(rng):
    table, column = rng.choice(
        [
            ("weal_campaign", "last"), ("weal_campaign", "hash"), ("weal_campaign", "name"),
            ("weal_event", "body"), ("weal_event", "hash"), ("weal_event", "seq"),
            ("weal_event", "who"), ("weal_event", "time"), ("weal_event", "id"),
            ("weal_candidate", "id"), ("weal_chunk", "data"), ("weal_chunk", "number"),
            ("weal_snapshot", "data"), ("weal_snapshot", "kind"),
        ]
    )  # fmt: skip
    value = rng.choice(["x'00ff'", "9223372036854775807", "-1", "'x'", "1.5", "''", "x''"])
    return [f"UPDATE OR REPLACE {table} SET {column} = {value} WHERE rowid_of = {rng.random()}"]


def lost_rows(rng):
    table = rng.choice(TABLES[:4])
    return [f"DELETE FROM {table} WHERE rowid_of = {rng.random()}"]


BYTES = (
    flip_bit, flip_many, flip_letter, flip_front, garbage, all_garbage, zero_page, swap_pages,
    repeat_page, truncate,
)  # fmt: skip
WORDS = drop_column, drop_index, drop_table, view_for_table, rewind_head, odd_value, lost_rows
KINDS = (*BYTES, *WORDS)
WHOLE = (drop_index, view_for_table, rewind_head)  # every event is still there


def damage(source, path, kind, rng):
    """A copy of the file, damaged."""
    for end in ("-journal", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    if kind in BYTES:
        data = bytearray(Path(source).read_bytes())
        kind(data, rng)
        path.write_bytes(data)
        return
    shutil.copy(source, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in kind(rng):
            _run(connection, statement, rng)


def _run(connection, statement, rng):
    """A statement about one row of its table, where it says so."""
    head, mark, _ = statement.partition(" WHERE rowid_of")
    if not mark:
        connection.execute(statement)
        return
    table = head.split()[3 if head.startswith("UPDATE OR") else 2]
    keys = {"weal_campaign": ["name"], "weal_event": ["campaign", "seq"]}
    keys |= {"weal_candidate": ["campaign", "id"], "weal_chunk": ["campaign", "number"]}
    columns = keys.get(table, ["campaign", "kind"])
    places = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    where = " AND ".join(f"{column} = ?" for column in columns)
    connection.execute(f"{head} WHERE {where}", rng.choice(places))


def look(path, kind, truth, folder):
    """What doctor, readers and rescue say of a damaged store; an error where one of them lies."""
    url = f"sqlite:///{path}"
    before = path.read_bytes()
    findings = examine(url)
    assert path.read_bytes() == before
    sound = not any(one.level == "broken" for one in findings)
    assert findings
    assert not sound or rows_of(path) == truth, "the doctor calls a changed store sound"
    saved = recover(url, folder)
    assert path.read_bytes() == before
    _check_saved(saved, kind, truth, path)
    shutil.rmtree(folder)
    told = use(url, truth)
    return {"sound": sound, "saved": saved.events, "told": told}


def _check_saved(saved, kind, truth, path):
    lines = [json.loads(line) for line in saved.paths[0].read_text().splitlines()]
    events = {(row[0], row[1]): row for row in truth[0]}
    yes = [line for line in lines if line["vouched"] == "yes"]
    assert (saved.events, saved.vouched) == (len(lines), len(yes))
    for line in yes:  # the chain vouches for nothing that was not written
        row = events[line["campaign"], line["seq"]]
        assert tuple(line[name] for name in RECOVERED_FIELDS) == row
    there = {(line["campaign"], line["seq"]): line["hash"] for line in lines}
    for row in readable(path):
        assert row[:2] in there
    if kind in WHOLE:
        assert len(yes) == len(events)
        assert (saved.candidates, saved.chunks, saved.missing) == (69, 2, 0)
    if kind is drop_column:
        assert len(lines) == len(events)


def readable(path):
    """Campaign and number of events that SQLite reads in order, until it fails."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        try:
            for campaign, seq in connection.execute("SELECT campaign, seq FROM weal_event"):
                if isinstance(campaign, str) and isinstance(seq, int):
                    yield campaign, seq
        except (sqlite3.Error, UnicodeDecodeError):
            return


def use(url, truth):
    """Whether a label could be told; what is read is as it was, or an error of ours is said."""
    events = {(row[0], row[1]): row[-1] for row in truth[0]}
    store = None
    try:
        store = open_store(url)
        for name in ("alloys", "paints"):
            for event in store.read(name):
                assert events[name, event.seq] == event.hash
        list(store.read_chunks("alloys"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the snapshot .* is damaged")
            store.read_snapshot("alloys", "mind")
        return tell(store, "id50", 1.0) > 0
    except WealError:
        return False
    finally:
        if store:
            store.close()


def run(source, truth, folder, count, seed, kinds=KINDS):
    """Damage and look, `count` times; how often the doctor found nothing, and what was saved."""
    path, counts = folder / "weal.db", {"tried": 0, "sound": 0, "saved": 0, "told": 0}
    for n in range(count):
        kind, rng = kinds[n % len(kinds)], random.Random(f"{seed} {n}")
        damage(source, path, kind, rng)
        try:
            found = look(path, kind, truth, folder / f"saved{n}")
        except Exception as error:
            raise AssertionError(f"{kind.__name__}, number {n} of seed {seed}") from error
        counts["tried"] += 1
        for key, value in found.items():
            counts[key] += value
    return counts
