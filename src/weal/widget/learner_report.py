"""The report of a learner in the widget: error or goal value, advice, and a learning curve.

The errors are those of leave-one-out, as in `learner.plot.learning_curve()`. The course of earlier
labels is kept, so that a further label adds a point to it.
"""

from collections import Counter

import numpy as np

from weal.diagnostics.error_trend import Trend, expected_error_inputs
from weal.diagnostics.learner_status import TrendCache
from weal.diagnostics.leave_one_out import baseline
from weal.diagnostics.stopping import change_by_last_labels
from weal.goals.protocol import GoalProgress
from weal.learner.joint_scores import lead_view
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.model.model import Model
from weal.quantities.protocol import Quantity
from weal.widget.protocol import LearningReport
from weal.widget.typed_labels import counts_text, finite_curve, headline_text

MIN_LAST_LABELS, LAST_SHARE = 5, 0.1  # labels whose effect the advice looks at


class LearnerReport:
    """The reports of a learner, one after another.

    Parameters
    ----------
    beliefs : PosteriorCache
        The cache of the learner.
    """

    def __init__(self, beliefs: PosteriorCache) -> None:
        self.beliefs = beliefs
        self._trends = TrendCache()

    def read(self, state: State) -> LearningReport:
        """The report of a state; empty before there is a model.

        Parameters
        ----------
        state : State
            Of the learner.

        Returns
        -------
        LearningReport
            Of words, how often each was told.
        """
        view = lead_view(state)
        names = [one.name for one in state.measured]
        lead = state.find_measured(state.settings.goal.scored(names)[0])
        if lead.words:
            return LearningReport(_word_counts(state, lead))
        if not view.has_model or not len(view.labels):
            return LearningReport()
        model = self.beliefs.model(view)
        trend = self._trends.read(view, model)
        if state.settings.goal.curve == "errors":
            return _error_report(view, model, trend)
        return _goal_report(view, trend)


def _error_report(view: QuantityView, model: Model, trend: Trend) -> LearningReport:
    """The error, what the last labels gained, and the errors so far."""
    goal, t = view.settings.goal, len(model.trained.y)
    last = max(MIN_LAST_LABELS, int(LAST_SHARE * t))
    X = expected_error_inputs(view.state)
    change = change_by_last_labels(model, view.settings.n_start, X, last)
    guess, error = baseline(model.scaling.means(model.trained.y)), trend.now.left_out
    return LearningReport(
        headline_text(goal, view.quantity, error, t, guess),
        goal.advice(GoalProgress(0, change, None, error, guess, t)),
        finite_curve((one.labels, one.left_out) for one in trend.marks),
        view.quantity.error_axis_label(),
    )


def _goal_report(view: QuantityView, trend: Trend) -> LearningReport:
    """The value of a goal with a set, and its course."""
    goal, quantity = view.settings.goal, view.quantity
    points: list[tuple[int, float | None]]
    points = [(one.labels, one.goal_value) for one in trend.marks]
    if goal.curve == "best" and not goal.is_joint:
        y = np.array([label.y for label in view.labels])
        best = (np.minimum if goal.lowest else np.maximum).accumulate(y).tolist()
        points = list(enumerate(best, start=1))
    curve = finite_curve(points)
    if not curve:
        return LearningReport()
    headline = headline_text(goal, quantity, curve[-1][1], curve[-1][0])
    return LearningReport(headline, "", curve, goal.curve_label(quantity.column or quantity.name))


def _word_counts(state: State, quantity: Quantity) -> str:
    """How often each word was told."""
    codes = Counter(int(label.y) for label in told_labels(state, quantity))
    return counts_text({word: codes[n] for n, word in enumerate(quantity.words)})
