"""Jobs on worksheets: written for rows that are out, previewed and kept when they come back."""

from pathlib import Path
from typing import Any

from weal.web.shelf import Arguments, Progress, Shelf
from weal.web.tables import upload

SHOWN = 500  # lines of a sheet; those that need a look first


def worksheet(shelf: Shelf, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Write the worksheet of these rows to a place of the server's; what it is to be called."""
    path = Path(given["path"])
    shelf.campaign(given["name"]).worksheet(given["ids"], path)
    return {"file": path.stem, "called": f"{given['name']}-worksheet{path.suffix}"}


def preview(shelf: Shelf, given: Arguments, progress: Progress) -> dict[str, Any]:
    """What would become of each line."""
    campaign = shelf.campaign(given["name"])
    how = {**given["how"], "name": given["called"] or "the file"}
    return _said(campaign.preview(upload(shelf, given), **how), given, kept=False)


def tell_file(shelf: Shelf, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Keep the labels of a sheet, all or none; where it is none, the preview says why."""
    campaign = shelf.campaign(given["name"], given["who"])
    how = {**given["how"], "name": given["called"] or "the file"}
    try:
        found = campaign.tell_file(upload(shelf, given), **how)
    except ValueError:
        return preview(shelf, given, progress)
    return _said(found, given, kept=True)


def _said(intake: Any, given: Arguments, kept: bool) -> dict[str, Any]:
    rows = sorted(intake.rows, key=lambda row: (row.action != "refused", not row.message))
    lines = [
        {"line": row.line, "id": row.id, "action": row.action, "value": row.value,
         "note": row.note, "message": row.message}
        for row in rows[:SHOWN]
    ]  # fmt: skip
    return {
        "file": given["file"],
        "called": given["called"],
        "how": next(iter(given["how"]), ""),
        "kept": kept,
        "lines": sorted(lines, key=lambda line: line["line"]),
        "more": len(rows) - len(lines),
        "counts": intake.counts,
        "new": intake.new,
        "problems": list(intake.problems),
        "notes": list(intake.notes),
    }


KINDS = {"worksheet": worksheet, "preview": preview, "tell_file": tell_file}
