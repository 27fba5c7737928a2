"""Rows of a box with a shared value, so that a batch can have one level of a continuous input.

Every row that is drawn in a box (`weal.box`) has its own value of every continuous input. Where an
ask wants n rows with one value of such an input (`same`), rows are added: SHARED_LEVELS values,
evenly spaced among those of the rows, and for each of them ROWS_PER_LABEL n rows of the box whose
value is replaced by it, as far as they keep to the bounds and constraints. They are candidates from
then on, so that the next batch finds levels with enough rows. A part of a mixture cannot be shared,
since the parts would no longer have their sum.
"""

from collections.abc import Sequence

import numpy as np

from weal.learner.batch_limits import BatchLimits
from weal.learner.batch_options import BatchOptions
from weal.learner.state import State
from weal.tables.design_space import DesignSpace, Row
from weal.text import some

SHARED_LEVELS = 10
ROWS_PER_LABEL, MIN_LEVEL_ROWS = 2, 32
_SHARED_KEY = 72  # part of the random key


def lacks_shared_rows(
    state: State, box: DesignSpace, options: BatchOptions, limits: BatchLimits, n: int
) -> bool:
    """Whether `same` names a continuous input of the box, and no value of it has n free rows."""
    continuous = {one.name for one in box.inputs if not one.values}
    if not continuous & set(options.same):
        return False
    codes = limits.factors[0].levels.codes
    free = state.free() & (codes >= 0)
    if limits.allowed is not None:
        free &= limits.allowed
    return bool(np.bincount(codes[free], minlength=1).max() < n - len(options.rows))


def shared_rows(
    box: DesignSpace, rows: Sequence[Row], options: BatchOptions, n: int, seed: int
) -> list[Row]:
    """New rows of the box, n or more for each of some shared values; ValueError: there are none.

    Cells of other columns are those of the row whose value is replaced.
    """
    if mixed := sorted(box.mixed & set(options.same)):
        raise ValueError(
            f"same: {some(map(repr, mixed))} is a part of a mixture, and rows that share it cannot "
            "be drawn; write at_most, or a condition (where) for a narrow range of it"
        )
    rng = np.random.default_rng([seed, len(rows), _SHARED_KEY])
    own = [name for name in box.names if name in options.same]
    seen = {tuple(row[name] for name in box.names) for row in rows}
    most, found = max(ROWS_PER_LABEL * n, MIN_LEVEL_ROWS), list[Row]()
    for level in _levels(rows, own, rng):
        new = [{**rows[k], **level} for k in rng.permutation(len(rows)).tolist()]
        inside = box.contains([[row[name] for row in new] for name in box.names])
        kept = dict[tuple[object, ...], Row]()
        for row, fits in zip(new, inside.tolist(), strict=True):
            cells = tuple(row[name] for name in box.names)
            if fits and cells not in seen and len(kept) < most:
                kept[cells] = row
        if len(kept) >= n:
            seen |= kept.keys()
            found += kept.values()
    if not found:
        raise ValueError(
            f"same: no {n} rows of the box share one {' and '.join(own)}; ask for fewer, or begin "
            "with more rows (--rows)"
        )
    return found


def _levels(
    rows: Sequence[Row], names: Sequence[str], rng: np.random.Generator
) -> list[dict[str, object]]:
    """Values to share: evenly spaced of one input, of rows drawn at random for several."""
    count = min(SHARED_LEVELS, len(rows))
    if len(names) > 1:
        at = rng.choice(len(rows), count, replace=False).tolist()
        return [{name: rows[k][name] for name in names} for k in at]
    values = sorted({row[names[0]] for row in rows})
    steps = ((np.arange(count) + 0.5) / count * len(values)).astype(int)
    return [{names[0]: values[k]} for k in sorted(set(steps.tolist()))]
