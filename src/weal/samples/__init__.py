"""Small tables that ship with the package, for demos and the first steps.

alloys.csv    300 alloys with mixed columns, 12 of them measured; `alloys.measure` is the
              laboratory that measures the others
"""

from pathlib import Path

from weal.samples import alloys

__all__ = ["alloys", "path"]

_HERE = Path(__file__).parent


def path(name: str) -> Path:
    """Where a sample table lies.

    >>> path("alloys.csv").read_text("utf-8").partition(",")[0]
    'sample'
    """
    found = _HERE / name
    there = sorted(file.name for file in _HERE.glob("*.csv"))
    if name not in there:
        raise ValueError(f"there is no sample {name!r}; there is {', '.join(there)}")
    return found
