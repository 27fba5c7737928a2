"""The oracle of a run: the function that measures, how it is called, and what it may return.

An oracle gets one point and returns its label. With `batch` it gets a list and returns as many
labels, or yields them one by one. An error that it raises takes the place of a label
(`workers.OracleError`), so that the run decides how to treat the point.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weal.learner.workers import OracleError, check_workers
from weal.model.checks import check_count

ON_FAILURE = ("raise", "skip", "fail")


@dataclass(frozen=True, slots=True)
class Oracle:
    """The function that measures, and how it is called."""

    measure: Callable[[Any], Any]
    by_id: bool = False
    batch: int | None = None  # points that it gets at once, in a list; None: one, not in a list
    on_failure: str = "raise"
    workers: int = 1  # points that are measured at the same time
    timeout: float | None = None  # seconds for one point

    def __post_init__(self) -> None:
        if self.batch is not None:
            check_count(self.batch)
        if self.on_failure not in ON_FAILURE:
            raise ValueError(f"on_failure is {self.on_failure!r}; write 'raise', 'skip' or 'fail'")
        check_workers(self.workers, self.timeout)
        if self.batch is not None and self.is_concurrent:
            raise ValueError(
                f"batch is {self.batch}, which gives the oracle several points at once, and "
                "workers or timeout call it for one point each; leave one of them out"
            )

    @property
    def is_concurrent(self) -> bool:
        """Whether workers call it."""
        return self.workers > 1 or self.timeout is not None

    def results(
        self, rows: Sequence[Any], names: Sequence[Hashable]
    ) -> Iterator[tuple[Hashable, Any]]:
        """Ids with their labels or `OracleError`, as they come; fewer if the oracle stops early."""
        try:
            found = self.measure(rows[0] if self.batch is None else list(rows))
        except Exception as error:  # noqa: BLE001  raised again, or reported, by the caller
            yield from ((name, OracleError(error)) for name in names)
            return
        if self.batch is None:
            yield names[0], found
        elif isinstance(found, Iterator):
            yield from _in_turn(found, names)
        else:
            yield from zip(names, _as_many(found, len(names)), strict=True)


def failure_reason(error: Exception) -> str:
    """The error in a line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def missing_reason(result: object) -> str | None:
    """Why an oracle gave no label: it raised, or gave None or no finite number; None if it gave
    one.

    >>> missing_reason(float("nan")), missing_reason({"yield": 3.0, "purity": None})
    ('ValueError: the oracle gave nan, which is not a finite number', None)
    """
    if isinstance(result, OracleError):
        return failure_reason(result.error)
    has_label = bool(without_gaps(result)) if isinstance(result, dict) else not _is_gap(result)
    if has_label:
        return None
    missing = "has no label" if isinstance(result, dict) else "is not a finite number"
    return failure_reason(ValueError(f"the oracle gave {result!r}, which {missing}"))


def without_gaps(result: object) -> object:
    """The labels of an oracle without the quantities that are None or not finite."""
    if not isinstance(result, dict):
        return result
    return {name: label for name, label in result.items() if not _is_gap(label)}


def _is_gap(label: object) -> bool:
    if isinstance(label, str) or np.ndim(label) > 0:  # type: ignore[arg-type]
        return False
    try:
        return not np.isfinite(float(label))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return label is None


def _in_turn(found: Iterator[Any], names: Sequence[Hashable]) -> Iterator[tuple[Hashable, Any]]:
    """Labels that an oracle yields; it ends at the first error."""
    for n, name in enumerate(names):
        try:
            label = next(found)
        except StopIteration:
            few = f"the oracle yielded {n} labels for {len(names)} points; it needs as many"
            raise ValueError(few) from None
        except Exception as error:  # noqa: BLE001  as above
            yield name, OracleError(error)
            return
        yield name, label


def _as_many(found: Any, n: int) -> list[Any]:
    """The labels of a batch as a list; ValueError unless there are n."""
    if isinstance(found, str) or not hasattr(found, "__len__") or np.ndim(found) != 1:
        raise ValueError(f"the oracle of a batch returned {found!r}; it needs a list of labels")
    if len(found) != n:
        raise ValueError(
            f"the oracle returned {len(found)} labels for {n} points; it needs as many"
        )
    return list(found)
