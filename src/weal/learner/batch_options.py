"""What a batch may hold, as a user says it: the arguments of `ask` besides the number of rows.

    same         a column, or several, with one value in the whole batch (a temperature of a plate)
    at_most      by column, how many different values the batch may hold: {"solvent": 4} is a batch
                 with four solvents at most; `same="solvent"` is {"solvent": 1}
    where        a condition that every row satisfies (`weal.conditions`)
    instead_of   rows that are out and come back: others are asked instead
    rows         rows to include by hand

The options of an ask are stored with it as JSON, and compared where a key is used again.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from weal.conditions import Condition, parse_condition
from weal.text import some

MAX_COLUMNS = 20  # of `same` and of `at_most`
EXAMPLES = "'temp < 90' or \"solvent is THF and 'melt temp' < 90\""

SameArgument = str | Iterable[str] | None  # as a user gives them
AtMostArgument = Mapping[str, int] | None
RowsArgument = Hashable | Iterable[Hashable] | None


class BatchOptionsBody(TypedDict, total=False):
    """The options of an ask as JSON; options that were not given are absent."""

    same: list[str]
    at_most: dict[str, int]
    where: str  # the canonical text
    instead_of: list[str]
    rows: list[str]


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The checked options of an ask."""

    same: tuple[str, ...] = ()
    at_most: tuple[tuple[str, int], ...] = ()  # by name
    where: Condition | None = None
    instead_of: tuple[Hashable, ...] = ()
    rows: tuple[Hashable, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for."""
        return self == BatchOptions()

    @property
    def is_limited(self) -> bool:
        """Whether the number of levels of a column is limited."""
        return bool(self.same or self.at_most)

    def count(self, n: int | None) -> int:
        """The number of rows to ask for; ValueError: fewer than are included by hand.

        Without n it is the number of rows by hand, of rows that come back, or 1.
        """
        if n is None:
            return len(self.rows) or len(self.instead_of) or 1
        if n < len(self.rows):
            raise ValueError(
                f"{len(self.rows)} rows are included by hand, and n is {n}; "
                f"write n={len(self.rows)}, or leave n out"
            )
        return n

    def to_json(self) -> BatchOptionsBody:
        """The options as they are stored with the ask."""
        found: BatchOptionsBody = {}
        if self.same:
            found["same"] = list(self.same)
        if self.at_most:
            found["at_most"] = dict(self.at_most)
        if self.where is not None:
            found["where"] = self.where.text
        if self.instead_of:
            found["instead_of"] = [str(name) for name in self.instead_of]
        if self.rows:
            found["rows"] = [str(name) for name in self.rows]
        return found

    @property
    def text(self) -> str:
        """The options in words, such as "with one temperature"; empty without any."""
        return options_text(self.to_json())


NO_OPTIONS = BatchOptions()


def options_text(body: BatchOptionsBody) -> str:
    """The stored options of an ask in words.

    >>> options_text({"same": ["temp"], "at_most": {"solvent": 4}, "where": "temp < 90"})
    'with one temp, at most 4 values of solvent, where temp < 90'
    """
    parts = []
    if same := body.get("same"):
        parts.append(f"with one {' and one '.join(same)}")
    if at_most := body.get("at_most"):
        parts.append(", ".join(f"at most {k} values of {name}" for name, k in at_most.items()))
    if where := body.get("where"):
        parts.append(f"where {where}")
    if back := body.get("instead_of"):
        parts.append(f"instead of {some(back)}")
    if rows := body.get("rows"):
        parts.append(f"with {some(rows)} by hand")
    return ", ".join(parts)


def read_options(
    same: SameArgument = None, at_most: AtMostArgument = None, where: str | None = None,
    instead_of: RowsArgument = None, rows: RowsArgument = None,
) -> BatchOptions:  # fmt: skip
    """The options of an ask, checked; names of columns are checked where the columns are known."""
    return BatchOptions(
        _names(same),
        _limits(at_most),
        None if where is None else parse_condition(where, None, "where", EXAMPLES),
        _ids(instead_of, "instead_of"),
        _ids(rows, "rows"),
    )


def _names(same: object) -> tuple[str, ...]:
    if same is None:
        return ()
    names: list[Any]
    names = (
        [same] if isinstance(same, str) else list(same) if isinstance(same, Iterable) else [same]
    )
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(
                f"same is {same!r}; write the name of a column, or a list of names, as in "
                'same="temperature"'
            )
    return _checked(tuple(sorted(set(names))), "same")


def _limits(at_most: object) -> tuple[tuple[str, int], ...]:
    if at_most is None:
        return ()
    if not isinstance(at_most, Mapping):
        raise ValueError(
            f"at_most is {at_most!r}; write how many values of a column the batch may hold, as in "
            'at_most={"solvent": 4}'
        )
    for name, limit in at_most.items():
        if not isinstance(name, str) or not name or not is_count(limit):
            raise ValueError(
                f"at_most has {name!r}: {limit!r}; write the name of a column and a whole number "
                'of at least 1, as in at_most={"solvent": 4}'
            )
    _checked(tuple(at_most), "at_most")
    return tuple(sorted((str(name), int(limit)) for name, limit in at_most.items()))


def read_limits(written: Iterable[str]) -> dict[str, int]:
    """The limits of texts such as "solvent=4"; ValueError for any other, and for a column twice.

    >>> read_limits(["solvent=4", "melt = point=2"])
    {'solvent': 4, 'melt = point': 2}
    """
    found: dict[str, int] = {}
    for text in written:
        name, sign, limit = text.rpartition("=")
        name, limit = name.strip(), limit.strip()
        if not sign or not name or not (limit.isascii() and limit.isdecimal()) or int(limit) < 1:
            raise ValueError(
                f"--at-most {text!r}; write a column and how many different values of it the batch "
                "may hold, a whole number of at least 1, as in --at-most solvent=4"
            )
        if name in found:
            raise ValueError(f"--at-most names {name!r} twice; write it once")
        found[name] = int(limit)
    return found


def is_count(value: object) -> bool:
    """Whether a value is a whole number of at least 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _checked(names: tuple[str, ...], what: str) -> tuple[str, ...]:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{what} names {len(names)} columns; name at most {MAX_COLUMNS}")
    return names


def _ids(given: object, what: str) -> tuple[Hashable, ...]:
    if given is None:
        return ()
    is_several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    names: list[Any] = list(given) if is_several else [given]  # type: ignore[call-overload]
    try:
        return tuple(dict.fromkeys(names))
    except TypeError:
        raise ValueError(f"{what} is {given!r}; write an id, or a list of ids") from None
