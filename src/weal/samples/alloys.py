"""A simulated laboratory: the hardness of an invented alloy, smooth in its recipe, with some noise.

    hardness = base + carbon that hardens until it saturates
                    + a best tempering temperature, which falls with the carbon content
                    + chromium and molybdenum, the more so together
                    + quenching medium
                    + noise of NOISE (sd), always the same for the same sample

The numbers are made up; no steel behaves exactly so. A missing cell of the table was there in the
laboratory: it counts as the column's typical value. Of the standard library alone.
"""

import csv
import hashlib
import math
import random
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ALLOYS_TABLE = Path(__file__).with_name("alloys.csv")
TYPICAL = {"carbon": 0.4, "manganese": 0.9, "chromium": 1.2, "molybdenum": 0.25, "nickel": 1.0}
TYPICAL |= {"temper_temp": 420.0, "temper_hours": 2.0}
QUENCH = {"air": -25.0, "oil": 0.0, "polymer": 9.0, "water": 20.0}
HARDNESS_NOISE_SD = 3.0


def measure(ids: str | Iterable[str]) -> float | list[float]:
    """The hardness of a sample, or of several; ValueError for an id that is not in the table.

    >>> measure("A-0417") == measure(["A-0417"])[0]
    True
    """
    if isinstance(ids, str):
        return _measure_one(ids)
    return [_measure_one(name) for name in ids]


def truth(sample: str) -> float:
    """The hardness of a sample without the noise of the laboratory."""
    return _true(_rows()[sample])


def hardness(sample: str, row: Mapping[str, str]) -> float:
    """The measured hardness of a sample with this row of the table."""
    return round(_true(row) + HARDNESS_NOISE_SD * _noise(sample), 1)


def _measure_one(name: str) -> float:
    rows = _rows()
    if name not in rows:
        some = ", ".join(list(rows)[:5])
        raise ValueError(f"the laboratory has no sample {name!r}; its samples are like {some}")
    return hardness(name, rows[name])


@cache
def _rows() -> dict[str, dict[str, str]]:
    with ALLOYS_TABLE.open(encoding="utf-8", newline="") as file:
        return {row["sample"]: row for row in csv.DictReader(file)}


def _true(row: Mapping[str, str]) -> float:
    x = {name: float(row[name]) if row[name] else usual for name, usual in TYPICAL.items()}
    best = 480.0 - 250.0 * x["carbon"]
    carbon = 150.0 * math.tanh(2.5 * x["carbon"])
    temper = 45.0 * math.exp(-(((x["temper_temp"] - best) / 110.0) ** 2))
    carbides = 14.0 * x["chromium"] * (1.0 + 1.5 * x["molybdenum"])
    rest = 8.0 * x["manganese"] + 3.0 * x["nickel"] - 6.0 * math.log(x["temper_hours"])
    return 120.0 + carbon + temper + carbides + rest + QUENCH[row["quench"]]


def _noise(sample: str) -> float:
    """A draw of the standard normal distribution, keyed by the id."""
    key = hashlib.sha256(sample.encode()).digest()
    return random.Random(int.from_bytes(key[:8], "big")).normalvariate(0.0, 1.0)
