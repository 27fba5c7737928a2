"""Units in cells and headers: spellings, and unambiguous conversions.

    spelling       mL, ml        min, mins     h, hr, hrs, hours     °C, C, degC, deg C     µL, uL
    conversion     y = (x + offset) * factor, in the base unit of the dimension: L, g, s, m, mol,
                   Pa, K, W, V, A, J, M, rpm
    header         T [°C]      T (°C)      T / °C      T in °C

Two units convert into each other if both are in the table below and have one dimension. Any other
text after a number is a separate unit. The percent sign is not converted. This module needs
the standard library only.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

MICRO = "\N{MICRO SIGN}"
_MU = "\N{GREEK SMALL LETTER MU}"
_PREFIXES = {"k": 1e3, "": 1.0, "m": 1e-3, MICRO: 1e-6, "n": 1e-9, "p": 1e-12}
_PREFIXED = {
    "L": ("volume", "m", MICRO, "n", ""),
    "g": ("mass", "k", "", "m", MICRO, "n"),
    "m": ("length", "k", "", "m", MICRO, "n"),
    "mol": ("amount", "k", "", "m", MICRO, "n"),
    "Pa": ("pressure", "k", "", "m"),
    "W": ("power", "k", "", "m"),
    "V": ("voltage", "k", "", "m", MICRO),
    "A": ("current", "", "m", MICRO, "n"),
    "J": ("energy", "k", "", "m"),
    "M": ("concentration", "", "m", MICRO, "n", "p"),
}
_SPELLINGS = {  # of units, by canonical name
    "°C": ("C", "degC", "deg C", "° C", "℃", "Celsius", "grad C"),
    "K": ("kelvin", "Kelvin"),
    "%": ("percent", "pct", "Prozent"),
    "min": ("mins", "Min", "minute", "minutes", "Minuten"),
    "h": ("hr", "hrs", "Std", "hour", "hours", "Stunden"),
    "s": ("sec", "secs", "second", "seconds", "Sek"),
    "d": ("day", "days", "Tage"),
}
_IN_HEADER = re.compile(
    r"[\[(]\s*([^\[\]()]{1,20}?)\s*[\])]\s*$|\s/\s*(\S{1,20})$|\sin\s(\S{1,20})$"
)


class _Scale(NamedTuple):
    dimension: str
    factor: float
    offset: float = 0.0


def _scales() -> Iterator[tuple[str, _Scale]]:
    for unit, (dimension, *prefixes) in _PREFIXED.items():
        for prefix in prefixes:
            yield prefix + unit, _Scale(dimension, _PREFIXES[prefix])
    yield "cm", _Scale("length", 1e-2)
    yield "dL", _Scale("volume", 1e-1)
    yield "t", _Scale("mass", 1e6)
    yield "MPa", _Scale("pressure", 1e6)
    yield "GPa", _Scale("pressure", 1e9)
    yield "bar", _Scale("pressure", 1e5)
    yield "mbar", _Scale("pressure", 1e2)
    yield "K", _Scale("temperature", 1.0)
    yield "°C", _Scale("temperature", 1.0, 273.15)
    yield from ((one, _Scale("time", by)) for one, by in _TIMES.items())
    yield "rpm", _Scale("rotation", 1.0)
    yield "%", _Scale("share", 1.0)


_TIMES = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SCALES = dict(_scales())
_CANONICAL = {other: unit for unit, some in _SPELLINGS.items() for other in some}
_CANONICAL |= {unit[:-1] + "l": unit for unit in _SCALES if unit.endswith("L")}
_CANONICAL |= {
    mu + unit[1:]: unit for unit in _SCALES if unit.startswith(MICRO) for mu in ("u", _MU)
}
_CANONICAL |= {mu + "l": MICRO + "L" for mu in ("u", _MU)}


def canonical_unit(text: str) -> str:
    """One spelling for each unit; unknown units stay as they are.

    >>> canonical_unit("ml"), canonical_unit("degC"), canonical_unit(" hrs. "), canonical_unit("HV")
    ('mL', '°C', 'h', 'HV')
    """
    plain = " ".join(text.split()).rstrip(".")
    return _CANONICAL.get(plain, plain)


def is_known_unit(unit: str) -> bool:
    """Whether a canonical unit is in the table of units."""
    return unit in _SCALES


def are_convertible(unit: str, other: str) -> bool:
    """Whether values of one unit can be written in the other."""
    if unit == other:
        return True
    known = unit in _SCALES and other in _SCALES
    return known and _SCALES[unit].dimension == _SCALES[other].dimension


def convert(value: float, unit: str, to: str) -> float:
    """The value in another unit, rounded to 12 digits, so that 0.3 L is 300 mL.

    >>> convert(0.3, "L", "mL"), convert(80.0, "°C", "K"), convert(90.0, "min", "h")
    (300.0, 353.15, 1.5)
    """
    if unit == to:
        return value
    a, b = _SCALES[unit], _SCALES[to]
    return float(f"{(value + a.offset) * (a.factor / b.factor) - b.offset:.12g}")


def header_unit(name: str) -> str:
    """The unit that a column name ends with; empty if it has none.

    >>> header_unit("T [°C]"), header_unit("time / min"), header_unit("flow (total)")
    ('°C', 'min', '')
    """
    found = _IN_HEADER.search(name)
    unit = canonical_unit(next(filter(None, found.groups()), "")) if found else ""
    return unit if is_known_unit(unit) else ""
