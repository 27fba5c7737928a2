"""Limits on files that are read and on jobs of the server; each can be set in the environment.

A limit holds for commands, for Python and for the jobs of `weal serve`. A file beyond a limit is
refused while it is read, and the error names the limit and its variable. A table of a million rows
and twenty columns is within the defaults.

    WEAL_MAX_ROWS             lines of a text file (those inside quoted cells too), rows of a sheet
    WEAL_MAX_COLUMNS          cells of a row
    WEAL_MAX_CELLS            rows times columns of a text or Parquet file, with empty cells
    WEAL_MAX_SHEET_CELLS      the same of an Excel sheet, which is ten times slower to read
    WEAL_MAX_CELL_LENGTH      characters of one cell
    WEAL_MAX_BYTES            size of a text file
    WEAL_MAX_WORKBOOK_BYTES   size of a workbook once it is decompressed
    WEAL_MAX_RESULT_BYTES     size of a results file, which is read into memory whole
    WEAL_MAX_JOB_SECONDS      time of a job of `weal serve`

Candidates in Parquet files (`weal.open_pool`) stay on disk and have no limit of rows or cells.
"""

import os
from dataclasses import dataclass, fields

from weal.errors import TooLarge

BYTES_PER_COLUMN = 128  # of a row of text, on average over as many columns as are allowed


@dataclass(frozen=True, slots=True)
class Limits:
    """The current limits."""

    rows: int = 2_000_000  # twice the size that tables in memory are designed for
    columns: int = 16_384  # of a spreadsheet (A to XFD)
    cells: int = 50_000_000  # 2.4 GB: 10^6 rows of 20 columns take 0.95 (benchmarks/reading.py)
    sheet_cells: int = 4_000_000  # 100,000 rows of 40 columns: half a minute with openpyxl
    cell_length: int = 131_072  # that of Python's csv module; a spreadsheet has 32,767
    bytes: int = 1 << 30  # 2,000,000 rows of 20 columns of 25 characters
    workbook_bytes: int = 512 << 20  # 4,000,000 cells of 128 bytes of XML
    result_bytes: int = 64 << 20  # about 10^6 labels
    job_seconds: int = 600  # an ask with 10^4 labels and 10^6 candidates has taken 140

    @property
    def row_length(self) -> int:
        """Characters of one row of text; a longer row has too many columns or too long a cell."""
        return BYTES_PER_COLUMN * max(self.columns, self.cell_length // 16)


def read_limits() -> Limits:
    """The limits from the environment, with defaults.

    >>> read_limits().columns
    16384
    """
    given = {one.name: os.environ.get(variable(one.name), "") for one in fields(Limits)}
    return Limits(**{name: _whole(name, text) for name, text in given.items() if text.strip()})


def variable(name: str) -> str:
    """The environment variable that sets a limit.

    >>> variable("rows")
    'WEAL_MAX_ROWS'
    """
    return "_".join(("WEAL", "MAX", name.upper()))


def too_large(where: str, found: str, name: str, advice: str) -> TooLarge:
    """The error for a file beyond a limit: the size found, advice, and how to raise the limit.

    >>> print(too_large("a.csv", "more than 10 rows", "rows", "split it"))
    a.csv has more than 10 rows; split it, or raise the limit: set WEAL_MAX_ROWS
    """
    error = TooLarge(f"{where} has {found}; {advice}, or raise the limit: set {variable(name)}")
    error.limit = name
    return error


def _whole(name: str, text: str) -> int:
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < 1:
        raise ValueError(f"{variable(name)} is {text!r}; write a whole number, such as 2000000")
    return found
