"""The options with which a table is read: the same in the shell, in Python and on the page.

    id, target            columns of the ids and of the labels; there may be several targets
    type                  COLUMN=TYPE          number, flag, date, category, drop, ...
    also-input            COLUMN               an input although it looks like a result
    same                  COLUMN:A=B           the category A is a spelling of B
    unit                  COLUMN=UNIT          the unit of a column of numbers
    decimal               comma, point, COLUMN=comma
    missing               COLUMN=TEXT          a further text for a missing value
    range                 COLUMN=0..100        least and greatest label of the target; .. for none
    sheet, header         the sheet of a workbook, the line of the column names

This module needs the standard library only.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weal.tables.number_columns import NumberForm
from weal.tables.units import canonical_unit, header_unit

Missing = Mapping[str, Collection[str]]  # texts that mean missing, by column
Same = Mapping[str, Mapping[str, str]]  # the level of each other spelling, by column
Range = tuple[float | None, float | None]  # None if no bound
_RANGE = re.compile(r"\s*([-+.\deE]*?)\s*\.\.\s*([-+.\deE]*)\s*")
_MARKS = {"comma": ",", "point": ".", ",": ",", ".": "."}
_EXAMPLES = {
    "type": "COLUMN=TYPE, such as steel=category",
    "same": "COLUMN:SPELLING=LEVEL, such as solvent:Toluol=toluol",
    "unit": "COLUMN=UNIT, such as 'volume=mL'",
    "missing": "COLUMN=TEXT, such as 'Druck=<0,5'",
    "decimal": "comma or point, or COLUMN=comma",
    "range": "COLUMN=LOW..HIGH, such as 'yield=0..100'",
}


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a table is read."""

    id_column: str | None = None
    target: str | None = None
    features: Sequence[str] | None = None  # None: all columns that can be inputs
    types: Mapping[str, str] = field(default_factory=dict)
    also_inputs: tuple[str, ...] = ()
    same: Same = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    decimal: Mapping[str, str] = field(default_factory=dict)  # by column; "" for all
    missing: Missing = field(default_factory=dict)
    sheet: str | None = None
    header: int | None = None
    ranges: Mapping[str, Range] = field(default_factory=dict)  # of the targets
    more_targets: tuple[str, ...] = ()  # columns that are measured beside the target

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that are measured."""
        return (*([] if self.target is None else [self.target]), *self.more_targets)

    def is_words(self, name: str) -> bool:
        """Whether a target is declared to hold words, such as `pass:ja,nein`."""
        return name in self.targets and self.types.get(name, "number") != "number"

    @property
    def named(self) -> list[str]:
        """The columns that the options name, without the target: the header has all of them."""
        own = [*filter(None, [self.id_column]), *(self.features or ())]
        others = (self.types, self.also_inputs, self.same, self.units, self.missing)
        named = dict.fromkeys([*own, *(name for some in others for name in some)])
        return [name for name in named if name not in self.targets]

    def number_form(self, name: str, unit_row: Mapping[str, str]) -> NumberForm | None:
        """How the numbers of a column are written; None for a column of another type."""
        kind = self.types.get(name)
        if kind not in (None, "number"):
            return None
        own = canonical_unit(self.units.get(name, ""))
        declared = bool(own) and unit_row.get(name, own) == own
        unit = own if declared else unit_row.get(name) or header_unit(name)
        mark = self.decimal.get(name, self.decimal.get("", ""))
        return NumberForm(canonical_unit(unit), declared, mark, kind == "number")

    def with_words(self, words: Iterable[tuple[str, str]]) -> "TableOptions":
        """The options, updated with pairs of name and value from the shell or the page.

        >>> TableOptions().with_words([("type", "T=number"), ("same", "a:X=x")]).same
        {'a': {'X': 'x'}}
        """
        found = self
        for option, value in words:
            if option not in _READERS:
                raise ValueError(
                    f"there is no option --{option} for a table; `weal new --help` lists all"
                )
            found = _READERS[option](found, value)
        return found


def _with_type(how: TableOptions, value: str) -> TableOptions:
    column, kind = _split("type", value)
    return replace(how, types={**how.types, column: kind})


def _with_unit(how: TableOptions, value: str) -> TableOptions:
    column, unit = _split("unit", value)
    return replace(how, units={**how.units, column: unit})


def _with_missing(how: TableOptions, value: str) -> TableOptions:
    column, _, text = value.partition("=")
    _expect(bool(column and text), "missing", value)
    texts = (*how.missing.get(column, ()), text.strip())
    return replace(how, missing={**how.missing, column: texts})


def _with_decimal(how: TableOptions, value: str) -> TableOptions:
    column, _, mark = value.rpartition("=")
    return replace(how, decimal={**how.decimal, column: read_mark(mark, value)})


def _with_range(how: TableOptions, value: str) -> TableOptions:
    column, _, text = value.rpartition("=")
    found = _RANGE.fullmatch(text)
    _expect(bool(column and found), "range", value)
    try:
        low, high = (float(one) if one else None for one in (found.groups() if found else ()))
    except ValueError:
        _expect(False, "range", value)
        raise
    return replace(how, ranges={**how.ranges, column: (low, high)})


def _with_same(how: TableOptions, value: str) -> TableOptions:
    column, _, pair = value.partition(":")
    spelling, _, level = pair.rpartition("=")
    _expect(bool(column and spelling.strip() and level.strip()), "same", value)
    levels = {**how.same.get(column, {}), spelling.strip(): level.strip()}
    return replace(how, same={**how.same, column: levels})


_READERS: dict[str, Callable[[TableOptions, str], TableOptions]] = {
    "sheet": lambda how, value: replace(how, sheet=value),
    "header": lambda how, value: replace(how, header=int(value)),
    "id": lambda how, value: replace(how, id_column=value),
    "target": lambda how, value: replace(how, target=value),
    "also-input": lambda how, value: replace(how, also_inputs=(*how.also_inputs, value)),
    "type": _with_type,
    "unit": _with_unit,
    "missing": _with_missing,
    "decimal": _with_decimal,
    "same": _with_same,
    "range": _with_range,
}


def check_features(features: str | Sequence[str]) -> tuple[str, ...] | None:
    """The input columns; None for "auto"."""
    if not isinstance(features, str):
        return tuple(features)
    if features != "auto":
        raise ValueError(f"features is {features!r}; write 'auto' or a list of column names")
    return None


def read_mark(mark: str, given: str) -> str:
    """A decimal mark by its name."""
    _expect(mark in _MARKS, "decimal", given)
    return _MARKS[mark]


def decimal_marks(given: str | Mapping[str, str] | None) -> dict[str, str]:
    """The decimal marks that Python names: one for all columns, or by column.

    >>> decimal_marks("comma"), decimal_marks({"p": "point"})
    ({'': ','}, {'p': '.'})
    """
    marks = {} if given is None else {"": given} if isinstance(given, str) else dict(given)
    return {column: read_mark(mark, str(given)) for column, mark in marks.items()}


def _split(option: str, value: str) -> tuple[str, str]:
    """COLUMN=VALUE; the name of a column may contain =."""
    column, equals, rest = value.rpartition("=")
    _expect(bool(equals and column), option, value)
    return column, rest


def _expect(is_valid: bool, option: str, value: str) -> None:
    if not is_valid:
        raise ValueError(f"--{option} is {value!r}; write it as {_EXAMPLES[option]}")
