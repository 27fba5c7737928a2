"""The first sheet of an Excel workbook, as plain columns.

Values as they were last computed, not formulas. The first row names the columns; empty rows, and
columns without a name that are empty all the way down, are passed over. Needs openpyxl.
"""

from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from weal.table.cells import cell_text
from weal.table.delimited import check_names
from weal.table.frames import plain_cells
from weal.table.guarding import unspelt

LARGEST_WORKBOOK = 2 << 30  # bytes of a workbook, unpacked
# What openpyxl, zipfile and the reader of XML can end with, such as on entities that grow.
_FAILS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, SyntaxError, TypeError, ValueError, BadZipFile, ZlibError),
)


def sheet_columns(path: Path) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """Columns of the first sheet by name, and a note when there are more sheets."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{path} is Excel, which needs openpyxl: pip install "weal[excel]", or save it as CSV'
        ) from error
    _refuse_bomb(path)
    try:
        with path.open("rb") as file, closing(load_workbook(file, True, data_only=True)) as book:
            sheets = book.worksheets
            rows = [row for row in sheets[0].iter_rows(values_only=True) if any(map(_filled, row))]
            more = f"read the first sheet of {path.name}, {sheets[0].title!r}, of {len(sheets)}"
    except (InvalidFileException, *_FAILS) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} cannot be read as Excel: {reason}") from error
    return _columns(rows, path), ((more,) if len(sheets) > 1 else ())


def _columns(rows: list[tuple[Any, ...]], path: Path) -> dict[str, list[Any]]:
    if not rows:
        raise ValueError(f"{path} is empty; its first row must name the columns")
    columns = [column for column in zip_longest(*rows) if any(map(_filled, column))]
    names = ["" if column[0] is None else cell_text(column[0]) for column in columns]
    cells = (list(map(_unspelt, plain_cells(column[1:]))) for column in columns)
    return dict(zip(check_names(names, str(path)), cells, strict=True))


def _unspelt(cell: Any) -> Any:
    """Control characters that `weal export` has spelt, as they were."""
    return unspelt(cell) if isinstance(cell, str) else cell


def _refuse_bomb(path: Path) -> None:
    """Refuse a small file that unpacks into a huge one."""
    try:
        with ZipFile(path) as bundle:
            size = sum(info.file_size for info in bundle.infolist())
    except (BadZipFile, OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Excel: {error}") from error
    if size > LARGEST_WORKBOOK:
        raise ValueError(f"{path} unpacks into {size:,} bytes: save it as CSV or Parquet")


def _filled(value: Any) -> bool:
    return value is not None and value != ""
