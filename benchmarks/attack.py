"""Kill processes at random moments: is a label lost or doubled, or a row leased twice?

    python benchmarks/attack.py kills [--store sqlite] [--kills 150] [--to FILE]
    python benchmarks/attack.py exits [--runs 2000] [--to FILE]

"kills": eight processes ask and tell at once on SQLite and, where it is installed, on a PostgreSQL
server of its own; five use Python, three the pages of two servers. One of them, a server or the
worker of a server is killed (SIGKILL) every half second and started again, and repeats what was not
acknowledged (`attack_round`). With PostgreSQL, one of its processes is killed in each round.
"exits": commands with a timer that goes off at a random moment of their run; none may end
with a signal (`attack_exits`).

Rounds that are done are kept in the folder of `--out` [attack-rounds]: after Ctrl-C the same
command goes on from there. The exit code is 1 where anything was lost, doubled, leased twice, or
ended by a signal. Of times nothing is asserted.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import attack_exits, attack_round, record

ROOT = Path(__file__).resolve().parents[1]
KILLS_IN_A_ROUND = 15
RUNS_IN_A_ROUND = 100
SECONDS_BETWEEN_LINES = 10.0  # where progress goes to a file
_silent_until = 0.0
MUST_BE_ZERO = ("lost", "doubled", "leased twice", "broken", "stuck", "left behind")


def main() -> int:
    """Do the rounds that are missing, and print one table."""
    given = options()
    find_tests()
    parts = stores(given.store) if given.what == "kills" else {"exits": exits_only}
    todo, size = (
        (given.kills, KILLS_IN_A_ROUND) if given.what == "kills" else (given.runs, RUNS_IN_A_ROUND)
    )
    done: dict[str, list[dict[str, Any]]] = {}
    try:
        for name, part in parts.items():
            done[name] = kept(given.out, name, size, given.seed)
            with part() as work:
                rounds(given, name, todo, size, work, done[name])
    except KeyboardInterrupt:
        say(f"stopped; the same command goes on with what is in {given.out}")
        return 130
    summary = summary_of_kills if given.what == "kills" else attack_exits.summary
    rows = [summary(name, found[: -(-todo // size)]) for name, found in done.items()]
    print_table(rows)
    if given.to:
        what = f"{given.what}: processes killed, and how commands end"
        record.write(given.to, what, rows, [given.seed], ("psycopg", "pyarrow"))
    return int(any(row["failed"] for row in rows))


def options() -> argparse.Namespace:
    """The words of the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("kills", "exits"))
    parser.add_argument("--store", choices=("sqlite", "postgresql"), help="this one only")
    parser.add_argument("--kills", type=int, default=150, help="of each store [150]")
    parser.add_argument("--runs", type=int, default=2000, help="of commands [2000]")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of kills [0]")
    parser.add_argument("--out", type=Path, default=Path("attack-rounds"), metavar="FOLDER")
    record.add_option(parser)
    return parser.parse_args()


def find_tests() -> None:
    """Let modules of the tests be imported, instead of this folder's (`campaign` is in both)."""
    others = [place for place in sys.path if Path(place) != ROOT / "benchmarks"]
    sys.path[:] = [str(ROOT / "tests"), *others]


Work = Callable[[str, int, Callable[[int], object]], dict[str, Any]]  # seed, size, show


def stores(only: str | None) -> dict[str, Any]:
    """What makes a place for the rounds of each store."""
    found = {"sqlite": sqlite, "postgresql": postgresql}
    return {name: one for name, one in found.items() if only in (None, name)}


@contextmanager
def sqlite() -> Iterator[Work]:
    """A file on the disk for each round."""

    def work(seed: str, size: int, show: Callable[[int], object]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="weal-attack-store-", dir=".") as name:
            url = f"sqlite:///{Path(name).absolute()}/weal.db"
            return attack_round.attack(url, size, seed, show)

    yield work


@contextmanager
def postgresql() -> Iterator[Work]:
    """A server for all rounds, a schema for each."""
    servers = import_module("campaign.postgres_server")
    if servers.programs() is None:
        raise SystemExit("there is no PostgreSQL here: add --store sqlite")
    with ExitStack() as stack:
        server = stack.enter_context(servers.running())

        def work(seed: str, size: int, show: Callable[[int], object]) -> dict[str, Any]:
            import psycopg

            place = f"round_{seed.replace(' ', '_')}"
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA {place}")
            url = f"{server.url}?options=-csearch_path%3D{place}"
            return attack_round.attack(url, size, seed, show)

        yield work


@contextmanager
def exits_only() -> Iterator[Work]:
    """Commands on one small store."""
    with tempfile.TemporaryDirectory(prefix="weal-attack-") as name:
        attack_exits.begin(Path(name))
        yield lambda seed, size, show: attack_exits.run(Path(name), seed, size, show)


def kept(folder: Path, name: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Rounds of this weal, of this size and seed, that were done before."""
    path = folder / f"{name}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    same = {"commit": record.commit(), "size": size, "seed": seed}
    return [one for one in found if same.items() <= one.items()]


def rounds(
    given: argparse.Namespace, name: str, todo: int, size: int, work: Work, done: list[Any]
) -> None:
    """Do the rounds that are missing; each is kept as soon as it is done."""
    folder: Path = given.out
    folder.mkdir(parents=True, exist_ok=True)
    begun, count = time.monotonic(), -(-todo // size)
    if done:
        say(f"{name}: {min(len(done), count) * size} of {count * size} are there already")
    for n in range(len(done), count):

        def show(far: int, n: int = n) -> None:
            minutes = (time.monotonic() - begun) / 60.0
            say(f"{name}: {n * size + far} of {count * size}, {minutes:.1f} min", "\r")

        found = work(f"{given.seed} {n}", size, show)
        found |= {"commit": record.commit(), "size": size, "seed": given.seed}
        done.append(found)
        with (folder / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps(found) + "\n")
    say(f"{name}: done")


def say(line: str, end: str = "\n") -> None:
    """A line on stderr; on a terminal the next one may take its place, else only some are shown."""
    global _silent_until
    on_terminal = sys.stderr.isatty()
    if end == "\r" and not on_terminal:
        if time.monotonic() < _silent_until:
            return
        _silent_until = time.monotonic() + SECONDS_BETWEEN_LINES
    text, last = (f"\033[K{line}", end) if on_terminal else (line, "\n")
    print(text, end=last, file=sys.stderr, flush=True)


def summary_of_kills(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """One line of the table: all rounds of a store."""
    killed = Counter[str]()
    for one in found:
        killed.update(one["killed"])
    sums = {
        key: sum(one[key] for one in found) for key in ("acknowledged", "leased", *MUST_BE_ZERO)
    }
    unexpected = sorted({kind for one in found for kind in one["unexpected"]})
    row: dict[str, Any] = {"what": name, "kills": killed.total(), "killed": dict(killed), **sums}
    row["unacknowledged"] = sum(one["unacknowledged"] for one in found)
    row["unexpected errors"] = unexpected
    for call in ("tells", "asks"):
        times = [seconds for one in found for seconds in one[call]] or [0.0]
        row[f"{call} median ms"], row[f"{call} slowest ms"] = 1e3 * median(times), 1e3 * max(times)
        row[f"{call} slowest / median"] = max(times) / max(median(times), 1e-9)
    return {**row, "failed": bool(unexpected) or any(row[key] for key in MUST_BE_ZERO)}


def print_table(rows: list[dict[str, Any]]) -> None:
    """The rows as columns, a line for each thing counted."""
    for key in rows[0]:
        cells = [cell(row[key]) for row in rows]
        print(f"{key:24}" + "".join(f"  {text:>44}" for text in cells))


def cell(value: Any) -> str:
    """A value of the table."""
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, dict):
        return ", ".join(f"{n} {what}" for what, n in value.items())
    return "; ".join(value) or "none" if isinstance(value, list) else str(value)


if __name__ == "__main__":
    sys.exit(main())
