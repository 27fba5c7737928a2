"""`weal predict`: what is expected of rows that are no candidates.

Whatever is heavy is imported where it is used.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weal.cli import options as line
from weal.cli.options import command, open_for_command, plural, takes
from weal.cli.screen import say, show_activity, show_json, show_table

if TYPE_CHECKING:
    from weal.campaign.predict import RowPredictions

MAX_ROWS_SHOWN = 10_000  # rows of a table on stdout


@command(
    "Predict rows that are no candidates.",
    "weal predict alloys new.csv",
    "weal predict alloys new.csv --to predicted.xlsx",
)
@takes(
    line.name,
    click.argument("file", type=click.Path(path_type=Path)),
    click.option(
        "--to",
        metavar="FILE",
        help="File that ends in .csv, .tsv, .parquet, .xlsx or .json; - is CSV on stdout "
        "[default: a table on stdout].",
    ),
    click.option("--force", is_flag=True, help="Replace a file that is there."),
    click.option(
        *("--id", "id_column"),
        metavar="COLUMN",
        help="Ids [default: the campaign's column; rows without are numbered].",
    ),
    click.option(
        "--level",
        type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
        default=0.9,
        show_default=True,
        help="Probability with which low to high holds a label.",
    ),
    line.sheet,
    line.header,
)
def predict(
    name: str,
    file: Path,
    to: str | None,
    force: bool,
    store: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Mean, standard deviation and interval for each row of FILE.

    It has the columns that the campaign learns from; nothing is written to the campaign.
    """
    if as_json and to == "-":
        raise ValueError("--to - is CSV on stdout, where --json has no place: leave one out")
    with open_for_command(name, store) as campaign, show_activity(f"predicting the rows of {file}"):
        from weal.campaign.predict import predict as predicted
        from weal.tables.table_writer import check_place

        place = None if to is None else check_place(to, force)  # before the work is done
        shown = MAX_ROWS_SHOWN if to is None and not as_json else None
        found = predicted(campaign, file, most=shown, **how)
        for note in found.notes:
            say(note)
        if place is not None:
            _write(found, place, force)
    if as_json:
        show_json(_as_dict(found, to))
    elif to is None:
        _show(found)
    else:
        say(f"{plural(len(found.ids), 'row')} predicted" + ("" if to == "-" else f", in {to}"))


def _write(found: "RowPredictions", place: Path, force: bool) -> None:
    from weal.campaign.predict import frame_of
    from weal.tables.table_writer import write

    write(frame_of(found.columns()), place, force)


def _rows(found: "RowPredictions") -> list[tuple[str, float, float, float, float]]:
    numbers = (one.tolist() for one in (found.mean, found.sd, found.low, found.high))
    return list(zip(found.ids, *numbers, strict=True))


def _as_dict(found: "RowPredictions", to: str | None) -> dict[str, Any]:
    """The predictions, or where they are, as what JSON can say."""
    names = list(found.columns())
    rows = [] if to else [dict(zip(names, row, strict=True)) for row in _rows(found)]
    return {"rows": len(found.ids), "file": to, "predictions": rows, "notes": list(found.notes)}


def _show(found: "RowPredictions") -> None:
    cells = [[row[0], *(f"{one:.6g}" for one in row[1:])] for row in _rows(found)]
    show_table(list(found.columns()), cells)
