"""One round of `benchmarks/attack.py`: users of one store, kills, and a check of the store.

`attack` starts eight people (`attack_people`) and two real servers with a worker process each, ends
one of them with SIGKILL now and then, starts it again, and lets all finish what they are at.
`judge` then compares the journals of the people with the events of the store:

    lost           labels that were acknowledged and are not in the store with that value
    doubled        rows with more than one label
    leased twice   rows that went out while they were out with somebody else
    unacknowledged labels in the store that nobody has an acknowledgement of
    left behind    worker processes that outlived their server
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.attack_people import NAME, live, read_journal

TESTS = Path(__file__).resolve().parents[1] / "tests"
FORK = get_context("fork")
PEOPLE, BY_PAGE = 8, 3  # processes, and how many of them use the pages
SERVERS = 2
ROWS = 600
CALLS_BETWEEN = (1, 25)  # acknowledged calls between two kills
SECONDS_BETWEEN = 4.0  # after which the next comes anyway
AFTER_A_CALL = 0.05  # seconds; a kill comes at a random moment within
FINISH_SECONDS = 120.0  # that people get to finish what they are at
VICTIMS = {"person": 9, "server": 3, "worker": 3}  # how often which is killed
Show = Callable[[int], object]


@dataclass
class Crowd:
    """Processes of a round."""

    url: str
    folder: Path
    people: list[Any] = field(default_factory=list)
    servers: list[dict[str, Any]] = field(default_factory=list)
    workers: set[int] = field(default_factory=set)  # worker processes that were seen
    zygote: Any = None

    def start(self) -> None:
        """Two servers, then the people."""
        self.zygote = subprocess.Popen(
            [sys.executable, str(TESTS / "web" / "zygote.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.servers = [self._server(0) for _ in range(SERVERS)]
        self.people = [self._person(k) for k in range(PEOPLE)]

    def _server(self, port: int) -> dict[str, Any]:
        given = {"url": self.url, "port": port, "state": str(self.folder / "state"), "worker": True}
        self.zygote.stdin.write(json.dumps(given) + "\n")
        self.zygote.stdin.flush()
        found = json.loads(self.zygote.stdout.readline())
        if "error" in found:
            raise RuntimeError(f"a server could not be started: {found['error']}")
        return dict(found)

    def _person(self, k: int) -> Any:
        server = self.servers[k % SERVERS] if k >= PEOPLE - BY_PAGE else None
        person = FORK.Process(target=live, args=(k, self.url, server, self.folder), daemon=True)
        person.start()
        return person

    def calls(self) -> int:
        """Calls that were acknowledged so far."""
        texts = [path.read_bytes() for path in self.folder.glob("*.jsonl")]
        return sum(text.count(b'"op": "told"') + text.count(b'"op": "asked"') for text in texts)

    def wait_for_calls(self, count: int) -> None:
        """Wait until so many more calls were acknowledged, within limits."""
        until, wanted = time.monotonic() + SECONDS_BETWEEN, self.calls() + count
        while self.calls() < wanted and time.monotonic() < until:
            time.sleep(0.02)

    def kill(self, what: str, rng: random.Random) -> bool:
        """End one of these with SIGKILL and start it again; False if there is none just now."""
        return bool(getattr(self, f"_kill_{what}")(rng))

    def _kill_person(self, rng: random.Random) -> bool:
        k = rng.randrange(PEOPLE)
        if self.people[k].exitcode is not None:
            raise RuntimeError(f"person {k} has ended early: are there rows left?")
        self.people[k].kill()
        self.people[k].join()
        self.people[k] = self._person(k)
        return True

    def _kill_server(self, rng: random.Random) -> bool:
        n = rng.randrange(SERVERS)
        old = self.servers[n]
        self.workers.update(children(old["pid"]))
        os.kill(old["pid"], signal.SIGKILL)
        self.servers[n] = self._server(old["port"])
        return True

    def _kill_worker(self, rng: random.Random) -> bool:
        found = [pid for server in self.servers for pid in children(server["pid"])]
        self.workers.update(found)
        if found:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
        return bool(found)

    def _kill_backend(self, rng: random.Random) -> bool:
        """One process of PostgreSQL, which then ends all connections and recovers."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as own:
            text = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = "
            found = own.execute(text + "current_user").fetchall()
        if found:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found)[0], signal.SIGKILL)
        return bool(found)

    def finish(self) -> int:
        """Wait until people end on their own; how many did not."""
        (self.folder / "stop").touch()
        until = time.monotonic() + FINISH_SECONDS
        for person in self.people:
            person.join(max(0.0, until - time.monotonic()))
        return sum(person.exitcode != 0 for person in self.people)

    def close(self) -> int:
        """End what still runs; how many workers had outlived their servers."""
        for person in self.people:
            person.kill()
            person.join()
        for server in self.servers:
            self.workers.update(children(server["pid"]))
            with suppress(ProcessLookupError):
                os.kill(server["pid"], signal.SIGKILL)
        if self.zygote is not None:
            self.zygote.communicate()
        until = time.monotonic() + 10.0
        while (left := list(filter(is_worker, self.workers))) and time.monotonic() < until:
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return len(left)


def children(pid: int) -> list[int]:
    """Worker processes of a server."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return [one for one in found if is_worker(one)]


def is_worker(pid: int) -> bool:
    """Whether this is a worker process that runs."""
    try:
        return b"weal.web.job_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def attack(url: str, kills: int, seed: str, show: Show) -> dict[str, Any]:
    """What came of so many kills in one new campaign."""
    rng, killed = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="weal-attack-") as name:
        crowd = Crowd(url, Path(name))
        begin(url)
        import_all()
        stuck = 0
        try:
            crowd.start()
            while killed.total() < kills:
                crowd.wait_for_calls(rng.randint(*CALLS_BETWEEN))
                time.sleep(rng.uniform(0.0, AFTER_A_CALL))
                what = "backend" if is_due(url, killed.total(), kills) else chosen(rng)
                killed[what] += crowd.kill(what, rng)
                show(killed.total())
            stuck = crowd.finish()
        finally:
            left = crowd.close()
        journals = [read_journal(Path(name) / f"{k}.jsonl") for k in range(PEOPLE)]
    return {"killed": dict(killed), "stuck": stuck, "left behind": left, **judge(url, journals)}


def is_due(url: str, done: int, kills: int) -> bool:
    """Whether PostgreSQL is hit next: once in a round, in the middle."""
    return url.startswith("postgresql") and done == kills // 2


def chosen(rng: random.Random) -> str:
    """Whom to kill next."""
    return rng.choices(list(VICTIMS), list(VICTIMS.values()))[0]


def import_all() -> None:
    """Import what people need, so that their processes, which are forks of this, begin at once."""
    import pyarrow as pa

    from weal import open_campaign

    pool = pa.table({"name": [f"r{n}" for n in range(9)], "a": [n * n % 7 for n in range(9)]})
    with open_campaign(NAME, "memory:", pool=pool, id_column="name") as one:
        one.tell(["r0", "r1", "r2"], [1.0, 2.0, 4.0])
        one.ask(2, key="first")


def begin(url: str) -> None:
    """A campaign with some labels, in a process of its own: this one must stay without threads."""
    done = subprocess.run([sys.executable, "-c", BEGIN, url, NAME, str(ROWS)], check=False)
    if done.returncode:
        raise RuntimeError("the campaign could not be made")


BEGIN = """
import sys, numpy as np, pandas as pd
from weal import open_campaign
url, name, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
pool = pd.DataFrame(np.random.default_rng(0).uniform(size=(rows, 2)), columns=["a", "b"])
pool.insert(0, "name", [f"r{n}" for n in range(rows)])
with open_campaign(name, url, pool=pool, id_column="name", acquisition="wvar", lease="30d") as one:
    one.tell([f"r{n}" for n in range(rows - 12, rows)], np.sin(np.arange(12.0)).tolist())
    one.ask()
"""


def judge(url: str, journals: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """The journals beside the events of the store."""
    from weal.store.integrity import examine
    from weal.store.protocol import open_store

    with closing(open_store(url)) as store:
        events = store.read(NAME)
    lines = [line for journal in journals for line in journal]
    told = [line for line in lines if line["op"] == "told"]
    kept = Counter((one.id, one.body["y"]) for one in events if one.kind == "told")
    rows = Counter(one.id for one in events if one.kind == "told")
    errors = [line for line in lines if line["op"] == "error"]
    return {
        "acknowledged": len(told),
        "lost": sum((line["id"], line["y"]) not in kept for line in told),
        "doubled": sum(n > 1 for n in rows.values()),
        "unacknowledged": len(rows) - len({line["id"] for line in told}) - 12,
        "leased": sum(one.kind == "asked" for one in events),
        "leased twice": leased_twice(events, lines),
        "repeated": len(errors),
        "unexpected": sorted({line["kind"] for line in errors if not line["expected"]}),
        "broken": sum(one.level == "broken" for one in examine(url)),
        "tells": [line["s"] for line in told],
        "asks": [line["s"] for line in lines if line["op"] == "asked"],
    }


def leased_twice(events: Sequence[Any], lines: Sequence[dict[str, Any]]) -> int:
    """Rows that went out while they were out, by the store or by what people were answered."""
    out, twice = set[Any](), set[Any]()
    for one in events:
        if one.kind == "asked":
            twice |= {one.id} & out
            out.add(one.id)
        elif one.kind in ("told", "skipped", "withdrawn"):
            out.discard(one.id)
    answered = Counter(id_ for line in lines if line["op"] == "asked" for id_ in line["ids"])
    return len(twice | {id_ for id_, n in answered.items() if n > 1})
