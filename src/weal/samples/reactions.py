"""A simulated laboratory: the yield of an invented reaction, in per cent, by its recipe.

    rate       grows with temperature (Arrhenius) and with the catalyst, until that saturates
    product    what has reacted by then and not yet fallen apart, which is faster when hot
    pressure   of hydrogen, speeds it up a little
    noise      of NOISE (sd), always the same for the same run

The numbers are made up. Candidates are spread evenly over what the equipment allows. Of the
standard library alone.
"""

import csv
import hashlib
import math
import random
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

REACTIONS_TABLE = Path(__file__).with_name("reactions.csv")
YIELD_NOISE_SD = 0.5
GAS = 8.314e-3  # kJ / (mol K)


def measure(ids: str | Iterable[str]) -> float | list[float]:
    """The yield of a run, or of several; ValueError for an id that is not in the table.

    >>> measure("R-001") == measure(["R-001"])[0]
    True
    """
    if isinstance(ids, str):
        return measure_row(ids, _row(ids))
    return [measure_row(name, _row(name)) for name in ids]


def truth(name: str) -> float:
    """The yield without the noise of the laboratory."""
    return true_yield(_row(name))


def measure_row(name: str, row: Mapping[str, str]) -> float:
    """The measured yield of a run with this row of the table."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return round(true_yield(row) + YIELD_NOISE_SD * random.Random(seed).gauss(0.0, 1.0), 2)


def true_yield(row: Mapping[str, str]) -> float:
    """The yield by the recipe."""
    kelvin = float(row["temp"]) + 273.15
    hours, catalyst, pressure = float(row["hours"]), float(row["catalyst"]), float(row["pressure"])
    warm = 1.0 / (GAS * 353.15) - 1.0 / (GAS * kelvin)
    forms = 0.25 * math.exp(55.0 * warm) * math.pow(pressure, 0.3) * catalyst / (catalyst + 2.0)
    falls_apart = 0.01 * math.exp(110.0 * warm)
    if abs(forms - falls_apart) < 1e-9:
        return 100.0 * forms * hours * math.exp(-forms * hours)
    gone = math.exp(-falls_apart * hours) - math.exp(-forms * hours)
    return 100.0 * forms / (forms - falls_apart) * gone


@cache
def _rows() -> dict[str, dict[str, str]]:
    with REACTIONS_TABLE.open(encoding="utf-8", newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file)}


def _row(name: str) -> dict[str, str]:
    if name not in _rows():
        some = ", ".join(list(_rows())[:5])
        raise ValueError(f"the laboratory has no run {name!r}; its runs are like {some}")
    return _rows()[name]
