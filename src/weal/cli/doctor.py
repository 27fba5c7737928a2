"""`weal doctor`: what is wrong with a store and what can be saved; what this installation has.

Versions are read from the packages' own records: nothing is imported to be asked for its number.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weal import __version__
from weal.cli.options import command, store_named, takes
from weal.cli.screen import show, show_json, working
from weal.store.naming import DEFAULT, read_name

if TYPE_CHECKING:
    from weal.store.doctor import Finding
    from weal.store.rescue import Saved

PACKAGES = ("click", "numpy", "scipy", "scikit-learn")
EXTRAS = {
    "campaign": ("matplotlib", "pandas", "pyarrow"),
    "excel": ("openpyxl",),
    "postgres": ("psycopg",),
    "frames": ("pandas", "polars", "pyarrow"),
    "bench": ("dask", "joblib", "matplotlib", "pandas", "pyarrow"),
}


@command("Look for damage in a store, and save what can be.", "weal doctor --rescue saved")
@takes(
    click.option(
        "--rescue",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Save all that is readable as files in this folder.",
    )
)
def doctor(rescue: Path | None, store: str | None, as_json: bool) -> int:
    """Look for damage in a store; without --store, say what is installed too."""
    from weal.store import doctor as ward

    here: dict[str, Any] = {} if store else {"versions": _versions(), "extras": _extras()}
    name = store_named(store)
    with working("examining"):
        findings = ward.examine(store)
        saved = ward.rescue(store, rescue) if rescue else None
    if name == read_name(DEFAULT) and store is None and not Path(name.address).exists():
        findings = [replace(findings[0], level="warning")]
    if as_json:
        told = {"saved": list(map(str, saved.paths)), "counts": _counts(saved)} if saved else {}
        show_json({**here, "findings": [asdict(one) for one in findings], "saved": [], **told})
    else:
        _show(here, findings, saved)
    return 1 if any(one.level == "broken" for one in findings) else 0


def _counts(saved: "Saved") -> dict[str, Any]:
    return {key: value for key, value in asdict(saved).items() if key != "paths"}


def _versions() -> dict[str, str]:
    import platform
    import sqlite3

    ours = {"weal": __version__, "python": platform.python_version()}
    return {**ours, "sqlite": sqlite3.sqlite_version, **{one: _version(one) for one in PACKAGES}}


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow, and in the way of --help

    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _extras() -> dict[str, bool]:
    from importlib.util import find_spec

    return {name: all(map(find_spec, modules)) for name, modules in EXTRAS.items()}


def _show(here: dict[str, Any], findings: "list[Finding]", saved: "Saved | None") -> None:
    for name, number in here.get("versions", {}).items():
        show(f"{name} {number}")
    for name, there in here.get("extras", {}).items():
        show(f"weal[{name}] {'is there' if there else 'is not installed'}")
    for one in findings:
        show(f"{one.level}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
    for path in saved.paths if saved else []:
        show(f"saved: {path}")
    if saved:
        show(f"saved: {saved}")
