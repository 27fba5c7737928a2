"""The set of a campaign's goal: the table of its most probable rows, and notes on it.

Its progress is that of `diagnostics.goal_set`. `best` is the table of `weal best`: rows with their
cells, measured or not, expected value, and the probability of belonging to the set; beyond 2 % and
98 % probabilities are not calibrated, and are shown as bounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any

from weal.campaign.session import Session
from weal.diagnostics.goal_set import doubted_rows, goal_view, set_progress
from weal.errors import NoModel
from weal.goals.protocol import Goal, SetProgress
from weal.goals.threshold import WRONG_RANGE, reach
from weal.learner.best_rows import BestRows, best_rows, set_membership
from weal.text import about, number, plus_minus, probability, some

if TYPE_CHECKING:
    from weal.tables.frame_kinds import FrameKind


def reach_note(session: Session, goal: Goal) -> str | None:
    """The sentence on a level that no row or every row reaches; otherwise None."""
    view = goal_view(session.state, goal)
    found = set_membership(view.state, session.beliefs, goal) if view.has_model else None
    which = reach(found.p) if found is not None and goal.curve == "f1" else None
    return goal.reach_text(which).replace("NAME", quote(session.ledger.name)) if which else None


def doubt_note(session: Session) -> str | None:
    """The advice to repeat labels that are treated as wrong and matter for the goal."""
    goal = session.state.settings.goal
    found, which = (
        [str(one) for one in doubted_rows(session.state, session.beliefs, goal)],
        goal.set_text,
    )
    if not found:
        return None
    again = f"weal tell {quote(session.ledger.name)} {quote(found[0])} VALUE --repeat"
    return (
        f"measure {some(found, 3)} again first: treated as wrong, and may be {which}; "
        f"`{again}` saves the second label"
    )


@dataclass(frozen=True, slots=True)
class BestRow:
    """A row that may belong to the set of the goal."""

    id: str
    row: dict[str, object]  # its original cells
    measured: float | None  # mean of its labels
    mean: float  # expected, and
    sd: float  # its uncertainty
    probability: float  # of belonging to the set
    feasible: float | None = None  # the probability of meeting all constraints
    pareto: bool | None = None  # whether it is a measured Pareto row
    quantities: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # of joint goals

    def to_dict(self) -> dict[str, object]:
        """The row as JSON."""
        own = {"measured": self.measured, "mean": self.mean, "sd": self.sd}
        shown = {"probability": self.probability, "shown": probability(self.probability)}
        joint = {"feasible": self.feasible, "pareto": self.pareto, "quantities": self.quantities}
        others = {name: value for name, value in joint.items() if value not in (None, {})}
        return {"id": self.id, "row": self.row, **own, **shown, **others}


@dataclass(frozen=True, slots=True)
class BestTable:
    """The rows that most probably belong to the set of a goal, the most probable first."""

    goal: Goal
    rows: tuple[BestRow, ...]
    members: SetProgress
    inputs: tuple[str, ...]  # columns that are inputs
    quantities: tuple[str, ...] = ()  # of a goal over several; empty: the only one
    kind: "FrameKind | None" = None  # of the frame of `to_frame`

    @property
    def heading(self) -> str:
        """The name of the column of probabilities."""
        return f"P({self.goal.set_text})"

    @property
    def headings(self) -> list[str]:
        """The names of the columns behind the inputs."""
        if not self.quantities:
            return ["measured", "expected", self.heading]
        found = list(self.quantities)
        found += ["P(feasible)"] if any(row.feasible is not None for row in self.rows) else []
        return [*found, "Pareto row" if len(self.goal.directions) == 2 else self.heading]

    @property
    def words(self) -> list[str]:
        """Sentences on what the table does not show."""
        members, size = self.members, self.members.measured + self.members.unmeasured
        which = str(self.goal.set_text)
        every = f"{about(size)} rows {which}"
        if self.goal.curve == "best":
            every = f"{which.removeprefix('among ').removesuffix(' rows')} rows"
        found = [f"{about(members.unmeasured)} of {every} are still unmeasured"]
        if len(self.goal.directions) == 2:
            found = [
                "measured Pareto rows come first; the others have the probability of lying beyond "
                "them"
            ]
        if members.feasible is not None:
            found.append(
                f"{members.feasible} measured rows meet all constraints; "
                f"{about(members.expected_feasible or 0.0)} of all rows are expected to"
            )
        if self.goal.curve == "f1":
            low, high = (number(times * members.wrong, 2) for times in WRONG_RANGE)
            found.append(
                f"about {number(members.wrong, 2)} rows of all are expected on the wrong side "
                f"({low} to {high} in a single campaign)"
            )
            if members.reach:
                found.append(self.goal.reach_text(members.reach))
        if members.doubted:
            found.append(
                f"measure again first: {', '.join(map(str, members.doubted))} (treated as wrong, "
                "and may be in the set)"
            )
        return [words[0].upper() + words[1:] for words in found]

    def to_dict(self) -> dict[str, object]:
        """The table as JSON."""
        wrong = self.members.wrong
        low, high = (times * wrong for times in WRONG_RANGE)
        return {
            "goal": self.goal.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
            "unmeasured": self.members.unmeasured,
            "wrong": {"expected": wrong, "low": low, "high": high}
            if self.goal.curve == "f1"
            else None,
            "words": self.words,
        }

    def cells(self, inputs: int) -> list[list[str]]:
        """The rows as text: id, so many inputs, and the columns of `headings`."""
        return [
            [
                row.id,
                *(_cell_text(row.row.get(name)) for name in self.inputs[:inputs]),
                *self._own_cells(row),
            ]
            for row in self.rows
        ]

    def _own_cells(self, row: BestRow) -> list[str]:
        if not self.quantities:
            measured = "" if row.measured is None else number(row.measured)
            return [measured, plus_minus(row.mean, row.sd), probability(row.probability)]
        found = [_quantity_text(row.quantities[name]) for name in self.quantities]
        found += [] if row.feasible is None else [probability(row.feasible)]
        return [*found, "measured" if row.pareto else probability(row.probability)]

    def to_frame(self) -> Any:
        """The columns as a frame, of the kind of `Campaign.to_frame`."""
        from weal.tables.frame_kinds import make_frame

        return make_frame(self.columns(), self.kind)

    def columns(self) -> dict[str, list[object]]:
        """Id, inputs as they were given, measured, expected, uncertainty and probability.

        For a goal over several quantities, the first three are repeated for each quantity.
        """
        columns: dict[str, list[object]] = {"id": [row.id for row in self.rows]}
        for name in self.inputs:
            columns[f"{name}_" if name == "id" else name] = [row.row.get(name) for row in self.rows]
        for name, cells in self._own_columns().items():
            columns[f"{name}_" if name in columns else name] = cells
        return columns

    def _own_columns(self) -> dict[str, list[object]]:
        own = {"measured": "measured", "expected": "mean", "uncertainty": "sd"}
        found: dict[str, list[object]] = {}
        if not self.quantities:
            for name, key in own.items():
                found[name] = [getattr(row, key) for row in self.rows]
        for quantity in self.quantities:
            for name in ("measured", "expected", "sd"):
                cells = [row.quantities[quantity][name] for row in self.rows]
                found[f"{quantity} {name.replace('sd', 'uncertainty')}"] = cells
        if any(row.feasible is not None for row in self.rows):
            found["feasible"] = [row.feasible for row in self.rows]
        if any(row.pareto is not None for row in self.rows):
            found["pareto"] = [row.pareto for row in self.rows]
        return {**found, "probability": [row.probability for row in self.rows]}


def _quantity_text(of: Mapping[str, object]) -> str:
    """The label of a row, or what is expected: 82.1, (80 +- 3), (yes 0.9)."""
    if of["measured"] is not None:
        return _cell_text(of["measured"])
    expected, sd = of["expected"], of["sd"]
    if expected is None:
        return ""
    if isinstance(expected, float) and isinstance(sd, float):
        return f"({plus_minus(expected, sd)})"
    return f"({expected} {probability(sd)})" if isinstance(sd, float) else f"({expected})"


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else str(value)


def best(session: Session, goal: Goal, n: int) -> BestTable:
    """The n most probable rows of the goal's set; NoModel before there is a model."""
    if goal.set_text is None:
        raise ValueError(
            "the goal is learn, which looks for no rows: give one with --goal maximise, or change "
            f"it with `weal settings {quote(session.ledger.name)} --goal maximise`"
        )
    view, members = (
        goal_view(session.state, goal),
        set_progress(session.state, session.beliefs, goal, None),
    )
    if members is None:
        missing = max(view.settings.n_start - len(view.labels), 1)
        raise NoModel(f"there is no model yet: {missing} more labels are needed")
    found = best_rows(view.state, session.beliefs, n, goal)
    inputs = tuple(one.name for one in session.pool.plan.columns if one.kind != "dropped")
    rows = tuple(_best_row(session, found, n) for n in range(len(found.ids)))
    return BestTable(goal, rows, members, inputs, tuple(found.quantities))


def _best_row(session: Session, found: BestRows, n: int) -> BestRow:
    """The n-th row of a table."""
    name, measured = found.ids[n], found.measured[n]
    quantities = {
        quantity: {
            "measured": of.measured[n],
            "expected": of.expected[n],
            "sd": of.sd[n] if of.sd[n] == of.sd[n] else None,
        }
        for quantity, of in found.quantities.items()
    }
    return BestRow(
        str(name),
        session.pool.row(session.state.candidates.index[name]),
        None if measured != measured else measured,
        float(found.mean[n]),
        float(found.sd[n]),
        float(found.probability[n]),
        None if found.feasible is None else float(found.feasible[n]),
        None if found.on_front is None else found.on_front[n],
        quantities,
    )
