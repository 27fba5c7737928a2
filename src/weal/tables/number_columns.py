"""Columns of text as numbers: units, decimal commas, thousands separators, cells that are in doubt.

    80 °C   80C   59.4%    numbers, if the unit is one throughout or the header's; plain numbers
                           among them have the same unit. Other units of one dimension (mL and L)
                           are converted to the header's, else to the most frequent
    12,5    1.234,5        decimal commas, in files of every kind
    1 234   1'234   1,234,567    thousands separators
    1,234                  1.234 or 1234: the other cells of the column decide, else it is refused
    12.3*   (7)   ~12      odd: `forced`, the number in them counts; else they are missing
    <0.1    >95   3 - 4    odd, and always missing

A column in which most cells are numbers and at most `MAX_ODD_SHARE` are odd is numeric. Each
spelling is parsed once. This module needs the standard library only.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weal.tables.cells import MINUS, Numbers, is_rounded, read_numbers, short, some_of
from weal.tables.table_error import Remedy, TableError
from weal.tables.units import are_convertible, canonical_unit, convert, is_known_unit

MAX_ODD_SHARE = 0.3  # of the cells of a numeric column that are not quite numbers
MIN_NUMBERS = 3  # cells of such a column that are numbers
MIN_ASKED_SHARE = 2 / 3  # of numbers in a column that is not dropped silently
MAX_CELLS_NAMED = 20
_GAP = r"[ '\u2019\u00a0\u202f]"  # between thousands, beside the comma and the point
_MANTISSA = (
    rf"[0-9]{{1,3}}(?:{_GAP}[0-9]{{3}})+(?:[.,][0-9]*)?",
    r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?",
    r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?",
    r"[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+",
)
_NUMBER = rf"[+-]?(?:{'|'.join(_MANTISSA)})(?:[eE][+-]?[0-9]+)?"
_UNIT = r"[^\W\d_][^\s\d<>=~*?!†‡()]{0,14}|[%‰°µΩ℃][^\s\d<>=~*?!†‡()]{0,14}|deg C|° C"
_CELL = re.compile(
    rf"(?P<mark>[<>≤≥=~≈±]+|ca\.?|circa|about|approx\.?|etwa|max\.?|min\.?|\()?\s*"
    rf"(?P<number>{_NUMBER})(?P<gap>\s*)(?P<unit>{_UNIT})?\s*(?P<flag>[*?!†‡)]*)",
    re.IGNORECASE,
)
_SPAN = re.compile(
    rf"\(?\s*{_NUMBER}\s*(?:[-/±\N{{EN DASH}}\N{{EM DASH}}]|\+-|\+/-|to|bis)\s*{_NUMBER}\s*"
    rf"(?:{_UNIT})?\s*\)?",
    re.IGNORECASE,
)
_BOUND = re.compile(r"[<>≤≥]=?|max\.?|min\.?", re.IGNORECASE)
_GROUPS = re.compile(_GAP)
_THREE = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")  # 1,234 or 1.234
_MANY = re.compile(r"[+-]?[0-9]{1,3}([.,])[0-9]{3}(?:\1[0-9]{3})+")  # 1,234,567
_BOTH = re.compile(r"[+-]?[0-9]{1,3}(?:([.,])[0-9]{3})+(?!\1)[.,][0-9]*")  # 1,234.5


@dataclass(frozen=True, slots=True)
class NumberForm:
    """The known part of how the numbers of a column are written."""

    unit: str = ""  # declared, or that of the header
    is_declared: bool = False  # whether the user declared the unit
    decimal: str = ""  # "," or "."; empty: detected
    forced: bool = False  # the user declared that these are numbers


class OddCell(NamedTuple):
    """A cell that is not quite a number."""

    row: int
    text: str
    kind: str  # bound, range, marked, text or unit


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """The numbers of a column; odd cells are missing unless the column was forced."""

    numbers: Numbers
    unit: str = ""
    odd: tuple[OddCell, ...] = ()
    notes: tuple[str, ...] = ()  # on conversions and separators, without the name of the column
    decimal: str = ""  # "," or "." where a cell shows which it is


class _Parsed(NamedTuple):
    number: str
    unit: str
    glued: bool  # a letter follows the digits without a blank, as in 316L
    odd: str  # kind of an odd cell; empty for a number


def read_number_column(
    name: str, cells: Sequence[str | None], form: NumberForm = NumberForm()
) -> NumberColumn | None:
    """The numbers of a column of text; None for a column of words.

    TableError where a cell can be read in two ways, with the options that decide.

    >>> read_number_column("T", ["80 °C", "85", None, "1,5C"]).numbers
    [80.0, 85.0, None, 1.5]
    >>> read_number_column("V", ["5 mL", "0.1 L", "20 mL"]).numbers
    [5.0, 100.0, 20.0]
    >>> read_number_column("p", ["1,234", "2,500"])
    Traceback (most recent call last):
    weal.tables.table_error.TableError: p: '1,234' is 1.234 or 1234; decimal={'p': 'comma'} ...
    """
    if not form.unit and (plain := read_numbers(cells)) is not None:
        return NumberColumn(plain)
    counts = Counter(cell for cell in cells if cell is not None)
    parsed = {text: _parse(text) for text in counts}
    known = counts.total()
    parsed = _without_names(parsed, counts, form)
    fine = {text for text, one in parsed.items() if one is not None and not one.odd}
    good = sum(counts[text] for text in fine)
    odd = known - good
    words = any(one is None for one in parsed.values())
    is_numeric = not odd or (not words and odd <= MAX_ODD_SHARE * known and good >= MIN_NUMBERS)
    if not good or not (is_numeric or form.forced):
        return None
    return _numbers(name, cells, {t: one for t, one in parsed.items() if one}, fine, form)


def read_label_cells(name: str, cells: Sequence[str], form: NumberForm) -> dict[str, float]:
    """The numbers of a column of labels, by spelling; cells in doubt are left out.

    A single letter behind the last digit is a typo (2.O, 3l), unless the header or another cell
    shows that it is the unit.

    >>> read_label_cells("yield", ["59.4%", "60", "61,5 %", "~12"], NumberForm())
    {'59.4%': 59.4, '60': 60.0, '61,5 %': 61.5}
    >>> read_label_cells("yield", ["1.0", "2.O", "2OO", "3l"], NumberForm())
    {'1.0': 1.0}
    """
    parsed = {text: one for text in cells if (one := _parse(text)) is not None and not one.odd}
    sure = {form.unit, *(one.unit for one in parsed.values() if not one.glued)}
    parsed = {t: one for t, one in parsed.items() if one.unit in sure or not _is_letter(one)}
    try:
        read = _numbers(name, list(parsed), parsed, set(parsed), form)
    except TableError as error:
        if any(one.option == "unit" for one in error.remedies):  # numbers without unit are unclear
            raise ValueError(
                f"{error.problem}; write all with their unit, or all without"
            ) from None
        return {}
    values = zip(parsed, read.numbers, strict=True)
    found = {text: float(y) for text, y in values if y is not None and math.isfinite(y)}
    return {text: y for text, y in found.items() if not is_rounded(text, y)}


def _is_letter(one: _Parsed) -> bool:
    """Whether the unit is a letter without a gap before it, or letters that look like digits."""
    is_short = len(one.unit) == 1 and one.unit.isalpha()
    return one.glued and bool(one.unit) and (is_short or set(one.unit) <= set("OoIlL"))


def find_doubtful(cells: Sequence[str | None]) -> list[OddCell]:
    """The cells of a column of text that are not numbers, if two thirds of the others are."""
    counts = Counter(cell for cell in cells if cell is not None)
    bad = {text for text in counts if (one := _parse(text)) is None or one.odd or one.unit}
    if sum(counts[text] for text in bad) > (1 - MIN_ASKED_SHARE) * counts.total():
        return []
    return [OddCell(n, cell, "text") for n, cell in enumerate(cells) if cell in bad and cell]


def _parse(text: str) -> _Parsed | None:
    plain = text.strip().replace(MINUS, "-")
    found = _CELL.fullmatch(plain)
    if found is None:
        return _Parsed("", "", False, "range") if _SPAN.fullmatch(plain) else None
    mark, flag, unit = found["mark"] or "", found["flag"], found["unit"] or ""
    kind = "bound" if _BOUND.fullmatch(mark) else "marked" if mark or flag else ""
    return _Parsed(found["number"], canonical_unit(unit), bool(unit) and not found["gap"], kind)


def _without_names(
    parsed: dict[str, _Parsed | None], counts: Counter[str], form: NumberForm
) -> dict[str, _Parsed | None]:
    """The cells with names such as 316L among plain numbers taken as words."""
    glued = {t for t, one in parsed.items() if one and _is_letter(one) and t.strip()[-1].isalpha()}
    sure = {one.unit for t, one in parsed.items() if one and one.unit and t not in glued}
    some = [t for t in glued if parsed[t].unit not in sure | {form.unit}]  # type: ignore[union-attr]
    others = sum(n for t, n in counts.items() if t not in glued)
    if sum(counts[t] for t in some) >= others:
        return parsed
    return {text: None if text in some else one for text, one in parsed.items()}


def _numbers(
    name: str, cells: Sequence[str | None], parsed: dict[str, _Parsed], fine: set[str],
    form: NumberForm,
) -> NumberColumn:  # fmt: skip
    marked = {t for t, one in parsed.items() if one.odd == "marked"} if form.forced else set()
    read = {text: parsed[text] for text in parsed if text in fine | marked}
    decimal, said = _decimal_mark(name, list(read.values()), form)
    _refuse_shares(name, read, form, decimal or ".")
    unit, other_units, converted = _unit(name, read, form, Counter(c for c in cells if c))
    values: dict[str, float] = {}
    for text, one in read.items():
        if one.unit not in other_units:
            value = _value(one.number, decimal or ".")
            values[text] = convert(value, one.unit, unit) if one.unit else value
    odd = tuple(
        OddCell(n, cell, parsed[cell].odd or "unit" if cell in parsed else "text")
        for n, cell in enumerate(cells)
        if cell is not None and cell not in values
    )
    numbers: Numbers = [None if cell is None else values.get(cell) for cell in cells]
    if all(_is_whole(read[text]) for text in values) and not converted:
        numbers = [None if one is None else int(one) for one in numbers]
    return NumberColumn(numbers, unit, odd, (*said, *converted), decimal)


def _is_whole(one: _Parsed) -> bool:
    return _GROUPS.sub("", one.number).lstrip("+-").isdigit() and len(one.number) < 16


def _decimal_mark(name: str, read: Sequence[_Parsed], form: NumberForm) -> tuple[str, list[str]]:
    """The decimal mark that the cells show, empty for none or both; and notes."""
    written = [_GROUPS.sub("", one.number).partition("e")[0].partition("E")[0] for one in read]
    proofs = {mark for one in written if (mark := _proven_mark(one))}
    simple = [one for one in written if not _THREE.fullmatch(one) and not _proven_mark(one)]
    marks = proofs | {mark for mark in ",." if any(mark in one for one in simple)}
    if form.decimal:
        return form.decimal, []
    for one in written:
        if _THREE.fullmatch(one) and not _is_clear(one, marks, proofs):
            raise _two_readings(name, one)
    if len(marks) < 2:
        return "".join(marks), []
    few = some_of([repr(one) for one in simple if "," in one])
    return "", [f"decimal commas beside decimal points, read as numbers ({few})"]


def _is_clear(one: str, marks: set[str], proofs: set[str]) -> bool:
    """Whether the other cells show what the comma in 1,234 means."""
    own, other = (",", ".") if "," in one else (".", ",")
    if proofs == {other} and marks == {other}:  # a thousands separator
        return True
    return other not in marks and (own == "." or own in marks)


def _proven_mark(one: str) -> str:
    """The decimal mark in a number with an unambiguous thousands separator."""
    found = _MANY.fullmatch(one) or _BOTH.fullmatch(one)
    return {",": ".", ".": ","}[found[1]] if found else ""


def _two_readings(name: str, cell: str) -> TableError:
    point, plain = re.sub("[.,]", ".", cell), re.sub("[.,]", "", cell)
    is_comma = "," in cell
    as_decimal, as_group = ("comma", "point") if is_comma else ("point", "comma")
    return TableError(
        f"{name}: {cell!r} is {point} or {plain}",
        Remedy("decimal", f"{name}={as_decimal}", f"reads {point}"),
        Remedy("decimal", f"{name}={as_group}", f"reads {plain}"),
    )


def _value(number: str, decimal: str) -> float:
    """The number; if it is ambiguous, the decimal mark of the column decides."""
    plain = _GROUPS.sub("", number)
    mantissa = plain.partition("e")[0].partition("E")[0]
    own = "," if "," in mantissa else "."
    mark = decimal if _THREE.fullmatch(mantissa) else _proven_mark(mantissa) or own
    group = "." if mark == "," else ","
    return float(plain.replace(group, "").replace(mark, "."))


def _refuse_shares(name: str, read: dict[str, _Parsed], form: NumberForm, decimal: str) -> None:
    """Refuse plain numbers up to 1 among percentages above 1: 0.6 is 60 % or 0.6 %."""
    units = {one.unit for one in read.values()}
    if units != {"", "%"} or form.is_declared:
        return
    values = {text: _value(one.number, decimal) for text, one in read.items()}
    plain = [text for text, one in read.items() if not one.unit]
    shown = [text for text, one in read.items() if one.unit]
    if max(values[one] for one in plain) <= 1 < max(values[one] for one in shown):
        raise TableError(
            f"{name}: {short(plain[0])} beside {short(shown[0])} is a share or a percentage",
            Remedy("unit", f"{name}=%", "reads all as percentages"),
            otherwise="or correct the file",
        )


def _unit(
    name: str, read: dict[str, _Parsed], form: NumberForm, counts: Counter[str]
) -> tuple[str, set[str], list[str]]:
    """The unit of the column, the units that cannot be converted, and notes on conversions."""
    units = Counter[str]()
    for text, one in read.items():
        units[one.unit] += counts[text]
    plain = units.pop("", 0)
    if not units:
        return form.unit, set(), []
    own = units.most_common(1)[0][0]
    unit = form.unit if form.is_declared or form.unit in units or len(units) > 1 else ""
    if form.unit and any(are_convertible(form.unit, one) for one in units):
        unit = form.unit
    unit = unit if unit and any(are_convertible(unit, one) for one in units) else own
    others = {one for one in units if not are_convertible(one, unit)}
    examples = [next(t for t, one in read.items() if one.unit == some) for some in units]
    few = ", ".join(map(short, examples[:MAX_CELLS_NAMED]))
    if others and not form.forced:
        raise TableError(
            f"{name}: cells have different units that cannot be converted ({few})",
            Remedy("type", f"{name}=number", f"reads those in {unit}; the others are missing"),
            Remedy("type", f"{name}=category", "reads the column as text"),
            Remedy("type", f"{name}=drop", "leaves the column out"),
        )
    if plain and len(units) > 1 and not form.unit and not form.forced:
        raise TableError(
            f"{name}: cells have different units ({few}), and {plain} have none",
            *(Remedy("unit", f"{name}={one}", f"reads those as {one}") for one in units),
        )
    changed = [one for one in units if one not in others and one != unit]
    said = [f"cells in {one} were converted to {unit}" for one in changed if is_known_unit(one)]
    return unit, others, said
