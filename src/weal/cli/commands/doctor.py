"""`weal doctor`: the installation, damage in a store and its recovery; `weal backup`: a copy.

Versions are read from package metadata, so that broken packages are listed too. Only numpy and
scipy are imported, for the threads of their BLAS. `NEEDED` and `EXTRAS` repeat pyproject.toml with
a use for each package: a test compares them.
"""

import os
import platform
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import click

from weal import __version__
from weal.cli.options import command, store_url, with_parameters
from weal.cli.screen import say, show, show_activity, show_json
from weal.store.urls import DEFAULT_URL, read_name

if TYPE_CHECKING:
    from weal.store.integrity import Finding
    from weal.store.recovery import RecoveryReport


@command(
    "Check the installation and a store; recover a damaged one.",
    "weal doctor",
    "weal doctor --store sqlite:///weal.db --rescue saved",
)
@with_parameters(
    click.option(
        "--rescue",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Save everything readable as files in this folder.",
    )
)
def doctor(rescue: Path | None, store: str | None, as_json: bool) -> int:
    """Look for damage in a store; without --store, also show the installation."""
    from weal.store.integrity import examine
    from weal.store.recovery import recover

    installed = None if store else installation()
    name = store_url(store)
    with show_activity("checking"):
        findings = examine(store)
        saved = recover(store, rescue) if rescue else None
    if name == read_name(DEFAULT_URL) and store is None and not Path(name.address).exists():
        findings = [replace(findings[0], level="warning")]
    if as_json:
        told = {"saved": list(map(str, saved.paths)), "counts": _counts(saved)} if saved else {}
        own = {"findings": [asdict(one) for one in findings], "saved": [], **told}
        show_json({**(installed or {}), **own})
    else:
        _show(installed, findings, saved)
    is_incomplete = installed is not None and installed["lacking"]
    return 1 if is_incomplete or any(one.level == "broken" for one in findings) else 0


def _counts(saved: "RecoveryReport") -> dict[str, object]:
    return {key: value for key, value in asdict(saved).items() if key != "paths"}


def _show(
    installed: "Installation | None", findings: "list[Finding]", saved: "RecoveryReport | None"
) -> None:
    for line in lines(installed) if installed else []:
        show(line)
    for one in findings:
        show(f"{one.level}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
    for path in saved.paths if saved else []:
        show(f"saved: {path}")
    if saved:
        show(f"saved: {saved}")


NEEDED = {  # package and minimum version: its use
    "click>=8.1": "the commands",
    "numpy>=2.0": "arrays",
    "scipy>=1.13": "matrix factorisations, optimisers",
    "scikit-learn>=1.6": "EnsembleGPRegressor and FeatureEncoder",
    "threadpoolctl>=3.1": "one thread for small matrices",
    "narwhals>=2.0": "frames of pandas, polars and pyarrow",
    "pyarrow>=16": "candidates in a store, Parquet files",
    "rich>=13.7": "tables and progress in a terminal",
}
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {  # use, and packages
    "frames": (
        "pandas and polars frames as candidates and results",
        ("pandas>=2.2", "polars>=1.0"),
    ),
    "campaign": (
        "figures, Excel tables and pandas frames of campaigns",
        ("matplotlib>=3.8", "openpyxl>=3.1", "pandas>=2.2"),
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
        ),
    ),
    "mcp": ("weal mcp, tools of an assistant", ("mcp>=2.0",)),
    "widget": (
        "learner.widget() and campaign.widget() in a notebook",
        ("anywidget>=0.9.13", "ipywidgets>=8.1"),
    ),
    "web": (
        "weal serve, the pages in a browser",
        (
            "fastapi>=0.115",
            "jinja2>=3.1",
            "python-multipart>=0.0.18",
            "segno>=1.6",
            "uvicorn>=0.32",
        ),
    ),
    "cluster": ("pools in files on a Dask cluster", ("dask[distributed]>=2024.8",)),
    "peers": (
        "other packages' methods in weal bench",
        ("scikit-activeml>=1.0", "botorch>=0.18"),
    ),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Package(NamedTuple):
    """A required package."""

    name: str
    least: str
    version: str | None  # None if it is missing

    @property
    def is_good(self) -> bool:
        """Whether it is installed and new enough."""
        return self.version is not None and _numbers(self.version) >= _numbers(self.least)

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.name} is missing"
        return f"{self.name} {self.version}" + ("" if self.is_good else f" (needs {self.least})")


class Blas(TypedDict):
    """A BLAS library and its number of threads."""

    library: str | None
    version: str | None
    threads: int | None


class Machine(TypedDict):
    """The operating system and its number of processors."""

    system: str
    processors: int | None


class Installation(TypedDict):
    """The installation as `weal doctor --json` shows it."""

    versions: dict[str, str]
    extras: dict[str, bool]
    packages: dict[str, str | None]
    lacking: list[str]
    machine: Machine
    blas: list[Blas]
    programs: dict[str, bool]


def installation() -> Installation:
    """Versions, extras, machine, BLAS libraries and programs."""
    needed = [package(one) for one in NEEDED]
    extras = {name: packages_of_extra(name) for name in EXTRAS}
    return {
        "versions": {
            "weal": __version__,
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            **{one.name: one.version or "missing" for one in needed},
        },
        "extras": {name: all(one.is_good for one in found) for name, found in extras.items()},
        "packages": {
            one.name: one.version
            for one in [*needed, *(one for row in extras.values() for one in row)]
        },
        "lacking": [str(one) for one in needed if not one.is_good],
        "machine": {"system": platform.platform(terse=True), "processors": os.cpu_count()},
        "blas": blas(),
        "programs": programs(),
    }


def packages_of_extra(extra: str) -> list[Package]:
    """The packages of an extra for this version of Python."""
    rows = [one for one in EXTRAS[extra][1] if "python_version" not in one or _fits(one)]
    parts = [f"distributed>={package(one).least}" for one in rows if "[distributed]" in one]
    return [package(one) for one in (*rows, *parts)]


def _fits(requirement: str) -> bool:
    below = requirement.rpartition("<")[2].strip(" '")
    return _numbers(platform.python_version()) < _numbers(below)


def package(requirement: str) -> Package:
    """The installed version of a package.

    >>> package("no-such-package[fast]>=3.1")
    Package(name='no-such-package', least='3.1', version=None)
    """
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    name, least = re.match(r"([\w.-]+)(?:\[.*?\])?>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
    try:
        return Package(name, least, version(name))
    except PackageNotFoundError:
        return Package(name, least, None)


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers at the start of a version: `2.1.0rc1` -> (2, 1, 0)."""
    begun = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, begun[0].split("."))) if begun else ()


def blas() -> list[Blas]:
    """The BLAS libraries and their numbers of threads."""
    try:
        import numpy  # noqa: F401
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info
    except ImportError:  # reported as a missing package
        return []
    return [
        {
            "library": one.get("internal_api"),
            "version": one.get("version"),
            "threads": one.get("num_threads"),
        }
        for one in threadpool_info()
        if one.get("user_api") == "blas"
    ]


def programs() -> dict[str, bool]:
    """Whether optional programs are installed."""
    server = shutil.which("postgres") or any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    browser = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    return {"postgresql": bool(server), "chromium": browser}


def lines(found: Installation) -> Iterator[str]:
    """The installation as lines of text."""
    words = {"python": "Python", "sqlite": "SQLite"}
    uses = {package(one).name: use for one, use in NEEDED.items()}
    for name, number in found["versions"].items():
        yield f"{words.get(name, name)} {number}" + (f", for {uses[name]}" if name in uses else "")
    for one in found["lacking"]:
        yield f"broken: {one}; pip install --upgrade weal"
    for name, there in found["extras"].items():
        yield _extra(name, there)
    yield from _machine(found)


def extra_of(package: str) -> str:
    """The smallest extra with this package; `all` if no extra names it."""
    sizes = {
        name: len(packages)
        for name, (_, packages) in EXTRAS.items()
        if package in (re.split(r"[^\w-]", one)[0] for one in packages)
    }
    return min(sizes, key=lambda name: sizes[name], default="all")


def _extra(name: str, there: bool) -> str:
    use, packages = EXTRAS[name][0], packages_of_extra(name)
    if there:
        return f"weal[{name}] is installed: {use} ({', '.join(map(str, packages))})"
    lacking = ", ".join(str(one) for one in packages if not one.is_good)
    return f'weal[{name}] is not installed: {use} ({lacking}); pip install "weal[{name}]"'


def _machine(found: Installation) -> Iterator[str]:
    machine = found["machine"]
    yield f"{machine['system']}, processors: {machine['processors']}"
    counts = sorted({f"{one['library']} with threads: {one['threads']}" for one in found["blas"]})
    given = [f"{name}={os.environ[name]}" for name in THREADS if os.environ.get(name)]
    yield f"BLAS: {', '.join(counts) or 'not found'}" + (f" ({', '.join(given)})" if given else "")
    there = {True: "is installed", False: "is not installed"}
    yield (
        f"The PostgreSQL server {there[found['programs']['postgresql']]} here; "
        "a store for a team can be on any machine"
    )
    yield f"Chromium {there[found['programs']['chromium']]}; only weal's own tests use it"


@command("Copy a store while others write.", "weal backup copies/2026-11-17.db")
@with_parameters(
    click.argument("file", type=click.Path(path_type=Path)),
    click.option("--force", is_flag=True, help="Replace an existing file."),
)
def backup(file: Path, force: bool, store: str | None, as_json: bool) -> None:
    """Copy an SQLite store to FILE as a consistent snapshot, and check the copy.

    To restore, open the copy: weal list --store sqlite:///FILE.
    """
    from weal.store.recovery import backup as copy

    name = store_url(store)
    with show_activity("copying"):
        findings = copy(store, file, force)
    if as_json:
        show_json({"file": str(file), "findings": [asdict(one) for one in findings]})
        return
    for one in findings:
        say(f"{one.level}: {one}")
    say(f"{name.shown} was copied to {file}; open it with --store sqlite:///{file}")
    show(file)
