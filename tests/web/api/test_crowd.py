"""Programs and people on one store, and servers that are killed: the log is what each was told.

API clients (`weal.Remote`) and page clients (`Visitor`) ask, tell, skip, swap, give back and
withdraw on two servers. Each server is killed with SIGKILL again and again, and started on the same
port. Whoever gets no answer sends the same again, with the same key.

Every client writes down what was acknowledged, in order. The events of that client in the store
must be this list: an event that is missing is a lost write, one more is a doubled write, or one
that nobody sent. Leases are followed through the log: no row may be out twice at the same time.
"""

import os
import random
import signal
import threading
import time
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import datetime

import httpx
import pytest

import weal
from soak import count
from stores import server  # noqa: F401, fixture: that of PostgreSQL, not a server of pages
from weal.store.integrity import examine
from weal.store.protocol import open_store
from web.conftest import begin
from web.visiting import PATIENCE, Visitor, token_of

PROGRAMS, PEOPLE = count((6, 3), long=(50, 20))
ROUNDS = count(4, long=12)
KILLS = count(4, long=40)
SHORT_LEASE = 0.2  # seconds: of rows that are left lying
WANTED_BY_ALL = 12  # rows that programs ask for by hand
PAUSE = 0.05  # seconds before something is sent again


class Progress:
    """How many calls were acknowledged so far, and how many attempts had no answer."""

    def __init__(self):
        self.changed = threading.Condition()
        self.acknowledged = self.unanswered = self.working = 0

    def add(self, **counts):
        with self.changed:
            for name, k in counts.items():
                setattr(self, name, getattr(self, name) + k)
            self.changed.notify_all()

    def wait_for(self, acknowledged):
        """Return once so many calls were acknowledged, or all clients have left."""
        with self.changed:
            self.changed.wait_for(lambda: self.acknowledged >= acknowledged or not self.working)


class Program:
    """A client of the API, which works at both servers in turn."""

    def __init__(self, number, two, progress):
        self.who, self.number, self.progress = f"robot-{number}", number, progress
        self.draw = random.Random(number)
        self.acknowledged = []
        self.remotes = [self._remote(one) for one in two]

    def _remote(self, one):
        url = f"http://127.0.0.1:{one['port']}"
        remote = weal.Remote(url, token_of(one), "steel", by=self.who, patience=PATIENCE)
        remote.connection.sleep = self._again
        return remote

    def _again(self, _):
        self.progress.add(unanswered=1)
        time.sleep(PAUSE)

    def close(self):
        for remote in self.remotes:
            remote.close()

    def note(self, *events):
        self.acknowledged += events
        self.progress.add(acknowledged=1)

    def ask(self, remote, n=1, **how):
        ids = remote.ask(n, **how)
        assert len(ids) == len(set(ids)) == n
        self.note(*(("asked", one, None) for one in ids))
        return ids

    def work(self, k):
        """One round: rows are asked, and something becomes of each."""
        first, second = self.draw.sample(self.remotes, 2)
        if k % 3 == 2:
            self.ask(first, lease=SHORT_LEASE)  # nobody measures it
        told, other = self.ask(first, 2)
        y, key = self.number + k / 64, uuid.uuid4().hex
        for remote in (first, second)[: 1 + k % 2]:  # sent twice, as impatient programs do
            remote.tell(told, y, key=key)
        self.note(("told", told, y))
        self._end(second, other, y + 1 / 128)
        if k % 4 == 1:
            second.withdraw(told, note="mixed up")
            self.note(("withdrawn", told, None))
        self._take(first, f"A-{self.draw.randrange(WANTED_BY_ALL)}")

    def _end(self, remote, row, y):
        """Skip a row, give it back, change it for another, or tell its label among others."""
        what = self.draw.choice(["skip", "release", "swap", "many"])
        if what == "skip":
            remote.skip([row], note="cracked")
            self.note(("skipped", row, None))
        elif what == "release":
            remote.release([row])
            self.note(("withdrawn", row, None))
        elif what == "swap":
            [new] = remote.ask(1, instead_of=[row])
            self.note(("withdrawn", row, None), ("asked", new, None))
            remote.skip([new])
            self.note(("skipped", new, None))
        else:
            [more] = self.ask(remote)
            remote.tell({row: y, more: y + 1 / 256})
            self.note(("told", row, y), ("told", more, y + 1 / 256))

    def _take(self, remote, row):
        """Try to get a row that others want too, and give it back."""
        with suppress(weal.Conflict, weal.AlreadyLabelled, ValueError):
            self.ask(remote, rows=[row])
            remote.release([row])
            self.note(("withdrawn", row, None))


class Person:
    """A client of the pages of one server, who presses the button again without an answer."""

    def __init__(self, number, two, progress):
        self.who, self.number, self.progress = f"person-{number}", 1000 + number, progress
        self.visitor = Visitor(two[number % 2], who=self.who)
        self.form = self.visitor.secret()
        self.acknowledged = []

    def close(self):
        self.visitor.client.close()

    def insist(self, send):
        """The answer to something that is sent until there is one."""
        while True:
            try:
                return send()
            except httpx.TransportError:
                self.progress.add(unanswered=1)
                time.sleep(PAUSE)

    def note(self, *event):
        self.acknowledged.append(event)
        self.progress.add(acknowledged=1)

    def post(self, path, **fields):
        given = {"form": self.form, **fields}
        answer = self.insist(lambda: self.visitor.post(f"/c/steel/{path}", given))
        assert answer.status_code == 303, (answer.status_code, answer.text[-2000:])
        return answer.headers["location"]

    def ask(self):
        """Ask with one form until the page shows the row: a job dies with its server."""
        key = uuid.uuid4().hex
        while "bench" not in (place := self.post("ask", n="1", key=key)).partition("?")[0]:
            time.sleep(PAUSE)
        assert self.insist(lambda: self.visitor.get(place)).status_code == 200
        row = self.insist(lambda: self.visitor.form("/c/steel/bench", "/c/steel/tell"))["id"]
        self.note("asked", row, None)
        return row

    def work(self, k):
        row, key, y = self.ask(), uuid.uuid4().hex, self.number + k / 64
        if k % 3 == 2:
            self.post("skip", id=row, key=key, note="cracked")
            return self.note("skipped", row, None)
        self.post("tell", id=row, key=key, value=f"{y}", sure="true")
        self.note("told", row, y)
        if k % 3 == 1:
            undo = self.insist(lambda: self.visitor.form("/c/steel/bench", "/c/steel/undo"))
            self.post("undo", **{**undo, "form": self.form})
            self.note("withdrawn", row, None)  # and the row is this person's again
            self.post("skip", id=row, key=uuid.uuid4().hex, note="cracked")
            self.note("skipped", row, None)


def work_through(clients, progress, killer):
    """All clients work at once while servers are killed."""
    together = threading.Barrier(len(clients) + 1)
    progress.working = len(clients)

    def live(client):
        together.wait()
        try:
            for k in range(ROUNDS):
                client.work(k)
        finally:
            progress.add(working=-1)

    with ThreadPoolExecutor(len(clients)) as crowd:
        futures = [crowd.submit(live, client) for client in clients]
        together.wait()
        killer()
    for future in futures:
        future.result()


def kill_in_turn(servers, url, two, progress):
    """Kill a server after every few calls, at a moment that nobody chose, and start it again."""
    draw = random.Random(28)
    least = (PROGRAMS + PEOPLE) * ROUNDS * 2  # calls: a round of anybody has two or more
    for after in sorted(draw.sample(range(1, least), KILLS)):
        progress.wait_for(after)
        time.sleep(draw.uniform(0.0, PAUSE))
        one = draw.choice(two)
        os.kill(one["pid"], signal.SIGKILL)
        one |= servers.start(url, port=one["port"], worker="here")


def find_double_leases(events):
    """Rows that were asked while they were out, had a label, or were skipped."""
    out, found = {}, []
    closed = defaultdict(bool)  # by id: labelled or skipped
    for event in events:
        if event.kind == "asked":
            if closed[event.id] or (event.id in out and out[event.id] > event.time):
                found.append((event.seq, event.id, event.who))
            out[event.id] = datetime.fromisoformat(event.body["until"])
        elif event.kind in ("told", "skipped", "withdrawn"):
            out.pop(event.id, None)
            closed[event.id] = event.kind != "withdrawn"
    return found


def test_programs_and_people_lose_and_double_nothing_on_servers_that_die(
    servers, shared_url, tmp_path
):
    progress, n_clients = Progress(), PROGRAMS + PEOPLE
    begin(shared_url, tmp_path, rows=n_clients * ROUNDS * 5, n_start=10**6)
    two = [servers.start(shared_url, worker="here") for _ in range(2)]
    with ExitStack() as stack:
        clients = [Program(k, two, progress) for k in range(PROGRAMS)]
        clients += [Person(k, two, progress) for k in range(PEOPLE)]
        for client in clients:
            stack.callback(client.close)
        work_through(clients, progress, lambda: kill_in_turn(servers, shared_url, two, progress))
    assert progress.unanswered > 0  # the kills met somebody
    store = open_store(shared_url)
    events = list(store.read("steel"))
    store.close()
    done = defaultdict(list)
    for event in events:
        done[event.who].append((event.kind, event.id, event.body.get("y")))
    del done["ann"]  # who made the campaign
    assert done == {client.who: client.acknowledged for client in clients}
    assert find_double_leases(events) == []
    assert {one.level for one in examine(shared_url)} == {"fine"}
    _check_answers(shared_url, clients)


def _check_answers(url, clients):
    """The labels that the campaign shows are those acknowledged and not withdrawn."""
    expected = {}
    for client in clients:
        own = {}
        for kind, row, y in client.acknowledged:
            if kind == "told":
                own[row] = y
            elif kind == "withdrawn":
                own.pop(row, None)
        assert not own.keys() & expected.keys()
        expected |= own
    with weal.open_campaign("steel", url) as one:
        labels = one.read_ledger().quantity().labels
    assert {row: [told.y for told in several] for row, several in labels.items()} == {
        row: [y] for row, y in expected.items()
    }


@pytest.mark.parametrize("kind", ["told", "skipped", "withdrawn"])
def test_the_check_of_leases_finds_a_row_that_is_out_twice(quick_sqlite_url, tmp_path, kind):
    """The check above can fail: the log of two people who have one row at once."""
    begin(quick_sqlite_url, tmp_path, rows=4)
    with weal.open_campaign("steel", quick_sqlite_url, by="bo") as one:
        row = one.ask()
        {"told": lambda: one.tell(row, 1.0), "skipped": lambda: one.skip(row),
         "withdrawn": lambda: one.withdraw(row)}[kind]()  # fmt: skip
    events = list(open_store(quick_sqlite_url).read("steel"))
    asked = next(event for event in events if event.kind == "asked")
    assert find_double_leases(events) == []
    assert find_double_leases([*events[: asked.seq], asked]) == [(asked.seq, row, "bo")]
    assert bool(find_double_leases([*events, asked])) == (kind != "withdrawn")
