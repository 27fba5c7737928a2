"""What a learner is, in a line and as HTML; nothing is computed for it."""

from typing import Any

from weal.learner.state import State
from weal.table.cards import card

_FEW = 60  # letters of the names that are shown


def line(state: State) -> str:
    """One line.

    >>> from weal import ActiveLearner
    >>> ActiveLearner([[1.0, 2.0], [3.0, 4.0]], target="yield [%]")
    <ActiveLearner: 2 candidates, 2 inputs, 0 labels of yield [%], no model before 5>
    """
    found = facts(state)
    parts = [f"{found['candidates']} candidates", str(found["inputs"])]
    labels = "1 label" if len(state.labels) == 1 else f"{len(state.labels)} labels"
    parts.append(labels + (f" of {state.candidates.target}" if state.candidates.target else ""))
    parts += [f"{found[name]} {name}" for name in ("asked", "skipped") if found[name]]
    if not state.fitted:
        parts.append(f"no model before {state.settings.n_start}")
    return f"<ActiveLearner: {', '.join(parts)}>"


def page(state: State) -> str:
    """The same as HTML."""
    target = state.candidates.target
    title = "ActiveLearner" + (f": {target}" if target else "")
    return card(title, {name: one for name, one in facts(state).items() if one != 0})


def facts(state: State) -> dict[str, Any]:
    """What there is to say."""
    pool, settings = state.candidates, state.settings
    shown = ", ".join(pool.input_names[:20])
    inputs = pool.plan.describe() if pool.plan else _counted(pool.X.shape[1])
    labels = f"{len(state.labels)}" if state.fitted else f"{len(state.labels)} of "
    return {
        "candidates": int(pool.present.sum()),
        "inputs": inputs,
        "named": "" if pool.columns is None else _short(shown),
        "labels": labels if state.fitted else f"{labels}{settings.n_start} before there is a model",
        "asked": len(state.asked),
        "skipped": len(state.skipped),
        "chooses by": ", ".join(settings.functions),
    }


def _counted(d: int) -> str:
    return "1 input" if d == 1 else f"{d} inputs"


def _short(names: str) -> str:
    return names if len(names) <= _FEW else f"{names[: _FEW - 3]}..."
