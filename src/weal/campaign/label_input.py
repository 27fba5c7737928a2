"""Labels as they are given to `tell`: one or several, checked, before anything is written."""

from typing import Any

from weal.campaign.ledger import LARGEST_LABEL
from weal.campaign.rules import LabelInput
from weal.store.events import check_id, check_note
from weal.tables.cells import read_typed_number


def names(ids: Any) -> list[str]:
    """Ids as text: of one id, or of several."""
    return [check_id(given) for given in (ids if _several(ids) else [ids])]


def distinct(ids: Any) -> list[str]:
    """The same, each once."""
    return list(dict.fromkeys(names(ids)))


def entries(
    ids: Any, labels: Any, noise: Any, note: str | None, sure: bool = False
) -> list[LabelInput]:
    """One label, or as many as there are ids."""
    found = names(ids)
    values = list(labels) if _several(labels) else [labels]
    noises = list(noise) if _several(noise) else [noise] * len(found)
    if _several(ids) != _several(labels) or not len(found) == len(values) == len(noises):
        raise ValueError(
            f"tell() got {len(values)} labels and {len(noises)} noises for {len(found)} ids; it "
            "needs one for each. To leave a row without a label, call skip(id) instead"
        )
    rows = zip(found, values, noises, strict=True)
    return [entry(name, value, sd, note, sure) for name, value, sd in rows]


def entry(given: Any, value: Any, noise: Any, note: str | None, sure: bool = False) -> LabelInput:
    """A label, its number read from what somebody typed."""
    name = check_id(given)
    if not isinstance(sure, bool):
        raise ValueError(f"sure of {name} is {sure!r}; it is True or False")
    y = _bounded(value, f"the label of {name}")
    sd = None if noise is None else _noise(noise, name)
    return LabelInput(name, y, sd, check_note(note, f"the note of {name}"), sure)


def _noise(given: Any, name: str) -> float:
    sd = _bounded(given, f"the noise of {name}")
    if sd < 0.0:
        raise ValueError(f"the noise of {name} is {sd}; it is a standard deviation, at least 0")
    return sd


def _bounded(given: Any, field: str) -> float:
    value = read_typed_number(_plain(given), field)
    if abs(value) > LARGEST_LABEL:
        raise ValueError(f"{field} is {value}, which is too large; check its unit")
    return value


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's own."""
    return value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value


def _several(value: Any) -> bool:
    """Whether this is a list of things; an array of no dimension is one thing."""
    return (
        not isinstance(value, str | bytes)
        and hasattr(value, "__iter__")
        and getattr(value, "ndim", 1) > 0
    )
