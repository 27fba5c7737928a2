"""`weal doctor`: what is wrong with a store and what can be saved; what this installation has.

What this installation has: packages and their versions, extras and what each is for.

Versions are read from the packages' own records, so that a package that is broken is named like the
others; only numpy and scipy are loaded, for the threads of the BLAS that they bring. The tables
below are those of pyproject.toml, in words: a test compares them.

`weal backup FILE`: a checked copy of a store, while others write.
"""

import os
import platform
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from weal import __version__
from weal.cli.options import command, store_named, takes
from weal.cli.screen import say, show, show_activity, show_json
from weal.store.urls import DEFAULT_URL, read_name

if TYPE_CHECKING:
    from weal.store.integrity import Finding
    from weal.store.recovery import RecoveryReport


@command(
    "Say what is installed, look for damage in a store, and save what can be.",
    "weal doctor",
    "weal doctor --store sqlite:///weal.db --rescue saved",
)
@takes(
    click.option(
        "--rescue",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Save all that is readable as files in this folder.",
    )
)
def doctor(rescue: Path | None, store: str | None, as_json: bool) -> int:
    """Look for damage in a store; without --store, say what is installed first."""
    from weal.store import integrity as ward

    here = {} if store else _here()
    name = store_named(store)
    with show_activity("examining"):
        findings = ward.examine(store)
        saved = ward.rescue(store, rescue) if rescue else None
    if name == read_name(DEFAULT_URL) and store is None and not Path(name.address).exists():
        findings = [replace(findings[0], level="warning")]
    if as_json:
        told = {"saved": list(map(str, saved.paths)), "counts": _counts(saved)} if saved else {}
        show_json({**here, "findings": [asdict(one) for one in findings], "saved": [], **told})
    else:
        _show(here, findings, saved)
    broken = here.get("lacking") or any(one.level == "broken" for one in findings)
    return 1 if broken else 0


def _here() -> dict[str, Any]:

    return here()


def _counts(saved: "RecoveryReport") -> dict[str, Any]:
    return {key: value for key, value in asdict(saved).items() if key != "paths"}


def _show(here: dict[str, Any], findings: "list[Finding]", saved: "RecoveryReport | None") -> None:
    if here:
        for line in lines(here):
            show(line)
    for one in findings:
        show(f"{one.level}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
    for path in saved.paths if saved else []:
        show(f"saved: {path}")
    if saved:
        show(f"saved: {saved}")


NEEDED = {  # package and the least version: what weal does with it
    "click>=8.1": "the commands",
    "numpy>=2.0": "arrays",
    "scipy>=1.13": "matrix factorisations, optimisers",
    "scikit-learn>=1.6": "EnsembleGPRegressor and FeatureEncoder",
    "threadpoolctl>=3.1": "one thread for small matrices",
    "narwhals>=2.0": "frames of pandas, polars and pyarrow",
    "rich>=13.7": "tables and progress in a terminal",
}
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {  # what for, and what it takes
    "frames": (
        "pandas, polars and pyarrow frames as candidates; tables as answers",
        ("pandas>=2.2", "polars>=1.0", "pyarrow>=16"),
    ),
    "campaign": (
        "campaigns in a store, tables in Parquet, pictures",
        ("matplotlib>=3.8", "pandas>=2.2", "pyarrow>=16"),
    ),
    "excel": ("tables and worksheets in Excel", ("openpyxl>=3.1",)),
    "postgres": ("a store in PostgreSQL, for a team", ("psycopg[binary]>=3.2",)),
    "bench": (
        "weal bench and weal simulate",
        (
            "box2d>=2.3.10; python_version < '3.14'",
            "dask[distributed]>=2024.8",
            "joblib>=1.4",
            "matplotlib>=3.8",
            "pandas>=2.2",
            "pyarrow>=16",
        ),
    ),
    "web": (
        "weal serve, the pages in a browser",
        ("fastapi>=0.115", "jinja2>=3.1", "python-multipart>=0.0.18", "uvicorn>=0.32"),
    ),
    "cluster": ("pools in files on a Dask cluster", ("dask[distributed]>=2024.8", "pyarrow>=16")),
    "peers": (
        "other packages' methods in weal bench",
        ("scikit-activeml>=1.0", "botorch>=0.18"),
    ),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Package(NamedTuple):
    """A package that is wanted."""

    name: str
    least: str
    version: str | None  # what is there

    @property
    def good(self) -> bool:
        """Whether it is there, and new enough."""
        return self.version is not None and _numbers(self.version) >= _numbers(self.least)

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.name} is missing"
        return f"{self.name} {self.version}" + ("" if self.good else f" (needs {self.least})")


def here() -> dict[str, Any]:
    """All of it, as `weal doctor --json` shows it."""
    needed = [package(one) for one in NEEDED]
    extras = {name: packages_of_extra(name) for name in EXTRAS}
    return {
        "versions": {
            "weal": __version__,
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            **{one.name: one.version or "missing" for one in needed},
        },
        "extras": {name: all(one.good for one in found) for name, found in extras.items()},
        "packages": {
            one.name: one.version
            for one in [*needed, *(one for row in extras.values() for one in row)]
        },
        "lacking": [str(one) for one in needed if not one.good],
        "machine": {"system": platform.platform(terse=True), "processors": os.cpu_count()},
        "blas": blas(),
        "programs": programs(),
    }


def packages_of_extra(extra: str) -> list[Package]:
    """The packages of an extra that this Python can have."""
    rows = [one for one in EXTRAS[extra][1] if "python_version" not in one or _fits(one)]
    parts = [f"distributed>={package(one).least}" for one in rows if "[distributed]" in one]
    return [package(one) for one in (*rows, *parts)]


def _fits(requirement: str) -> bool:
    below = requirement.rpartition("<")[2].strip(" '")
    return _numbers(platform.python_version()) < _numbers(below)


def package(requirement: str) -> Package:
    """What is there of a package.

    >>> package("no-such-package[fast]>=3.1")
    Package(name='no-such-package', least='3.1', version=None)
    """
    name, least = re.match(r"([\w.-]+)(?:\[.*?\])?>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
    try:
        return Package(name, least, version(name))
    except PackageNotFoundError:
        return Package(name, least, None)


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with: `2.1.0rc1` -> (2, 1, 0)."""
    begun = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, begun[0].split("."))) if begun else ()


def blas() -> list[dict[str, Any]]:
    """The libraries that multiply matrices here, and how many threads each takes."""
    try:
        import numpy  # noqa: F401
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info
    except ImportError:  # said of the package itself
        return []
    keys = {"internal_api": "library", "version": "version", "num_threads": "threads"}
    found = [one for one in threadpool_info() if one.get("user_api") == "blas"]
    return [{ours: one.get(theirs) for theirs, ours in keys.items()} for one in found]


def programs() -> dict[str, bool]:
    """Programs of the system that weal can use, but does not bring."""
    server = shutil.which("postgres") or any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    browser = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    return {"postgresql": bool(server), "chromium": browser}


def lines(found: dict[str, Any]) -> Iterator[str]:
    """What `here` found, a line for each thing."""
    words = {"python": "Python", "sqlite": "SQLite"}
    uses = {package(one).name: use for one, use in NEEDED.items()}
    for name, number in found["versions"].items():
        yield f"{words.get(name, name)} {number}" + (f", for {uses[name]}" if name in uses else "")
    for one in found["lacking"]:
        yield f"broken: {one}; pip install --upgrade weal"
    for name, there in found["extras"].items():
        yield _extra(name, there)
    yield from _machine(found)


def _extra(name: str, there: bool) -> str:
    use, packages = EXTRAS[name][0], packages_of_extra(name)
    if there:
        return f"weal[{name}] is there: {use} ({', '.join(map(str, packages))})"
    lacking = ", ".join(str(one) for one in packages if not one.good)
    return f'weal[{name}] is not installed: {use} ({lacking}); pip install "weal[{name}]"'


def _machine(found: dict[str, Any]) -> Iterator[str]:
    machine = found["machine"]
    yield f"{machine['system']}, processors: {machine['processors']}"
    counts = sorted({f"{one['library']} with threads: {one['threads']}" for one in found["blas"]})
    given = [f"{name}={os.environ[name]}" for name in THREADS if os.environ.get(name)]
    yield f"BLAS: {', '.join(counts) or 'not found'}" + (f" ({', '.join(given)})" if given else "")
    there = {True: "is here", False: "is not here"}
    yield (
        f"PostgreSQL's server {there[found['programs']['postgresql']]}; "
        "a store for a team may be on any machine"
    )
    yield f"Chromium {there[found['programs']['chromium']]}; weal's own tests look at pages with it"


@command("Copy a store, while others write.", "weal backup copies/2026-11-17.db")
@takes(
    click.argument("file", type=click.Path(path_type=Path)),
    click.option("--force", is_flag=True, help="Replace a file that is there."),
)
def backup(file: Path, force: bool, store: str | None, as_json: bool) -> None:
    """Copy a store in SQLite to FILE, as it is at one moment, and look at the copy.

    Restoring is opening: weal list --store sqlite:///FILE.
    """
    from weal.store.backup import backup as copy

    name = store_named(store)
    with show_activity("copying"):
        findings = copy(store, file, force)
    if as_json:
        show_json({"file": str(file), "findings": [asdict(one) for one in findings]})
        return
    for one in findings:
        say(f"{one.level}: {one}")
    say(f"{name.shown} is copied to {file}; open it with --store sqlite:///{file}")
    show(file)
