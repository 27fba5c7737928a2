"""The tables of a store, as Markdown made from the statements that create them."""

import re

from weal.store.statements import POSTGRES, SQLITE

MEANING = {
    "weal_campaign": "One row for each campaign: where its events end.",
    "weal_campaign.name": "Of the campaign.",
    "weal_campaign.last": "Number of its last event.",
    "weal_campaign.hash": "Hash of that event.",
    "weal_event": "What happened; rows are only ever appended.",
    "weal_event.campaign": "Name of the campaign.",
    "weal_event.seq": "Number of the event in it: 1, 2, 3, ...",
    "weal_event.kind": "What happened, one of those below.",
    "weal_event.id": "Of the candidate that it is about, if it is about one.",
    "weal_event.body": "JSON, with a version `v`; keys sorted, no spaces, ASCII.",
    "weal_event.who": "Who did it.",
    "weal_event.time": "UTC with microseconds, as ISO 8601 writes it, by the clock of the store.",
    "weal_event.key": "The client's own name for it; a key is written once.",
    "weal_event.hash": "blake2b of the hash before and of all fields of this event but token.",
    "weal_event.token": "Of the write: shows after a lost connection whether it was done.",
    "weal_candidate": "The ids of candidates that the store keeps.",
    "weal_candidate.campaign": "Name of the campaign.",
    "weal_candidate.id": "Of the candidate; a very long one as its digest.",
    "weal_chunk": "The rows of candidates, 50,000 at a time.",
    "weal_chunk.campaign": "Name of the campaign.",
    "weal_chunk.number": "0, 1, 2, ...",
    "weal_chunk.sha256": "Of the data; the event `added` has it too.",
    "weal_chunk.data": "A Parquet file.",
    "weal_snapshot": "Advice that saves work; may be deleted at any time.",
    "weal_snapshot.campaign": "Name of the campaign.",
    "weal_snapshot.kind": "What it is of.",
    "weal_snapshot.seq": "Number of the event after which it was made.",
    "weal_snapshot.hash": "Hash of that event.",
    "weal_snapshot.data": "Bytes, in the form of their kind.",
    "weal_snapshot.digest": "Of the data: where it differs, the snapshot is not used.",
}


def columns(steps: tuple[tuple[str, ...], ...]) -> dict[str, dict[str, str]]:
    """Tables, their columns and types; later steps may add some."""
    found: dict[str, dict[str, str]] = {}
    for statement in (one for step in steps for one in step):
        if match := re.match(r"CREATE TABLE (\w+) \((.*)\)", statement, re.DOTALL):
            plain = re.sub(r"PRIMARY KEY \([^)]*\)", "", match[2])
            parts = [one.split() for one in plain.split(",") if one.strip()]
            found[match[1]] = {name: kind for name, kind, *_ in parts}
        elif match := re.match(r"ALTER TABLE (\w+) ADD (?:COLUMN )?(\w+) (\w+)", statement):
            found[match[1]][match[2]] = match[3]
    return found


def store() -> str:
    """All tables, in SQLite and PostgreSQL."""
    here, there = columns(SQLITE), columns(POSTGRES)
    if here.keys() != there.keys():
        raise ValueError(f"SQLite has the tables {here.keys()}, PostgreSQL {there.keys()}")
    lines = []
    for table, kinds in here.items():
        lines += [f"**`{table}`** {MEANING[table]}", ""]
        lines += ["| column | SQLite | PostgreSQL | |", "|---|---|---|---|"]
        for name, kind in kinds.items():
            lines += [
                f"| `{name}` | {kind} | {there[table][name]} | {MEANING[f'{table}.{name}']} |"
            ]
        lines += [""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The files, by their places."""
    return {"_tables/store.md": store()}
