"""The status of a learner: labels, error, model, labels to check, and advice on stopping.

It is the status of a campaign (`weal status`) without leases, people and budget, which a learner
does not have. The numbers are those of `model_status`, `headline` and `goal_set`.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from weal import text
from weal.diagnostics.error_trend import Trend, error_trend, expected_error_inputs, fingerprint
from weal.diagnostics.goal_headline import goal_headline
from weal.diagnostics.goal_set import set_progress
from weal.diagnostics.headline import Headline, error_headline
from weal.diagnostics.leave_one_out import baseline
from weal.diagnostics.model_status import ModelStatus, model_status
from weal.diagnostics.model_text import coverage_text, estimate, model_lines
from weal.diagnostics.stopping import labels_to_goal
from weal.diagnostics.suspects import Suspect, Suspects, suspects
from weal.diagnostics.word_scores import left_out_words, words_headline
from weal.goals.protocol import Goal, GoalProgress, SetProgress
from weal.goals.until import Until
from weal.learner.joint_beliefs import feasible_labels
from weal.learner.joint_scores import lead_view
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import has_models
from weal.learner.state import QuantityView, State
from weal.model.model import Model
from weal.progress import Progress
from weal.quantities.protocol import Quantity
from weal.text import number, percent

MAX_SUSPECTS_SHOWN = 5
NOT_CHOSEN = ("start", "told", "elsewhere", "repeat", "doubted")  # reasons in the history


class TrendCache:
    """The error estimates of a learner over its labels; further labels add points to them."""

    def __init__(self) -> None:
        self._kept: tuple[str, Trend] | None = None  # with the fingerprint of its labels

    def read(self, view: QuantityView, model: Model, progress: Progress | None = None) -> Trend:
        """The estimates of a view with a model."""
        X, goal, known = expected_error_inputs(view.state), view.settings.goal, None
        if self._kept is not None:
            of, before = self._kept
            t = before.now.labels
            if t <= len(model.trained.y) and of == fingerprint(model, X, t, goal):
                known = before
        found = error_trend(model, view.settings.n_start, X, known, progress, goal)
        self._kept = (fingerprint(model, X, found.now.labels, goal), found)
        return found


@dataclass(frozen=True, slots=True)
class LearnerStatus:
    """The status of a learner; `lines()` is its text, `headline` its one number."""

    candidates: int
    labels: int
    labelled: int  # rows
    quantities: Mapping[str, int]  # labels of each quantity, by name
    pending: int
    skipped: int
    missing: int  # labels before there is a model
    goal: str
    advice: str
    stopping: tuple[str, ...]  # lines after the advice: progress, comparison with random choice
    headline: Headline | None = None  # the one number of the goal; None: no model
    beliefs: ModelStatus | None = None  # errors, noise, inputs, experts; None: no model, or words
    members: SetProgress | None = None  # rows of the goal's set; None: it has none, or no model
    goal_lines: tuple[str, ...] = ()  # the same in words, with a heading
    suspects: tuple[Suspect, ...] = ()  # labels that are probably wrong

    def lines(self) -> list[str]:
        """The status as lines of text."""
        found = [*_count_lines(self)]
        if self.headline:
            found += ["", self.headline.words]
        if self.goal_lines:
            found += ["", self.goal_lines[0], *(f"  {line}" for line in self.goal_lines[1:])]
        if self.beliefs:
            found += ["", *_error_lines(self.beliefs), "", *model_lines(self.beliefs, 0)]
        if self.suspects:
            found += ["", "Labels to check: probably wrong"]
            found += [f"  {one.words}" for one in self.suspects[:MAX_SUSPECTS_SHOWN]]
            more = len(self.suspects) - MAX_SUSPECTS_SHOWN
            found += [f"  and {more} more: suspects() has all"] if more > 0 else []
        return [*found, "", "Stopping", *(f"  {one}" for one in (self.advice, *self.stopping))]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return text.facts_lines(self.lines())


def _count_lines(status: LearnerStatus) -> list[str]:
    share = percent(status.labelled / max(status.candidates, 1))
    counts = _count(status.labels, "label"), _count(status.candidates, "candidate")
    found = [f"{', '.join(counts)} ({share} labelled), goal {status.goal}"]
    if len(status.quantities) > 1:
        found += [f"  {text.shorten(name, 16):<16} {n:,}" for name, n in status.quantities.items()]
    found += [f"  {'asked':<16} {status.pending:,}"] if status.pending else []
    found += [f"  {'skipped':<16} {status.skipped:,}"] if status.skipped else []
    if status.missing:
        found.append(f"  no model yet     {_count(status.missing, 'more label')} needed")
    return found


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _error_lines(beliefs: ModelStatus) -> list[str]:
    over = f"by the model itself, over {beliefs.expected_over:,} candidates"
    explained = percent(max(beliefs.explained, 0.0))
    return [
        "Error estimates, in units of the label",
        estimate("leave-one-out", beliefs.left_out, "each label predicted from the others"),
        f"  {'':<13}  guessing the mean gives {number(beliefs.baseline)}: "
        f"{explained} of the variance explained",
        estimate("expected", beliefs.expected, over),
        f"  {coverage_text(beliefs.left_out_coverage)} in leave-one-out",
    ]


def learner_status(
    state: State, beliefs: PosteriorCache, trends: TrendCache, until: Until | None = None,
    progress: Progress | None = None,
) -> LearnerStatus:  # fmt: skip
    """The status of a state; `trends` keeps the error estimates from call to call."""
    goal, names = state.settings.goal, [one.name for one in state.measured]
    lead = state.find_measured(goal.scored(names)[0])
    counts = {one.name: len(told_labels(state, one)) for one in state.measured}
    plain = LearnerStatus(
        candidates=int(state.candidates.present.sum()),
        labels=sum(counts.values()),
        labelled=len(state.labelled),
        quantities=counts,
        pending=len(state.asked),
        skipped=len(state.skipped),
        missing=0 if has_models(state, lead) else _missing(state, lead),
        goal=goal.text,
        advice="",
        stopping=(),
    )
    if lead.words:
        return _words(state, beliefs, lead, plain)
    view = lead_view(state)
    if plain.missing or not len(view.labels):
        return replace(plain, advice=_advice(state, goal, until, GoalProgress(plain.missing)))
    return _number(view, beliefs, trends, until, plain, progress)


def _missing(state: State, lead: Quantity) -> int:
    return max(state.settings.n_start - len(told_labels(state, lead)), 1)


def _words(
    state: State, beliefs: PosteriorCache, lead: Quantity, plain: LearnerStatus
) -> LearnerStatus:
    """The status of a learner whose goal looks at words first."""
    goal, found = state.settings.goal, left_out_words(state, beliefs, lead)
    members = set_progress(state, beliefs, goal, None) if found else None
    advice = _advice(state, goal, None, GoalProgress(plain.missing, members=members))
    if found is None:
        return replace(plain, advice=advice)
    headline = words_headline(lead, *found)
    lines = tuple(goal.lines(members)) if members else ()
    advice = advice if members else headline.words
    return replace(plain, headline=headline, members=members, goal_lines=lines, advice=advice)


def _number(
    view: QuantityView, beliefs: PosteriorCache, trends: TrendCache, until: Until | None,
    plain: LearnerStatus, progress: Progress | None,
) -> LearnerStatus:  # fmt: skip
    """The status of a learner whose goal looks at a number first, and which has its model."""
    state, goal, model = view.state, view.settings.goal, beliefs.model(view)
    course, chosen = trends.read(view, model, progress), count_chosen(state)
    plan = state.candidates.plan
    status = model_status(view, beliefs, plan, goal, course, chosen > 0, progress)
    members = set_progress(state, beliefs, goal, course)
    known = _progress(view, model, course, status, until, members)
    if members and goal.is_joint:  # a label of a row that is not feasible ends no search
        y = feasible_labels(state, goal, view.quantity.name)
        known = replace(known, lowest=min(y, default=None), highest=max(y, default=None))
    shown = view.quantity.name if len(state.measured) > 1 or view.quantity.column else ""
    headline = error_headline(status, None, shown, view.quantity.unit, chosen)
    lines = [*(until.lines(known) if until else []), *goal.random_lines(status.random, known)]
    return replace(
        plain,
        advice=_advice(state, goal, until, known),
        stopping=tuple(lines),
        headline=goal_headline(state, beliefs, goal, members) if members else headline,
        beliefs=status,
        members=members,
        goal_lines=tuple(goal.lines(members)) if members else (),
        suspects=tuple(suspects(view, model, told_together(state))),
    )


def _progress(
    view: QuantityView, model: Model, course: Trend, status: ModelStatus, until: Until | None,
    members: SetProgress | None,
) -> GoalProgress:  # fmt: skip
    """The numbers that the words of the goal follow from."""
    y, error = [label.y for label in view.labels], until.error if until else None
    needed = None
    if error:
        needed = labels_to_goal(course, error, _left(view.state), view.settings.seed)
    guess = baseline(model.scaling.means(model.trained.y))
    own = (status.change, needed, course.now.left_out, guess, len(y), min(y), max(y))
    return GoalProgress(0, *own, members=members)


def _left(state: State) -> int:
    return int(state.candidates.present.sum()) - len(state.labelled)


def _advice(state: State, goal: Goal, until: Until | None, known: GoalProgress) -> str:
    left = _left(state)
    if left <= 0:
        return "All candidates are labelled: there is nothing left to ask."
    if known.missing > left:
        return (
            f"{_count(known.missing, 'more label')} needed before there is a model, and "
            f"{_count(left, 'candidate')} without a label: add candidates with learner.add()."
        )
    met = until.advice(known) if until else None
    said = met or goal.advice(known)
    return said.replace("`weal settings NAME --goal`", "`learner.change_goal`")


def count_chosen(state: State) -> int:
    """The number of labelled rows that the model has chosen."""
    return sum(
        row["why"] not in NOT_CHOSEN and (row["label"] is not None or bool(row.get("labels")))
        for row in state.history
    )


def told_together(state: State) -> dict[Hashable, Hashable]:
    """The batch of each row: rows asked in one batch, or told in one call, have one step."""
    return {row["id"]: row["step"] for row in state.history if row["id"] is not None}


def learner_suspects(view: QuantityView, beliefs: PosteriorCache) -> Suspects:
    """Labels of a number that are probably wrong; none before there is a model, and of words."""
    if not view.has_model or view.quantity.words:
        return Suspects()
    return Suspects(suspects(view, beliefs.model(view), told_together(view.state)))
