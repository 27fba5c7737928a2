"""`weal doctor`: what is wrong with a store and what can be saved; what this installation has."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weal.cli.options import command, store_named, takes
from weal.cli.screen import show, show_json, working
from weal.store.naming import DEFAULT, read_name

if TYPE_CHECKING:
    from weal.store.doctor import Finding
    from weal.store.rescue import Saved


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
    from weal.store import doctor as ward

    here = {} if store else _here()
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
    broken = here.get("lacking") or any(one.level == "broken" for one in findings)
    return 1 if broken else 0


def _here() -> dict[str, Any]:
    from weal.cli import installed  # slow, and in the way of --help

    return installed.here()


def _counts(saved: "Saved") -> dict[str, Any]:
    return {key: value for key, value in asdict(saved).items() if key != "paths"}


def _show(here: dict[str, Any], findings: "list[Finding]", saved: "Saved | None") -> None:
    if here:
        from weal.cli.installed import lines

        for line in lines(here):
            show(line)
    for one in findings:
        show(f"{one.level}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
    for path in saved.paths if saved else []:
        show(f"saved: {path}")
    if saved:
        show(f"saved: {saved}")
