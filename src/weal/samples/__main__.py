"""`python -m weal.samples`: copy a sample table, or fill in a worksheet by simulation.

python -m weal.samples copy reactions.csv     into the folder where you are
python -m weal.samples fill batch.csv         the worksheet of `weal ask --to batch.csv`
"""

import csv
import io
import sys
from pathlib import Path

from weal.files import write_atomically
from weal.samples import alloys, path, reactions

LABORATORIES = {"sample": ("hardness", alloys.measure), "run": ("yield", reactions.measure)}
USAGE = "write: python -m weal.samples copy TABLE.csv, or python -m weal.samples fill WORKSHEET.csv"


def copy(name: str) -> str:
    """Copy a sample table into this folder; an existing file is not overwritten."""
    try:
        write_atomically(Path(name), path(name).read_bytes(), replace=False)
    except FileExistsError:
        raise ValueError(f"there is a file {name} already; it was left as it is") from None
    return f"{name} copied from the samples of weal"


def fill(name: str) -> str:
    """Fill in the empty target cells of a worksheet with simulated measurements."""
    with Path(name).open(encoding="utf-8-sig", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if any(row)] or [[""]]
    target, measure = LABORATORIES.get(header[0], ("", None))
    lengths = {len(row) for row in (header, *rows)}
    if measure is None or header[-1] != "note" or target not in header or len(lengths) > 1:
        raise ValueError(f"{name} is not a worksheet of a sample, as `weal ask --to` writes them")
    at = header.index(target)
    empty = [row for row in rows if not row[at].strip()]
    for row in empty:
        row[at] = str(measure(row[0]))
    filled = io.StringIO(newline="")
    csv.writer(filled, lineterminator="\n").writerows([header, *rows])
    write_atomically(Path(name).resolve(), filled.getvalue().encode())
    return f"{name}: {target} of {len(empty)} rows measured and filled in"


def main(words: list[str]) -> int:
    """Run the command, print the result, and return the exit code."""
    try:
        what, name = words
        print({"copy": copy, "fill": fill}[what](name))
    except (KeyError, OSError, ValueError) as error:
        said = error if len(words) == 2 and words[0] in ("copy", "fill") else USAGE
        print(f"weal.samples: {said}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
