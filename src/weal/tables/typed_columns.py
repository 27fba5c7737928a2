"""One column of raw cells as a column of one type, with its unit and notes.

`number_columns` decides which text becomes numbers; ids stay text, and only their blank cells are
missing. A column of several types is text. Numbers and booleans without a gap, and all floats
(NaN: missing), are read-only arrays; other columns are lists with None for missing cells.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from weal.tables.cells import (
    MAX_EXACT_INTEGER,
    NUMBER_GAP_MARKERS,
    Cell,
    PercentCell,
    cell_text,
    inexact_integers,
    read_numbers,
    replace_missing_markers,
    short,
)
from weal.tables.frames import RawCells, plain_cells
from weal.tables.number_columns import (
    MAX_CELLS_NAMED,
    NumberColumn,
    NumberForm,
    OddCell,
    read_number_column,
)
from weal.tables.result_lines import FAILED, RUN_FAILED, bound_note, read_failure
from weal.tables.table_error import Remedy, TableError
from weal.tables.units import are_convertible, convert

Cells = RawCells
_MAX_INT64 = 2**63
_NO_LABEL = FAILED - RUN_FAILED  # in a table of candidates, - means that there is no label yet


@dataclass(frozen=True, slots=True, eq=False)
class TypedColumn:
    """A column of a table, and how it was read."""

    cells: Cells
    unit: str = ""
    notes: tuple[str, ...] = ()
    refusal: TableError | None = None  # why it cannot be an input or the target
    decimal: str = ""  # the decimal mark that its cells show
    failures: tuple[tuple[int, str], ...] = ()  # rows of the target without a number, and why


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """How a column is read."""

    numbers: NumberForm | None = None  # None if the column has another type
    missing: frozenset[str] = frozenset()  # further texts that mean missing
    is_target: bool = False  # odd cells are refused


def type_column(
    name: str, cells: RawCells, form: ColumnForm, ids: Sequence[Cell] | None = None
) -> TypedColumn:
    """The column; odd cells are named by the ids of their rows."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        packed = pack_array(cells)
        return TypedColumn(packed, _unit(form), tuple(_rounded_note(name, cells, packed)))
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "T":
        return type_text(name, cells.tolist(), form, ids)
    plain = plain_cells(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    kinds = {type(cell) for cell in plain if cell is not None}
    if PercentCell in kinds:
        return _type_percentages(name, plain, form, ids)
    if kinds <= {int, float} or (len(kinds) == 1 and str not in kinds):
        found = pack_cells(plain)
        unit = _unit(form) if kinds <= {int, float} else ""
        return TypedColumn(found, unit, tuple(_rounded_note(name, plain, found)))
    texts = [None if cell is None else cell_text(cell) for cell in plain]
    return type_text(name, ["" if text is None else text for text in texts], form, ids)


def type_text(
    name: str, cells: Sequence[str], form: ColumnForm, ids: Sequence[Cell] | None = None
) -> TypedColumn:
    """The column of text as numbers where it holds numbers."""
    known = replace_missing_markers(cells)
    if form.missing:
        known = [None if cell and cell.strip() in form.missing else cell for cell in known]
    if form.is_target:
        known = [None if cell and cell.strip().lower() in _NO_LABEL else cell for cell in known]
    if form.is_target and form.numbers and (failures := _failures(known)):
        found = type_text(
            name, ["" if n in failures else c for n, c in enumerate(cells)], form, ids
        )
        said = _failure_notes(name, {n: str(known[n]) for n in failures}, ids)
        return replace(found, notes=(*found.notes, *said), failures=tuple(failures.items()))
    numbers = read_numbers(known)
    if numbers is not None:
        packed = pack_cells(numbers)
        return TypedColumn(packed, _unit(form), tuple(_rounded_note(name, list(cells), packed)))
    try:
        read = None if form.numbers is None else _read_numbers(name, known, form.numbers)
    except TableError as error:
        return TypedColumn(pack_cells(known), refusal=error)
    if read is None:
        return TypedColumn(pack_cells(known))
    if form.is_target and read.odd and not (form.numbers and form.numbers.forced):
        return TypedColumn(pack_cells(known), read.unit, refusal=_refuse_labels(name, read, ids))
    packed = pack_cells(read.numbers)
    notes = (*_notes(name, read, form, ids), *_rounded_note(name, list(cells), packed))
    return TypedColumn(packed, read.unit, notes, decimal=read.decimal)


def _read_numbers(name: str, cells: Sequence[str | None], form: NumberForm) -> NumberColumn | None:
    """The numbers of a column, words such as n.a. beside them as gaps; None: a column of words."""
    read = read_number_column(name, cells, form)
    if read is not None:
        return read
    texts = [one.strip() for one in cells if one]
    gaps = Counter(one for one in texts if one.lower() in NUMBER_GAP_MARKERS)
    rest = [None if one and one.strip() in gaps else one for one in cells]
    read = read_number_column(name, rest, form) if gaps else None
    if read is None:
        return None
    said = ", ".join(f"{word!r} ({n})" for word, n in gaps.most_common())
    return replace(read, notes=(*read.notes, f"{said} beside numbers was read as missing"))


def _type_percentages(
    name: str, cells: list[Cell], form: ColumnForm, ids: Sequence[Cell] | None
) -> TypedColumn:
    """A column with percentages of a spreadsheet: as shown beside percent signs, else shares."""
    signs = any(isinstance(cell, str) and "%" in cell for cell in cells)
    if signs or _unit(form) == "%":
        shown = [cell.as_shown() if isinstance(cell, PercentCell) else cell for cell in cells]
        return type_column(name, shown, form, ids)
    shares = [float(cell) if isinstance(cell, PercentCell) else cell for cell in cells]
    example = next(cell for cell in cells if isinstance(cell, PercentCell))
    found = type_column(name, shares, form, ids)
    way = Remedy("unit", f"{name}=%", "").for_shell()
    note = f"{name}: {example.as_shown()} was read as {float(example):g}; {way} reads percentages"
    return replace(found, notes=(*found.notes, note))


def _failures(cells: Sequence[str | None]) -> dict[int, str]:
    """Rows with a word for a failure, or with a bound, instead of a label; and their notes.

    In a column of other words, such as ok, they are labels themselves.
    """
    notes = {
        text: ": ".join(filter(None, read_failure(text.strip(), None)))
        for text in set(filter(None, cells))
    }
    others = [text for text, note in notes.items() if not note]
    if others and not any(letter.isdigit() for text in others for letter in text):
        return {}
    return {n: notes[cell] for n, cell in enumerate(cells) if cell and notes[cell]}


def _failure_notes(name: str, failures: dict[int, str], ids: Sequence[Cell] | None) -> list[str]:
    """Notes on rows with a bound, and on rows whose run failed, instead of a label."""
    notes = []
    for is_bound in (True, False):
        odd = [OddCell(n, t, "") for n, t in failures.items() if bool(bound_note(t)) == is_bound]
        one = len(odd) == 1
        rows, has, is_ = ("1 row", "has", "is") if one else (f"{len(odd)} rows", "have", "are")
        words = f"{name}: {rows} {is_} saved as failed"
        if is_bound:
            words = (
                f"{name}: {rows} {has} a bound, which is kept as a note, and the model ignores it"
            )
        notes += [f"{words}: {name_cells(odd, ids)}"] if odd else []
    return notes


def in_unit(name: str, column: TypedColumn, unit: str) -> TypedColumn:
    """The column with its numbers in the unit; with an error if they cannot be converted."""
    given, cells = column.unit, column.cells
    if not given or not unit or given == unit:
        return column
    if not are_convertible(given, unit):
        problem = f"{name}: the row of units says {given!r}, and the numbers are needed in {unit!r}"
        way = "correct the row of units, or delete it if the numbers are in that unit"
        return replace(column, refusal=TableError(problem, otherwise=way))
    values = cells.tolist() if isinstance(cells, np.ndarray) else cells
    changed: list[Cell] = [
        convert(float(one), given, unit) if isinstance(one, int | float) and one == one else None
        for one in values
    ]
    note = f"{name}: numbers in {given} were converted to {unit}, as the row of units says"
    return replace(column, cells=pack_cells(changed), unit=unit, notes=(*column.notes, note))


def _unit(form: ColumnForm) -> str:
    return form.numbers.unit if form.numbers else ""


def as_text(cells: NDArray[np.generic] | Sequence[Cell]) -> list[Cell]:
    """Cells as text, unchanged; None if blank."""
    plain = plain_cells(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    texts = [c if c is None or type(c) is str else cell_text(c) for c in plain]
    return [text if text and not text.isspace() else None for text in texts]


def name_cells(odd: Sequence[OddCell], ids: Sequence[object] | None) -> str:
    """Odd cells with the ids of their rows, for a message."""
    shown = [
        f"{short(one.text)} ({'row ' + str(one.row + 1) if ids is None else ids[one.row]})"
        for one in odd[:MAX_CELLS_NAMED]
    ]
    return ", ".join(shown) + (", ..." if len(odd) > MAX_CELLS_NAMED else "")


def _refuse_labels(name: str, read: NumberColumn, ids: Sequence[Cell] | None) -> TableError:
    rows = "1 row does" if len(read.odd) == 1 else f"{len(read.odd)} rows do"
    remedies = []
    if any(one.kind == "marked" for one in read.odd):
        remedies.append(Remedy("type", f"{name}=number", "takes the numbers in them as labels"))
    elif len({one.text for one in read.odd}) > 1:
        remedies.append(Remedy("type", f"{name}=number", "leaves these rows without a label"))
    else:
        text = read.odd[0].text.strip()
        remedies.append(Remedy("missing", f"{name}={text}", "leaves such rows without a label"))
    return TableError(
        f"the target column {name!r} must hold numbers, but {rows} not: "
        f"{name_cells(read.odd, ids)}",
        *remedies,
        otherwise="or correct the file",
    )


def _notes(
    name: str, read: NumberColumn, form: ColumnForm, ids: Sequence[Cell] | None
) -> list[str]:
    """Notes on units, separators and odd cells of a column."""
    notes = [f"{name}: {one}" for one in read.notes]
    if read.unit and form.numbers and read.unit != form.numbers.unit:
        notes.insert(0, f"{name}: read as numbers, in {read.unit}")
    if read.odd:
        few = name_cells(read.odd, ids)
        cells = "1 cell is not a number and counts" if len(read.odd) == 1 else (
            f"{len(read.odd)} cells are not numbers and count"
        )  # fmt: skip
        note = f"{name}: {cells} as missing: {few}"
        if not form.numbers or not form.numbers.forced:
            kinds = [Remedy("type", f"{name}={kind}", "") for kind in ("number", "category")]
            marked = f"; {kinds[0].for_shell()} takes the numbers in them"
            marked = marked if any(one.kind == "marked" for one in read.odd) else ""
            note += f"{marked}; {kinds[1].for_shell()} reads the column as text"
        notes.append(note)
    return notes


def _rounded_note(name: str, cells: RawCells | list[str], column: Cells) -> list[str]:
    """A note on whole numbers that a float rounds."""
    if isinstance(column, list):
        column = np.array([cell for cell in column if type(cell) is int], dtype=np.float64)
    if (
        column.dtype.kind not in "if"
        or not (np.abs(column.astype(np.float64)) >= MAX_EXACT_INTEGER).any()
    ):
        return []
    found = inexact_integers(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    if not found:
        return []
    count = "1 whole number" if len(found) == 1 else f"{len(found):,} whole numbers"
    kind = quote(f"{name}=drop")
    return [
        f"{name}: {count} above 2^53 rounded, such as {found[0]} to {int(float(found[0]))}; if "
        f"these are names, --type {kind} drops the column"
    ]


def pack_cells(cells: Sequence[Cell]) -> Cells:
    """Cells of one type, or of whole numbers and floats, as a column of a `Table`."""
    kinds = set(map(type, cells)) - {type(None)}
    if kinds == {float}:  # a shortcut for the most frequent type: None becomes NaN
        return pack_array(np.array(cells, dtype=np.float64))
    if float in kinds or (int in kinds and any(map(_is_beyond_int64, cells))):
        numbers = [_float(cell) if isinstance(cell, int | float) else np.nan for cell in cells]
        return pack_array(np.array(numbers))
    whole = kinds in ({int}, {bool}) and None not in cells
    return pack_array(np.array(cells)) if whole else list(cells)


def _is_beyond_int64(cell: Cell) -> bool:
    return isinstance(cell, int) and abs(cell) >= _MAX_INT64


def _float(value: int | float) -> float:
    """The number as a float; infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def pack_array(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Numbers or booleans as a read-only column."""
    kind = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}[array.dtype.kind]
    if array.dtype == np.uint64 and int(array.astype(np.uint64).max(initial=0)) >= _MAX_INT64:
        kind = np.float64
    packed: NDArray[np.generic] = array.astype(kind)
    packed.flags.writeable = False
    return packed


def take_cells(column: Cells, at: Sequence[int]) -> Cells:
    """The cells at these positions."""
    if isinstance(column, list):
        return pack_cells([column[n] for n in at])
    return pack_array(column[np.asarray(at, dtype=np.intp)])
