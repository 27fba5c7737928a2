"""Labels of many rows as a program gives them, saved all or none as the lines of a results file.

    [{"id": "R-17", "value": 82.1}, {"id": "R-18", "value": "failed", "note": "leak"},
     {"id": "R-19", "values": {"yield": 80.5, "crystallised": "yes"}, "noise": {"yield": 0.4}}]

The action for each is decided by `results_import`; the number of a line is the place in the list.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weal.campaign.label_input import entry
from weal.campaign.quantity_names import find_named, read_failure_of
from weal.campaign.results_import import ResultsImport, preview, tell_file
from weal.campaign.row_results import RowDetails, check_plausible
from weal.quantities.protocol import Quantity
from weal.store.events import check_id
from weal.tables.result_lines import Result, read_failure
from weal.tables.results_reader import Results

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign

SEVERAL = "give `value`, or `values` by the names of the quantities: one of the two"


def tell_lines(
    campaign: "Campaign", labels: Sequence[Mapping[str, Any]], how: RowDetails, dry_run: bool
) -> ResultsImport:
    """Save these labels, all or none; with `dry_run`, only report the action for each."""
    quantities = campaign.read_quantities()
    lines = [one for n, each in enumerate(labels, 1) for one in _lines(quantities, n, each)]
    results = Results("the list of labels", tuple(lines))
    if how.plausible:
        check_plausible(campaign, [
            entry(_quantity(quantities, one.quantity), one.id, one.value, one.noise, one.note)
            for one in lines if one.value is not None and not one.error
        ])  # fmt: skip
    save = preview if dry_run else tell_file
    return save(
        campaign, results, by=campaign.who, replace=how.replace, repeat=how.repeat, key=how.key,
        sure=how.sure,
    )  # fmt: skip


def _quantity(quantities: Mapping[str, Quantity], name: str | None) -> Quantity:
    return next(iter(quantities.values())) if name is None else quantities[name]


def _lines(
    quantities: Mapping[str, Quantity], n: int, given: Mapping[str, Any]
) -> Iterator[Result]:
    """The results of one row, each of its quantities on a line of its own."""
    name, note = str(given["id"]), given.get("note")
    try:
        name = check_id(given["id"])
        values = _values(quantities, given)
        noises = _noises(quantities, given.get("noise"), values)
    except ValueError as error:
        yield Result(name, None, None, note, n, error=str(error))
        return
    for own, value in values.items():
        yield _line(quantities, n, name, own, value, noises.get(own), note)


def _values(
    quantities: Mapping[str, Quantity], given: Mapping[str, Any]
) -> dict[str | None, object]:
    """The values of a row by quantity; None: the only one, or a failed run."""
    if ("value" in given) == ("values" in given):
        raise ValueError(SEVERAL)
    if "values" in given:
        found = {find_named(quantities, name).name: one for name, one in given["values"].items()}
        if len(found) < len(given["values"]):
            raise ValueError(f"two values of one quantity: {list(given['values'])}; give one")
        return {None if len(quantities) == 1 else name: one for name, one in found.items()}
    value = given["value"]
    is_failure = isinstance(value, str) and read_failure(value.strip(), None)[0]
    if len(quantities) > 1 and not is_failure:
        names = ", ".join(quantities)
        raise ValueError(f"several quantities are measured: name them in `values` ({names})")
    return {None: value}


def _noises(
    quantities: Mapping[str, Quantity], noise: object, values: Mapping[str | None, object]
) -> dict[str | None, float]:
    if noise is None:
        return {}
    if not isinstance(noise, Mapping):
        return dict.fromkeys(values, _number(noise))
    named = {find_named(quantities, name).name: _number(one) for name, one in noise.items()}
    return {None if len(quantities) == 1 else name: one for name, one in named.items()}


def _number(noise: object) -> float:
    if isinstance(noise, int | float) and noise >= 0:
        return float(noise)
    raise ValueError(f"noise is {noise!r}; write a standard deviation, 0 or more")


def _line(
    quantities: Mapping[str, Quantity], n: int, name: str, own: str | None, value: object,
    noise: float | None, note: str | None,
) -> Result:  # fmt: skip
    """One label, or the word instead of it."""
    word, because = None, None
    if isinstance(value, str) and own is None and len(quantities) > 1:
        word, because = read_failure(value.strip(), None)
    elif isinstance(value, str):
        word, because = read_failure_of(_quantity(quantities, own), value, is_named=own is not None)
    if word:
        said = "; ".join(filter(None, [because, note])) or None
        return Result(name, None, None, said, n, word, quantity=own)
    label: Any = value
    return Result(name, label, noise, note, n, quantity=own)
