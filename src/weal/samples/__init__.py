"""Small tables that ship with the package, for demos and the first steps.

alloys.csv    300 alloys with mixed columns, 12 of them measured; `alloys.measure` is the
              laboratory that measures the others
reactions.csv 400 recipes of a reaction, four numbers each, 10 of them run; `reactions.measure`

`python -m weal.samples` copies a table, and fills a worksheet in, from a shell.
"""

from pathlib import Path

from weal.samples import alloys, reactions

__all__ = ["alloys", "path", "reactions"]

_HERE = Path(__file__).parent


def path(name: str) -> Path:
    """The path of a sample table.

    >>> path("alloys.csv").read_text("utf-8").partition(",")[0]
    'sample'
    """
    found = _HERE / name
    there = sorted(file.name for file in _HERE.glob("*.csv"))
    if name not in there:
        raise ValueError(f"there is no sample {name!r}; there is {', '.join(there)}")
    return found
