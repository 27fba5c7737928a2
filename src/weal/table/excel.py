"""The first sheet of an Excel workbook, as plain columns.

Values as they were last computed, not formulas. The first row names the columns; empty rows, and
columns without a name that are empty all the way down, are passed over. Needs openpyxl.
"""

from itertools import zip_longest
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from weal.table.cells import cell_text
from weal.table.delimited import check_names
from weal.table.frames import plain_cells


def sheet_columns(path: Path) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """Columns of the first sheet by name, and a note when there are more sheets."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{path} is Excel, which needs openpyxl: pip install "weal[excel]", or save it as CSV'
        ) from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Excel: {error}") from error
    try:
        sheets = book.worksheets
        rows = [row for row in sheets[0].iter_rows(values_only=True) if any(map(_filled, row))]
        more = f"read the first sheet of {path.name}, {sheets[0].title!r}, of {len(sheets)}"
    finally:
        book.close()
    return _columns(rows, path), ((more,) if len(sheets) > 1 else ())


def _columns(rows: list[tuple[Any, ...]], path: Path) -> dict[str, list[Any]]:
    if not rows:
        raise ValueError(f"{path} is empty; its first row must name the columns")
    columns = [column for column in zip_longest(*rows) if any(map(_filled, column))]
    names = ["" if column[0] is None else cell_text(column[0]) for column in columns]
    cells = (plain_cells(column[1:]) for column in columns)
    return dict(zip(check_names(names, str(path)), cells, strict=True))


def _filled(value: Any) -> bool:
    return value is not None and value != ""
