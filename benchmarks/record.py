"""Result files of benchmarks: the numbers, and everything needed to reproduce them.

    what        one line: what was measured
    command     ./scripts/results NAME, or the benchmark as it was typed, with FOLDER and FILE for
                paths of the machine
    seeds       the seeds or realisations: "0:20", or a list of numbers
    date        of the last number, in UTC
    commit      the last one that changed the weal that was measured; a plus sign says that files
                had been changed since
    versions    of Python, weal and the packages that take part, by name
    machine     system, cores, the load (mean number of running programs) when it was written, and
                `others`: the cores that other processes took from the start of the benchmark on
                (the processor time of the machine in /proc/stat less ours and our children's);
                `busy` is true where that is more than MAX_OTHER_CORES: timings are then marked on
                the pages, and `./scripts/results NAME` makes them again
    rows        a list of dicts, each a line of a table or a run

`benchmarks/results/` holds the files that the pages of results are made of
(`scripts/make_results.py`). `read` refuses a file that lacks any of this, or that names a place on
somebody's machine. Numbers that are not finite are null.
"""

import argparse
import ast
import datetime
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import weal

Rows = Iterable[Mapping[str, Any]]
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
NEEDED = ("what", "command", "seeds", "date", "commit", "versions", "machine", "rows")
PACKAGES = ("numpy", "scipy", "scikit-learn")
RIVALS = ("scikit-activeml", "botorch", "gpytorch", "torch")
SCORING_ROOMS = ("core", "goals", "learner", "model", "quantities")  # of src/weal
COMMAND_VARIABLE = "WEAL_RESULT_COMMAND"  # set by ./scripts/results to its own words
DIGITS = 6  # of numbers in a file
_PLACES = {"--data": "FOLDER", "--out": "FOLDER", "--to": "FILE", "--against": "CHECKOUT"}
_ABSOLUTE = re.compile(r"(?:^|[\s\"'=:(])(/[\w.-]+/|[A-Za-z]:\\\\)")


MAX_OTHER_CORES = 0.5  # of other processes, above which timings are marked as busy
STAT = Path("/proc/stat")
TIMES = {"ms", "seconds"}  # columns of times


class OtherProcesses:
    """A clock of the processor time that other processes take, started when it is made."""

    def __init__(self, stat: Path = STAT) -> None:
        self.stat = stat
        self.start = self._now()

    def cores(self) -> float | None:
        """Cores that other processes took since the start; None where the system does not tell."""
        now = self._now()
        if now is None or self.start is None:
            return None
        wall, machine, own = (b - a for a, b in zip(self.start, now, strict=True))
        return max(machine - own, 0.0) / wall if wall > 0.0 else 0.0

    def _now(self) -> tuple[float, float, float] | None:
        """Seconds: of the clock, of all processes on all cores, of this one with its children."""
        try:
            words = self.stat.read_text("ascii").split("\n", 1)[0].split()
            user, nice, system, _, _, irq, soft, steal = map(int, words[1:9])
        except (OSError, ValueError):  # no Linux
            return None
        ticks = user + nice + system + irq + soft + steal
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def is_busy(cores: float | None) -> bool:
    """Whether timings made beside so many cores of other processes are marked.

    >>> is_busy(0.2), is_busy(0.7), is_busy(None)
    (False, True, False)
    """
    return cores is not None and cores > MAX_OTHER_CORES


def has_busy_times(found: Mapping[str, Any]) -> bool:
    """Whether a result file has times, and other processes took more than MAX_OTHER_CORES then.

    >>> busy = {"machine": {"busy": True}}
    >>> has_busy_times({**busy, "rows": [{"ms": 2.0}]}), has_busy_times({**busy, "rows": [{}]})
    (True, False)
    """
    timed = any(not TIMES.isdisjoint(row) for row in found["rows"])
    return timed and bool(found["machine"].get("busy"))


_others = OtherProcesses()  # since the benchmark was started


def add_option(parser: argparse.ArgumentParser) -> None:
    """The option of every benchmark that can write a file."""
    parser.add_argument("--to", type=Path, metavar="FILE", help="write what is found as JSON")


def options(doc: str) -> Any:
    """What a benchmark that has nothing else to be told was told: --quick and --to."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    add_option(parser)
    return parser.parse_args()


def write(
    path: Path, what: str, rows: Rows, seeds: str | Sequence[int], packages: Iterable[str] = ()
) -> None:
    """Write the file atomically."""
    found = {
        "what": what,
        "command": os.environ.get(COMMAND_VARIABLE) or command(sys.orig_argv),
        "seeds": seeds if isinstance(seeds, str) else [int(seed) for seed in seeds],
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "versions": versions((*PACKAGES, *packages)),
        "machine": machine(),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in rows],
    }
    check(found, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(_text(found), encoding="utf-8")
    part.replace(path)


def read(path: Path) -> dict[str, Any]:
    """What is in a file; ValueError where it cannot be repeated from what it says."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is not a result file: {error}") from None
    check(found, path.name)
    return dict(found)


def check(found: Any, name: str) -> None:
    """Raise ValueError when something is missing, or when it names a place on a machine."""
    if not isinstance(found, dict):
        raise ValueError(f"{name} is not a result file: it holds no object")
    if missing := [key for key in NEEDED if not found.get(key)]:
        raise ValueError(
            f"{name} lacks {', '.join(missing)}: a result needs {', '.join(NEEDED)}; "
            "run the benchmark again with --to"
        )
    if not {"python", "weal"} <= set(found["versions"]):
        raise ValueError(f"{name} lacks the versions of Python and weal")
    if place := _ABSOLUTE.search(_text(found)):
        raise ValueError(f"{name} names a place on a machine: {place.group(1)}...")


def command(words: Sequence[str]) -> str:
    """A command as one would type it in a clone, with no place of this machine.

    >>> command(["/usr/bin/python3.11", "benchmarks/real.py", "noise", "--to", "/tmp/noise.json"])
    'python benchmarks/real.py noise --to FILE'
    >>> command(["python", "-m", "benchmarks.real_labels.choice", "--data=/d", "--seeds", "0:6"])
    'python -m benchmarks.real_labels.choice --data=FOLDER --seeds 0:6'
    """
    shown, after = ["python"], ""
    for word in words[1:]:
        option, _, value = word.partition("=")
        if after in _PLACES:
            word = _PLACES[after]
        elif value and option in _PLACES:
            word = f"{option}={_PLACES[option]}"
        elif Path(word).is_absolute():
            inside = Path(word).is_relative_to(ROOT)
            outside = "FILE" if Path(word).suffix else "FOLDER"
            word = str(Path(word).relative_to(ROOT)) if inside else outside
        shown.append(f'"{word}"' if " " in word else word)
        after = word
    return " ".join(shown)


def commit() -> str:
    """The commit of the weal that is imported; of an installed one the hash of its code."""
    from weal.benchmark.curve_cache import code

    home = Path(weal.__file__).resolve().parent
    if not (home.parents[1] / ".git").exists():
        return code()
    try:
        changed = _git(home, "status", "--porcelain", "--", ".")
        return _git(home, "log", "-1", "--format=%h", "--abbrev=10", "--", ".") + "+" * bool(
            changed
        )
    except (OSError, subprocess.CalledProcessError):  # no git here, or a clone of somebody else's
        return code()


@cache
def is_outdated(measured: str, root: Path = ROOT) -> bool:
    """Whether code that decides scores has changed since a commit; False without git.

    Docstrings and comments do not count.
    """
    rooms = [f"src/weal/{room}" for room in SCORING_ROOMS]
    commit = measured.rstrip("+")
    if not (root / ".git").exists():
        return False
    try:
        changed = _git(root, "diff", "--name-only", commit, "HEAD", "--", *rooms)
        return any(
            len({_code_of(root, one, path) for one in (commit, "HEAD")}) > 1
            for path in changed.splitlines()
        )
    except subprocess.CalledProcessError:  # the commit is not in this clone
        return True
    except OSError:
        return False


def _code_of(root: Path, commit: str, path: str) -> str:
    """A file at a commit without docstrings and comments; empty if there is no such file."""
    try:
        source = _git(root, "show", f"{commit}:{path}")
    except subprocess.CalledProcessError:
        return ""
    if not path.endswith(".py"):
        return source
    tree = ast.parse(source)
    for node in ast.walk(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Of Python, weal, and those of the packages that are installed."""
    from weal.benchmark.curve_cache import package_versions

    ours = {"python": platform.python_version(), "weal": weal.__version__}
    return {**ours, **package_versions(*packages)}


def machine() -> dict[str, Any]:
    """The system, its cores, its load, and the cores that other processes took."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    system = f"{platform.system()} {platform.machine()}"
    cores = _others.cores()
    others = None if cores is None else round(cores, 2)
    about = {"system": system, "cores": os.cpu_count(), "load": load, "others": others}
    return {**about, "busy": is_busy(cores)}


def _plain(value: Any) -> Any:
    """A value as JSON has it, with DIGITS digits."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) else float(f"{number:.{DIGITS}g}")


def _text(found: Mapping[str, Any]) -> str:
    """One line for each entry, and one for each row: files that can be read and compared."""
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in found if key != "rows"]
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found.get("rows", ()))
    return "{\n" + ",\n".join([*lines, f'"rows": [\n{rows}\n]']) + "\n}\n"
