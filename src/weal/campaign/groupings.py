"""By what the labels of a campaign can be grouped: who told them, on which day, by which column.

Columns are those of the candidates that are no inputs (`--type instrument=drop`): what differs by
an input is what the model is there to learn. Columns with a value of its own for most rows say
nothing, and neither do those of candidates in files, which would have to be read for it.
"""

from collections.abc import Hashable

from weal.campaign.candidate_table import Pool
from weal.campaign.ledger import Ledger, Told
from weal.campaign.session import Session
from weal.learner.labels import Label
from weal.learner.state import State

BY, ON = "told by", "told on"
MOST_LEVELS = 20  # of a column
Groupings = dict[str, list[Hashable | None]]


def groupings(session: Session) -> Groupings:
    """For each way to group the labels, the group of each label of the learner, as told."""
    told = told_of(session.state, session.ledger)
    found: Groupings = {
        BY: [one.who if one and one.who else None for one in told],
        ON: [f"{one.time:%Y-%m-%d}" if one else None for one in told],
    }
    found |= _columns(session)
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def told_of(state: State, ledger: Ledger) -> list[Told | None]:
    """What the ledger has of each label of the learner, in its order."""
    left = {name: list(several) for name, several in ledger.labels.items()}
    return [_taken(left.get(str(label.name), []), label) for label in state.labels]


def _taken(several: list[Told], label: Label) -> Told | None:
    """The first of the labels of a row that says the same; it is taken off the list."""
    at = next((n for n, one in enumerate(several) if one.y == label.y), None)
    return several.pop(at) if at is not None else None


def _columns(session: Session) -> Groupings:
    """The cells of the labelled rows in columns that are no inputs."""
    pool, state = session.pool, session.state
    if not isinstance(pool, Pool):
        return {}
    names = [one.name for one in pool.plan.columns if one.kind == "dropped"]
    if not names:
        return {}
    rows = [pool.row(state.candidates.index[label.name]) for label in state.labels]
    found: Groupings = {name: [_cell(row.get(name)) for row in rows] for name in names}
    return {name: values for name, values in found.items() if len(set(values)) <= MOST_LEVELS}


def _cell(value: object) -> str | None:
    """A cell as text; None where it is empty."""
    return None if value is None or value != value else str(value).strip() or None
