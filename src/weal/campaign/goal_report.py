"""The set of a campaign's goal: how far it is known, and the table of its likeliest rows.

`set_progress` has the numbers that the goal's words follow from (`goals.protocol.SetProgress`).
`best` is the table of `weal best`: rows with their cells, measured or not, expected value, and the
probability of belonging to the set; beyond 2 % and 98 % probabilities are not calibrated, and are
shown as bounds.
"""

from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weal.campaign.session import Session
from weal.diagnostics.error_trend import Trend
from weal.diagnostics.set_progress import expected_f1, expected_wrong, largest_gain
from weal.errors import WealError
from weal.goals.protocol import Goal, SetProgress
from weal.goals.threshold import WRONG_RANGE, reach
from weal.learner.best_rows import best_rows, set_membership
from weal.learner.choosing import doubted_of_set
from weal.learner.repeats import belief_at, doubted_labels
from weal.learner.state import QuantityView
from weal.text import about, number, plus_minus, probability, some

if TYPE_CHECKING:
    import pandas


def set_progress(session: Session, goal: Goal, course: Trend | None) -> SetProgress | None:
    """What the model says of the goal's set; None without a set, a model or rows."""
    view, beliefs = session.view(), session.beliefs
    found = set_membership(view, beliefs, goal) if view.has_model else None
    if found is None or not len(found.at):
        return None
    pool, p = view.candidates, found.p
    names = [pool.ids[n] for n in found.at.tolist()]
    labels = view.mean_labels()
    measured = np.array([name in labels for name in names])
    free = found.at[~measured & np.array([name not in view.state.skipped for name in names])]
    y = np.array([label.y for label in view.labels])
    sd = float(y.std(ddof=1)) if len(y) > 1 else 0.0
    first = _best_label(session, view, goal) if goal.curve == "best" else (None, None)
    gains = _gains(session, view, goal, course, free) if goal.curve == "best" else (None, None)
    return SetProgress(
        session.ledger.rows,
        int(measured.sum()),
        float(p[measured].sum()),
        float(p[~measured].sum()),
        wrong=expected_wrong(p),
        f1=expected_f1(p),
        label_sd=sd,
        best_id=first[0],
        best=first[1],
        gain=gains[0],
        gain_before=gains[1],
        doubted=doubted_rows(session, goal),
        reach=reach(p) if goal.curve == "f1" else None,
    )


def doubted_rows(session: Session, goal: Goal) -> tuple[str, ...]:
    """Rows whose label is treated as wrong, and would be the best or change the set if right."""
    view = session.view()
    if goal.set_text is None or not view.has_model:
        return ()
    return tuple(map(str, doubted_of_set(_with_goal(view, goal), session.beliefs)))


def _with_goal(view: QuantityView, goal: Goal) -> QuantityView:
    """The view of the same state with this goal."""
    settings = replace(view.state.settings, goal=goal)
    return replace(view, state=replace(view.state, settings=settings))


def _best_label(
    session: Session, view: QuantityView, goal: Goal
) -> tuple[str | None, float | None]:
    """The row with the best label that counts, and the label."""
    doubted = doubted_labels(view, session.model())
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
    scale = float(session.model().scaling.y_sd)
    return largest_gain(belief, goal.lowest, scale), before


def reach_note(session: Session, goal: Goal) -> str | None:
    """The sentence on a level that no row can reach, or that all do; None: some may."""
    view = session.view()
    found = set_membership(view, session.beliefs, goal) if view.has_model else None
    which = reach(found.p) if found is not None and goal.curve == "f1" else None
    return goal.reach_text(which).replace("NAME", quote(session.ledger.name)) if which else None


def doubt_note(session: Session) -> str | None:
    """The offer to repeat labels that are treated as wrong, and would change the goal's set."""
    goal = session.view().settings.goal
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

    def to_dict(self) -> dict[str, object]:
        """The row as JSON."""
        own = {"measured": self.measured, "mean": self.mean, "sd": self.sd}
        shown = {"probability": self.probability, "shown": probability(self.probability)}
        return {"id": self.id, "row": self.row, **own, **shown}


@dataclass(frozen=True, slots=True)
class BestTable:
    """The rows that are likeliest to belong to the set of a goal, the likeliest first."""

    goal: Goal
    rows: tuple[BestRow, ...]
    members: SetProgress
    inputs: tuple[str, ...]  # columns that are inputs

    @property
    def heading(self) -> str:
        """The name of the column of probabilities."""
        return f"P({self.goal.set_text})"

    @property
    def words(self) -> list[str]:
        """What is not in the table, in sentences."""
        members, size = self.members, self.members.measured + self.members.unmeasured
        which = str(self.goal.set_text)
        every = f"{about(size)} rows {which}"
        if self.goal.curve == "best":
            every = f"{which.removeprefix('among ')} rows"
        found = [f"{about(members.unmeasured)} of {every} are still unmeasured"]
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
        """The rows as text: id, so many inputs, measured, expected, probability."""
        return [
            [
                row.id,
                *(_cell_text(row.row.get(name)) for name in self.inputs[:inputs]),
                "" if row.measured is None else number(row.measured),
                plus_minus(row.mean, row.sd),
                probability(row.probability),
            ]
            for row in self.rows
        ]

    def to_frame(self) -> "pandas.DataFrame":
        """Id, inputs as they were given, measured, expected, uncertainty and probability."""
        import pandas

        columns: dict[str, list[object]] = {"id": [row.id for row in self.rows]}
        for name in self.inputs:
            columns[f"{name}_" if name == "id" else name] = [row.row.get(name) for row in self.rows]
        own = {"measured": "measured", "expected": "mean", "uncertainty": "sd"}
        for name, field in {**own, "probability": "probability"}.items():
            free = f"{name}_" if name in columns else name
            columns[free] = [getattr(row, field) for row in self.rows]
        return pandas.DataFrame(columns)


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else str(value)


def best(session: Session, goal: Goal, n: int) -> BestTable:
    """The n likeliest rows of the goal's set; WealError before there is a model."""
    if goal.set_text is None:
        raise ValueError(
            "the goal is learn, which looks for no rows: give one with --goal maximise, or change "
            f"it with `weal settings {quote(session.ledger.name)} --goal maximise`"
        )
    view, members = session.view(), set_progress(session, goal, None)
    if members is None:
        missing = max(view.settings.n_start - len(view.labels), 1)
        raise WealError(f"there is no model yet: {missing} more labels are needed")
    found = best_rows(view, session.beliefs, n, goal)
    numbers = (found.measured, found.mean.tolist(), found.sd.tolist(), found.probability.tolist())
    rows = tuple(
        BestRow(
            str(name),
            session.pool.row(view.candidates.index[name]),
            None if y != y else y,
            mean,
            sd,
            p,
        )
        for name, y, mean, sd, p in zip(found.ids, *numbers, strict=True)
    )
    inputs = tuple(one.name for one in session.pool.plan.columns if one.kind != "dropped")
    return BestTable(goal, rows, members, inputs)
