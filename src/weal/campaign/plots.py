"""Figures of a campaign: `campaign.plot.predicted()`, or all figures in one folder.

    learning-curve.png     the series of the goal over the labels, and where to stop
    predicted.png          labels against their predictions
    experts.png            weights of the kinds of experts over the labels
    inputs.png             importance of the inputs

Each file is written whole, or not at all.
"""

from collections.abc import Callable

import numpy as np

from weal.campaign.ledger import Ledger
from weal.campaign.session import Session, trend
from weal.campaign.status import goal_in_force, honest_test
from weal.core.arrays import Array
from weal.diagnostics.error_trend import Trend
from weal.errors import WealError
from weal.plots.axes import PlotData, Plots, require_model
from weal.progress import Progress


def plots(session: Callable[[], Session]) -> Plots:
    """The figures of a campaign; each reads new events when it is drawn."""
    return Plots(lambda: view_of(session()))


def view_of(session: Session) -> PlotData:
    """The data of the figures; WealError before there is a model."""
    ledger, check, plan = session.ledger, honest_test(session.ledger.quantity()), session.pool.plan
    goal, until = goal_in_force(ledger)
    asked, checked = (_when_asked(ledger, check=drawn) for drawn in (False, True))

    def course(progress: Progress | None) -> Trend:
        found = trend(session, progress, goal)
        if found is None:
            raise WealError("there is nothing to draw before there is a model")
        return found

    return PlotData(
        session.view(),
        require_model(session.view(), session.beliefs),
        course,
        plan.names,
        plan,
        title=ledger.name,
        goal=goal,
        until=until,
        check=(check.rmse, check.error) if check else None,
        asked=asked,
        checked=checked,
    )


def _when_asked(ledger: Ledger, check: bool) -> Array:  # (n, 2)
    """Labels with the predictions from the time they were asked."""
    known = [past for past in ledger.quantity().foretold if past.body["mean"] is not None]
    pairs = [(past.told.y, past.body["mean"]) for past in known if past.body["check"] == check]
    return np.array(pairs).reshape(len(pairs), 2)
