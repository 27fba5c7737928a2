"""Check labels from the arguments of `tell` and from results files, before they are saved.

The ids of a file are matched with those of the campaign, and its inputs (a worksheet has them) are
compared.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, TypeGuard, Unpack

from weal.campaign.quantity_names import find_named
from weal.campaign.rules import LabelInput
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity
from weal.store.events import check_id, check_note
from weal.tables.cells import Cell, cell_text, read_number
from weal.tables.text_records import unescape

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.tables.results_reader import Results

SAME_INPUT_RTOL = 1e-4  # relative difference between an input and its rounded value


class ReadOptions(TypedDict):
    """Options of `read_results`."""

    name: str | None
    sheet: str | None
    header: int | None


def names(ids: object) -> list[str]:
    """One id or several, as text."""
    return [check_id(given) for given in (ids if _is_several(ids) else [ids])]


def distinct(ids: object) -> list[str]:
    """The ids as text, each once."""
    return list(dict.fromkeys(names(ids)))


def entries(
    quantities: Mapping[str, Quantity], ids: object, labels: object, noise: object,
    note: str | None, sure: bool = False,
) -> list[LabelInput]:  # fmt: skip
    """One label, or one for each id; a dict has labels by quantity."""
    if isinstance(ids, Mapping) and labels is None:
        labels = list(ids.values())
    found = names(ids)
    values, noises = _each(labels) or [labels], _each(noise)
    noises = [noise] * len(found) if noises is None else noises
    is_single = _each(labels) is None
    if _is_several(ids) == is_single or not len(found) == len(values) == len(noises):
        raise ValueError(
            f"tell() got {len(values)} labels and {len(noises)} noises for {len(found)} ids; it "
            "needs one for each. To leave a row without a label, call skip(id) instead"
        )
    rows = zip(found, values, noises, strict=True)
    return [one for row in rows for one in _entries_of_row(quantities, *row, note, sure)]


def _each(given: object) -> list[object] | None:
    """The values of a collection; None for a single value, such as a dict of quantities."""
    return list(given) if _is_several(given) and not isinstance(given, Mapping) else None


def _entries_of_row(
    quantities: Mapping[str, Quantity], name: str, value: object, noise: object,
    note: str | None, sure: bool,
) -> list[LabelInput]:  # fmt: skip
    """The labels of one row: of the only quantity, or of the quantities in a dict."""
    if not isinstance(value, Mapping) and len(quantities) > 1:
        example = ", ".join(f"{one!r}: ..." for one in quantities)
        raise ValueError(
            f"tell() got {value!r} for {name}, and several quantities are measured: name them, as "
            f"in tell({name!r}, {{{example}}})"
        )
    labels = _by_quantity(quantities, value, name)
    sds = _by_quantity(quantities, noise, name) if isinstance(noise, Mapping) else {}
    if not labels:
        raise ValueError(f"tell() got no label for {name}; to leave it out, call skip(id) instead")
    if lost := [one for one in sds if one not in labels]:
        raise ValueError(
            f"tell() got a noise of {lost[0]!r} for {name}, and no label of it: add it"
        )
    plain = None if isinstance(noise, Mapping) else noise
    found = list[LabelInput]()
    for own, one in labels.items():
        try:
            found.append(entry(quantities[own], name, one, sds.get(own, plain), note, sure))
        except ValueError as error:
            raise ValueError(name_quantity(str(error), own, len(quantities))) from None
    return found


def name_quantity(message: str, quantity: str, among: int) -> str:
    """The message on a label, which names the quantity if there are several."""
    return message if among == 1 or quantity in message else f"{quantity}: {message}"


def _by_quantity(quantities: Mapping[str, Quantity], given: object, row: str) -> dict[str, object]:
    """The values of a dict by quantity name; any other value belongs to the only quantity."""
    if not isinstance(given, Mapping):
        return {next(iter(quantities)): given}
    found = {find_named(quantities, name).name: value for name, value in given.items()}
    if len(found) < len(given):
        raise ValueError(
            f"tell() got two values of one quantity for {row}: {list(given)}; give one"
        )
    return found


def entry(
    quantity: Quantity, given: object, value: object, noise: object, note: str | None,
    sure: bool = False,
) -> LabelInput:  # fmt: skip
    """A label of the quantity, whose value and noise are as they were typed."""
    name = check_id(given)
    if not isinstance(sure, bool):
        raise ValueError(f"sure of {name} is {sure!r}; write True or False")
    y = quantity.read(value, name)
    sd = None if noise is None else quantity.read_noise(noise, name)
    note = check_note(note, f"the note of {name}")
    return LabelInput(quantity.name, name, y, sd, note, sure)


def _is_several(value: object) -> TypeGuard[Iterable[object]]:
    """Whether this is a collection; an array without dimensions is a single value."""
    return (
        not isinstance(value, str | bytes)
        and hasattr(value, "__iter__")
        and getattr(value, "ndim", 1) > 0
    )


def read_labels_file(
    campaign: "Campaign", source: object, value: str | None, **options: Unpack[ReadOptions]
) -> "Results":
    """The lines of a results file, with the ids of the campaign where they match."""
    ledger = campaign.read_ledger()
    own = tuple(column["name"] for column in ledger.plan["columns"])
    quantities = {name: one.quantity for name, one in ledger.quantities.items()}
    try:
        results = _read_results(source, ledger.id_column, quantities, own, value, options)
    except ValueError:
        more = campaign.columns()  # dropped columns of the candidates may be in the file
        targets = {one.column for one in quantities.values()}
        if set(more) <= {*own, ledger.id_column, *targets}:
            raise
        more = tuple(one for one in more if one not in targets or len(targets) == 1)
        results = _read_results(source, ledger.id_column, quantities, more, value, options)
    return _without_totals(_with_known_ids(results, campaign.existing_ids), campaign.existing_ids)


def _read_results(
    source: object, id_column: str, quantities: Mapping[str, Quantity], own: tuple[str, ...],
    value: str | None, options: ReadOptions,
) -> "Results":  # fmt: skip
    """The lines of a results file of these quantities; `own` are columns of the candidates."""
    from weal.tables.results_reader import ResultColumns, read_results  # for files only
    from weal.tables.several_results import SeveralColumns, Target, read_several

    several = len(quantities) > 1
    if value is not None and several:
        quantities = {(one := find_named(quantities, value)).name: one}
    targets = tuple(
        Target(one.name, one.column or one.name, one.unit, one.words) for one in quantities.values()
    )
    columns = SeveralColumns(ResultColumns(id_column, None, own), targets, WORKED, several)
    if several:
        return read_several(source, columns, **options)
    [one] = quantities.values()
    form = ResultColumns(id_column, one.column, own, value, one.unit, one.words)
    try:
        return read_results(source, form, **options)
    except ValueError as error:
        try:
            return read_several(source, columns, **options)  # labels that `weal export` wrote
        except ValueError:
            raise error from None


def _without_totals(results: "Results", known: Callable[[Sequence[str]], set[str]]) -> "Results":
    """The results without lines that are totals instead of candidates."""
    from weal.tables.candidate_rows import is_total

    totals = [line.id for line in results.lines if is_total(line.id)]
    left_out = set(totals) - known(totals) if totals else set()
    if not left_out:
        return results
    lines = tuple(line for line in results.lines if line.id not in left_out)
    note = f"left out as totals: {', '.join(sorted(left_out))}"
    return replace(results, lines=lines, notes=(*results.notes, note))


def _with_known_ids(results: "Results", known: Callable[[Sequence[str]], set[str]]) -> "Results":
    """The results with ids stripped of blanks and a spreadsheet's ' if that gives a known id."""
    spellings = {line.id: _spellings(line.id) for line in results.lines if not line.error}
    existing = known(list({one for some in spellings.values() for one in some}))
    lines = (
        line._replace(
            id=next((one for one in spellings[line.id] if one in existing), line.id.strip())
        )
        if line.id in spellings
        else line
        for line in results.lines
    )
    return replace(results, lines=tuple(lines))


def _spellings(name: str) -> list[str]:
    found = []
    for one in (name, name.strip(), unescape(name.strip())):
        try:
            found.append(check_id(one))
        except ValueError:  # such as an empty id, or one with a NUL
            continue
    return found


def find_different_inputs(
    results: "Results", rows: Mapping[str, Mapping[str, Cell]]
) -> dict[int, str]:
    """Messages on lines whose inputs differ from their row, by position; rows by id."""
    found = {}
    for n, line in enumerate(results.lines):
        own = rows.get(line.id)
        if own is None or not line.has_result:
            continue
        other = [
            f"{name} {written.strip() or 'empty'} here, "
            f"{_format_cell(own.get(name))} in the campaign"
            for name, written in line.inputs.items()
            if not _is_same_input(own.get(name), written)
        ]
        if other:
            found[n] = f"{line.id} has {'; '.join(other[:3])}. Is it the right row?"
    return found


def _format_cell(cell: Cell) -> str:
    return "nothing" if cell is None else cell_text(cell)


def _is_same_input(cell: Cell, written: str) -> bool:
    """Whether the text is the cell; a number may be rounded, or have a decimal comma."""
    if cell is None or isinstance(cell, datetime | bool):
        return True  # spreadsheets have their own formats for dates and booleans
    text = written.strip()
    if isinstance(cell, str):
        return text.casefold() in (cell.strip().casefold(), unescape(cell).strip().casefold())
    number = read_number(text)
    number = read_number(text.replace(",", ".")) if number is None else number
    return number is not None and math.isclose(number, cell, rel_tol=SAME_INPUT_RTOL, abs_tol=1e-12)
