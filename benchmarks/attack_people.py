"""Users in `benchmarks/attack.py`: processes that ask for rows and tell labels until stopped.

Each person has a journal, a file of JSON lines that is only appended to. A line `asked` or `told`
is an acknowledgement: it is written after the call has returned. A person who was killed is started
again, reads the journal, and repeats what was not acknowledged under the key of the first try:

    ask    {"op": "ask", "key": ...}                      about to ask under this key
    asked  {"op": "asked", "key": ..., "ids": [...]}      these rows are out with the person
    told   {"op": "told", "id": ..., "y": ...}            the label is kept
    error  {"op": "error", "kind": ..., "expected": ...}  a call failed, and is repeated

Some people use the Python API, others the pages of a `weal serve` process.
"""

import hashlib
import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import httpx

from weal.errors import Exhausted, WealError

NAME = "lab"
REPEATED = 0.2  # share of labels that are sent twice, as impatient people do
PAUSE = 0.1  # seconds before a failed call is repeated
PAGE_SECONDS = 20.0  # that a page may take; its server may have been killed
WORKER_SECONDS = 6.0  # that the worker of a server gets for an ask; it may have been killed


class Journal:
    """What one person has done, through any number of restarts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = read_journal(path)

    def add(self, **line: Any) -> None:
        """Append a line: it is in the file when this returns, even if the process is killed
        then.
        """
        self.lines.append(line)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, json.dumps(line).encode() + b"\n")
        finally:
            os.close(handle)

    def rows_to_tell(self) -> list[str]:
        """Rows that are out with the person, in the order they were asked in."""
        told = {line["id"] for line in self.lines if line["op"] == "told"}
        asked = [id_ for line in self.lines if line["op"] == "asked" for id_ in line["ids"]]
        return [id_ for id_ in asked if id_ not in told]

    def open_key(self) -> str | None:
        """The key of an ask whose answer never came."""
        last = [line for line in self.lines if line["op"] in ("ask", "asked", "gave up")]
        return str(last[-1]["key"]) if last and last[-1]["op"] == "ask" else None

    def asks(self) -> int:
        """How many keys were used."""
        return sum(line["op"] == "ask" for line in self.lines)


def read_journal(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal; none if the person never came so far."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


class Access(Protocol):
    """How a person reaches the campaign."""

    def ask(self, key: str) -> list[str]:
        """Rows that are out with the person; none: the ask is given up."""

    def tell(self, id_: str, y: float) -> None:
        """Keep a label."""


class ByPython:
    """Through `weal.open_campaign`."""

    def __init__(self, url: str, who: str) -> None:
        from weal import open_campaign

        self.campaign = open_campaign(NAME, url, by=who)

    def ask(self, key: str) -> list[str]:
        """Two rows."""
        return list(self.campaign.ask(2, key=key))

    def tell(self, id_: str, y: float) -> None:
        """Keep a label under a key that is the row's."""
        self.campaign.tell(id_, y, key=f"tell {id_}")


class ByPage:
    """Through the pages of a server; rows are asked by its worker, a process of its own."""

    def __init__(self, url: str, who: str, server: dict[str, Any]) -> None:
        from weal.store.protocol import open_store

        self.store, self.who, self.server = open_store(url), who, server
        self.visitor: Any = None

    def _visit(self) -> Any:
        """A visitor with a session, and the secret of the forms."""
        if self.visitor is None:
            visiting: Any = import_module("web.visiting")
            visiting.PATIENCE = PAGE_SECONDS
            visitor = visiting.Visitor(self.server, who=self.who)
            self.visitor = visitor, visitor.secret()
        return self.visitor

    def _sent(self, send: Callable[[Any, str], Any]) -> None:
        """Send a form; a new session is made where the server is another, or forgot ours."""
        try:
            answer = send(*self._visit())
        except (httpx.HTTPError, TypeError) as error:  # TypeError: a page without our form
            self.visitor = None
            raise WealError(f"the server did not answer ({type(error).__name__})") from error
        if answer.status_code >= 400:
            self.visitor = None
            raise WealError(f"the page answered {answer.status_code}")

    def ask(self, key: str) -> list[str]:
        """One row, once the worker has asked for it; none if it takes too long."""
        code = hashlib.blake2b(f"{self.who} {key}".encode(), digest_size=16).hexdigest()
        data = {"n": "1", "key": code}
        self._sent(lambda one, form: one.post(f"/c/{NAME}/ask", {**data, "form": form}))
        until, seen = time.monotonic() + WORKER_SECONDS, 0
        while time.monotonic() < until:
            found = self.store.read(NAME, since=seen)
            rows = [str(one.id) for one in found if one.key == f"ask {code}/0"]
            if rows:
                return rows
            seen += len(found)
            time.sleep(PAUSE)
        return []

    def tell(self, id_: str, y: float) -> None:
        """Keep a label; the form has a key that is the row's."""
        key = hashlib.blake2b(id_.encode(), digest_size=16).hexdigest()
        self._sent(lambda one, form: one.tell(NAME, id_, repr(y), form, key, sure="true"))


def value_of(id_: str, person: int) -> float:
    """The label that a person would tell of a row: nobody else would tell the same."""
    n = int(id_[1:])
    return round((n * 37 % 101) / 50.0 + person / 1e4, 6)


def live(person: int, url: str, server: dict[str, Any] | None, folder: Path) -> None:
    """Ask and tell until the file `stop` is there, or no row is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    warnings.simplefilter("ignore")  # labels are made up, and surprising
    journal = Journal(folder / f"{person}.jsonl")
    rng = random.Random(f"{person} {len(journal.lines)}")
    who, access = f"person {person}", None
    while not (folder / "stop").exists():
        try:
            access = access or (ByPage(url, who, server) if server else ByPython(url, who))
            _act(journal, access, person, rng)
        except Exhausted:
            return
        except Exception as error:  # noqa: BLE001  it is counted
            expected = isinstance(error, WealError | OSError)
            journal.add(op="error", kind=f"{type(error).__name__}: {error}", expected=expected)
            time.sleep(PAUSE)


def _act(journal: Journal, access: Access, person: int, rng: random.Random) -> None:
    """Tell the label of one row that is out, or ask for more rows."""
    rows = journal.rows_to_tell()
    begun = time.perf_counter()
    if rows:
        y = value_of(rows[0], person)
        access.tell(rows[0], y)
        journal.add(op="told", id=rows[0], y=y, s=time.perf_counter() - begun)
        if rng.random() < REPEATED:
            access.tell(rows[0], y)
        return
    key = journal.open_key()
    if key is None:
        key = f"{person}-{journal.asks()}"
        journal.add(op="ask", key=key)
    ids = access.ask(key)
    if ids:
        journal.add(op="asked", key=key, ids=ids, s=time.perf_counter() - begun)
    else:
        journal.add(op="gave up", key=key)
