"""`weal tell --file`: what became of each line, and what its owner should know."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weal.cli.options import plural
from weal.cli.screen import say, show, show_json, show_table

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.intake import Intake

MOST_LINES = 10  # that are talked of
_SAID = {
    "told": "{} kept",
    "corrected": "{} corrected",
    "repeated": "{} added to others",
    "confirmed": "{} said to be sure",
    "same": "{} there already",
    "skipped": "{} skipped",
    "empty": "{} without a value: left out",
    "refused": "{} refused",
}


def tell_file(campaign: "Campaign", file: Path, details: dict[str, Any], as_json: bool) -> None:
    """Take the labels of a file, or say what would become of them."""
    how = {name: details[name] for name in ("replace", "repeat", "key", "sure", "sheet", "header")}
    dry = details["dry_run"]
    found = (campaign.preview if dry else campaign.tell_file)(file, value=details["column"], **how)
    for note in found.notes:
        say(note)
    _talk(found, dry)
    if as_json:
        show_json(as_dict(found))
    elif dry:
        _show_lines(found)
    else:
        show(found.event)


def as_dict(found: "Intake") -> dict[str, Any]:
    """What became of a file, as what JSON can say."""
    return {
        "event": found.event,
        "labels": found.labels,
        "new": found.new,
        **{action: found.counts.get(action, 0) for action in ("skipped", "empty", "refused")},
        "problems": list(found.problems),
        "notes": list(found.notes),
        "rows": [asdict(row) for row in found.rows],
    }


def _talk(found: "Intake", dry: bool) -> None:
    said = [row for row in found.rows if row.message]
    for row in said[:MOST_LINES]:
        say(f"line {row.line}: {row.message}")
    if len(said) > MOST_LINES:
        say(f"and {len(said) - MOST_LINES} more: --json has all")
    for problem in found.problems:
        say(problem)
    counts = [_SAID[action].format(plural(n, "row")) for action, n in found.counts.items()]
    stopped = found.problems or found.counts.get("refused")
    would = ("nothing would be taken: " if stopped else "would be: ") if dry else ""
    say(f"{found.where}: {would}{', '.join(counts)}")


def _show_lines(found: "Intake") -> None:
    cells = [
        [str(row.line), row.id, row.action, "" if row.value is None else f"{row.value:.10g}"]
        for row in found.rows
    ]
    show_table(["line", "id", "action", "value"], cells)
