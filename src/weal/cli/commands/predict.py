"""`weal predict`: predictions for rows that are not candidates.

Slow packages are imported where they are used.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weal.cli import options as line
from weal.cli.options import command, open_for_command, plural, with_parameters
from weal.cli.screen import say, show_activity, show_json, show_table

if TYPE_CHECKING:
    from weal.campaign.predict import RowPredictions

MAX_ROWS_SHOWN = 10_000  # without --to


@command(
    "Predict rows that are not candidates.",
    "weal predict alloys new.csv",
    "weal predict alloys new.csv --to predicted.xlsx",
)
@with_parameters(
    line.name,
    click.argument("file", type=click.Path(path_type=Path)),
    click.option(
        "--to",
        metavar="FILE",
        help="Output file: .csv, .tsv, .parquet, .xlsx or .json; - is CSV on stdout "
        "[default: a table on stdout].",
    ),
    click.option("--force", is_flag=True, help="Replace an existing file."),
    click.option(
        *("--id", "id_column"),
        metavar="COLUMN",
        help="Column of the ids [default: the campaign's; rows without ids are numbered].",
    ),
    click.option(
        "--level",
        type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
        default=0.9,
        show_default=True,
        help="Probability that a label lies between low and high.",
    ),
    click.option("--quantity", metavar="NAME", help="Predict only this quantity [default: all]."),
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
    id_column: str | None,
    level: float,
    quantity: str | None,
    sheet: str | None,
    header: int | None,
) -> None:
    """Predict mean, standard deviation and interval for each row of FILE, or class probabilities.

    FILE has the input columns of the campaign. Nothing is saved in the campaign.
    """
    if as_json and to == "-":
        raise ValueError("--to - and --json both write to stdout: leave out one of them")
    with open_for_command(name, store) as campaign, show_activity(f"predicting the rows of {file}"):
        from weal.campaign.predict import predict as predict_rows
        from weal.tables.table_writer import check_place

        place = None if to is None else check_place(to, force)  # before the work
        shown = MAX_ROWS_SHOWN if to is None and not as_json else None
        found = predict_rows(campaign, file, id_column, level, sheet, header, shown, quantity)
        for note in found.notes:
            say(note)
        if place is not None:
            _write(found, place, force)
    if as_json:
        from weal.campaign.answers import predictions_answer

        show_json(predictions_answer(found, to))
    elif to is None:
        _show(found)
    else:
        say(f"{plural(len(found.ids), 'row')} predicted" + ("" if to == "-" else f", in {to}"))


def _write(found: "RowPredictions", place: Path, force: bool) -> None:
    from weal.tables.table_writer import write

    write(found.columns(), place, force)


def _rows(found: "RowPredictions") -> list[tuple[object, ...]]:
    numbers = (one.tolist() for one in found.predicted.values())
    return list(zip(found.ids, *numbers, strict=True))


def _show(found: "RowPredictions") -> None:
    cells = [[str(row[0]), *(f"{one:.6g}" for one in row[1:])] for row in _rows(found)]
    show_table(list(found.columns()), cells)
