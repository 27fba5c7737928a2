"""The set of a campaign's goal: how far it is known, and the table of its likeliest rows.

`set_progress` has the numbers that the goal's words follow from (`goals.protocol.SetProgress`).
`best` is the table of `weal best`: rows with their cells, measured or not, expected value, and the
probability of belonging to the set; beyond 2 % and 98 % probabilities are not calibrated, and are
shown as bounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weal.campaign.session import Session
from weal.core.extensions.feasibility import best_feasible
from weal.diagnostics.error_trend import Trend
from weal.diagnostics.set_progress import expected_f1, expected_wrong, largest_gain
from weal.errors import NoModel
from weal.goals.protocol import Goal, SetProgress
from weal.goals.threshold import WRONG_RANGE, reach
from weal.learner.best_rows import BestRows, best_rows, joint_gain, set_membership
from weal.learner.choosing import doubted_of_set
from weal.learner.joint_beliefs import joint_belief, joint_labels, pareto_rows_of
from weal.learner.joint_scores import lead_view
from weal.learner.repeats import belief_at, doubted_labels
from weal.learner.state import QuantityView
from weal.text import about, number, plus_minus, probability, some

if TYPE_CHECKING:
    import pandas


def goal_view(session: Session, goal: Goal) -> QuantityView:
    """The state with this goal, as the quantity that the goal looks at first sees it."""
    state = session.state
    return lead_view(replace(state, settings=replace(state.settings, goal=goal)))


def set_progress(session: Session, goal: Goal, course: Trend | None) -> SetProgress | None:
    """What the model says of the goal's set; None without a set, a model or rows."""
    view, beliefs = goal_view(session, goal), session.beliefs
    found = set_membership(view.state, beliefs, goal) if view.has_model else None
    if found is None or not len(found.at):
        return None
    pool, p = view.candidates, found.p
    names = [pool.ids[n] for n in found.at.tolist()]
    labels = view.mean_labels()
    measured = np.array([name in labels for name in names])
    free = found.at[~measured & np.array([name not in view.state.skipped for name in names])]
    y = np.array([label.y for label in view.labels])
    progress = SetProgress(
        session.ledger.rows,
        int(measured.sum()),
        float(p[measured].sum()),
        float(p[~measured].sum()),
        wrong=expected_wrong(p),
        f1=expected_f1(p),
        label_sd=float(y.std(ddof=1)) if len(y) > 1 else 0.0,
        doubted=doubted_rows(session, goal),
        reach=reach(p) if goal.curve == "f1" else None,
    )
    if goal.is_joint:
        return joint_progress(session, goal, progress, found.at, free)
    if goal.curve != "best":
        return progress
    first, gains = _best_label(session, view, goal), _gains(session, view, goal, course, free)
    return replace(progress, best_id=first[0], best=first[1], gain=gains[0], gain_before=gains[1])


def joint_progress(
    session: Session,
    goal: Goal,
    progress: SetProgress,
    at: NDArray[np.intp],
    free: NDArray[np.intp],
) -> SetProgress:
    """The progress of a goal over several quantities, with its constraints and its front."""
    view, beliefs = goal_view(session, goal), session.beliefs
    told = joint_labels(view.state, beliefs)
    feasible = goal.meets(told.labels)
    log_p = goal.log_feasible(joint_belief(view.state, beliefs, goal, at))
    gain = joint_gain(view.state, beliefs, goal, free) if len(free) else None
    front: tuple[tuple[str, float, float], ...] = ()
    own: tuple[str | None, float | None] = (None, None)
    if len(goal.directions) == 2:
        rows = pareto_rows_of(view.state, beliefs, goal)
        front = tuple((str(id), first, second) for id, first, second in rows)
    elif goal.directions:
        y = told.labels[view.quantity.name]
        n = best_feasible(y, feasible, goal.lowest)
        own = (None, None) if n is None else (str(told.ids[n]), float(y[n]))
        gain = None if gain is None else gain * float(beliefs.model(view).scaling.y_sd)
    return replace(
        progress,
        best_id=own[0],
        best=own[1],
        gain=gain,
        feasible=None if log_p is None else int(feasible.sum()),
        expected_feasible=None if log_p is None else float(np.exp(log_p).sum()),
        front=front,
    )


def doubted_rows(session: Session, goal: Goal) -> tuple[str, ...]:
    """Rows whose label is treated as wrong, and would be the best or change the set if right."""
    view = goal_view(session, goal)
    if goal.set_text is None or not view.has_model:
        return ()
    return tuple(map(str, doubted_of_set(view, session.beliefs)))


def _best_label(
    session: Session, view: QuantityView, goal: Goal
) -> tuple[str | None, float | None]:
    """The row with the best label that counts, and the label."""
    doubted = doubted_labels(view, session.beliefs.model(view))
    known = {name: y for name, y in view.mean_labels().items() if name not in doubted}
    if not known:
        return None, None
    name = (min if goal.lowest else max)(known, key=known.__getitem__)
    return str(name), float(known[name])


def _gains(
    session: Session, view: QuantityView, goal: Goal, course: Trend | None, free: NDArray[np.intp],
) -> tuple[float | None, float | None]:  # fmt: skip
    """The largest expected improvement over the free rows, now and before the last label."""
    before = course.marks[-2].goal_value if course and len(course.marks) > 1 else None
    if not len(free):
        return None, before
    belief = belief_at(session.beliefs.posterior(view), free)
    scale = float(session.beliefs.model(view).scaling.y_sd)
    return largest_gain(belief, goal.lowest, scale), before


def reach_note(session: Session, goal: Goal) -> str | None:
    """The sentence on a level that no row can reach, or that all do; None: some may."""
    view = goal_view(session, goal)
    found = set_membership(view.state, session.beliefs, goal) if view.has_model else None
    which = reach(found.p) if found is not None and goal.curve == "f1" else None
    return goal.reach_text(which).replace("NAME", quote(session.ledger.name)) if which else None


def doubt_note(session: Session) -> str | None:
    """The offer to repeat labels that are treated as wrong, and would change the goal's set."""
    goal = session.state.settings.goal
    found, which = doubted_rows(session, goal), goal.set_text
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
    """The rows that are likeliest to belong to the set of a goal, the likeliest first."""

    goal: Goal
    rows: tuple[BestRow, ...]
    members: SetProgress
    inputs: tuple[str, ...]  # columns that are inputs
    quantities: tuple[str, ...] = ()  # of a goal over several; empty: the only one

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
        """What is not in the table, in sentences."""
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
                f"measure again first: {', '.join(members.doubted)} (treated as wrong, and may be "
                "in the set)"
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

    def to_frame(self) -> "pandas.DataFrame":
        """Id, inputs as they were given, measured, expected, uncertainty and probability.

        Of a goal over several quantities the first three for each of them.
        """
        import pandas

        columns: dict[str, list[object]] = {"id": [row.id for row in self.rows]}
        for name in self.inputs:
            columns[f"{name}_" if name == "id" else name] = [row.row.get(name) for row in self.rows]
        for name, cells in self._own_columns().items():
            columns[f"{name}_" if name in columns else name] = cells
        return pandas.DataFrame(columns)

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
    """The n likeliest rows of the goal's set; NoModel before there is a model."""
    if goal.set_text is None:
        raise ValueError(
            "the goal is learn, which looks for no rows: give one with --goal maximise, or change "
            f"it with `weal settings {quote(session.ledger.name)} --goal maximise`"
        )
    view, members = goal_view(session, goal), set_progress(session, goal, None)
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
