"""`weal backup FILE`: a checked copy of a store, while others write."""

from dataclasses import asdict
from pathlib import Path

import click

from weal.cli.options import command, store_named, takes
from weal.cli.screen import say, show, show_json, working


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
    with working("copying"):
        findings = copy(store, file, force)
    if as_json:
        show_json({"file": str(file), "findings": [asdict(one) for one in findings]})
        return
    for one in findings:
        say(f"{one.level}: {one}")
    say(f"{name.shown} is copied to {file}; open it with --store sqlite:///{file}")
    show(file)
