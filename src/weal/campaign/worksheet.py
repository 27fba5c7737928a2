"""A worksheet for rows that are out: taken to the laboratory, filled in, and told as a file.

    id, the inputs in the user's own columns and units, expected, expected sd, TARGET, note

The column of the target is empty: numbers go there, or "failed". Where the pool has a column of one
of these names itself, ours is called `weal expected`, `weal note`. What a spreadsheet could run is
written so that it does not (`table.guarding`), and is read back as it was.
"""

import csv
import io
import math
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weal.campaign.writing import check_place, save_sheet, whole
from weal.table.guarding import guarded

if TYPE_CHECKING:
    from weal.campaign.explaining import Asked

ENDINGS = (".csv", ".tsv", ".xlsx")


def check_worksheet(to: str | os.PathLike[str], force: bool = False) -> Path:
    """The path, or an error that says why no worksheet can be written there."""
    place = Path(to).expanduser()
    if place.suffix.lower() not in ENDINGS:
        raise ValueError(f"{place} does not end in one of {', '.join(ENDINGS)}: a worksheet does")
    if place.suffix.lower() == ".xlsx":
        try:
            import openpyxl  # noqa: F401
        except ModuleNotFoundError as error:
            raise ValueError(f'{place} needs openpyxl: pip install "weal[excel]"') from error
    return check_place(place, force)


def write_worksheet(
    rows: "Sequence[Asked]", plan: dict[str, Any], id_column: str, target: str | None, place: Path,
    force: bool = False,
) -> None:  # fmt: skip
    """Write the worksheet of these rows, whole or not at all."""
    table = worksheet(rows, plan, id_column, target)
    with whole(place, force) as draft:
        if place.suffix.lower() == ".xlsx":
            save_sheet(table, draft, header=True)
        else:
            draft.write_bytes(_text(table, "\t" if place.suffix.lower() == ".tsv" else ","))


def worksheet(
    rows: "Sequence[Asked]", plan: dict[str, Any], id_column: str, target: str | None
) -> list[list[Any]]:
    """The header and the rows of a worksheet."""
    inputs = [column["name"] for column in plan["columns"] if column["kind"] != "dropped"]
    own = {id_column, target, *(column["name"] for column in plan["columns"])}
    expected, sd, note = (
        name if name not in own else f"weal {name}" for name in ("expected", "expected sd", "note")
    )
    header = [id_column, *inputs, expected, sd, target or "value", note]
    return [header, *(_row(row, inputs) for row in rows)]


def _row(row: "Asked", inputs: Sequence[str]) -> list[Any]:
    cells = [row.row.get(name) for name in inputs]
    plain = [cell.isoformat(" ") if isinstance(cell, datetime) else cell for cell in cells]
    return [row.id, *plain, *_rounded(row.mean, row.sd), None, None]


def _rounded(mean: float | None, sd: float | None) -> tuple[float | None, float | None]:
    """What is expected, to the digits that it deserves."""
    if mean is None or sd is None:
        return None, None
    if sd <= 0.0 or not math.isfinite(sd):
        return mean, sd
    places = 1 - math.floor(math.log10(sd))
    return round(mean, places), round(sd, places)


def _text(table: Sequence[Sequence[Any]], separator: str) -> bytes:
    """Delimited text; with the mark that spreadsheets need for letters such as é."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    for row in table:
        writer.writerow(guarded(cell) if isinstance(cell, str) else cell for cell in row)
    text = file.getvalue()
    return text.encode("utf-8" if text.isascii() else "utf-8-sig")
