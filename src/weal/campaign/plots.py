"""Figures of a campaign: `campaign.plot.predicted()`, or all figures in one folder.

    learning-curve.png     the series of the goal over the labels, and where to stop
    predicted.png          labels against their predictions
    experts.png            weights of the kinds of experts over the labels
    inputs.png             importance of the inputs

Each file is written atomically. With several quantities, each has a folder.
"""

from collections.abc import Callable

import numpy as np

from weal.campaign.ledger import QuantityLedger
from weal.campaign.quantity_names import find_named
from weal.campaign.quantity_status import random_test
from weal.campaign.row_predictions import lead_quantity
from weal.campaign.session import Session, trend
from weal.campaign.status import goal_in_force
from weal.core.arrays import Array
from weal.diagnostics.error_trend import Trend
from weal.errors import NoModel, WealError
from weal.goals.learn import Learn
from weal.plots.axes import PlotData, Plots, require_model
from weal.progress import Progress


def plots(session: Callable[[], Session], quantity: str | None = None) -> Plots:
    """The figures of a quantity (None: the goal's first); each reads new events when drawn."""
    return Plots(lambda: view_of(session(), quantity))


def view_of(session: Session, quantity: str | None = None) -> PlotData:
    """The data of the figures; WealError before there is a model."""
    ledger, plan = session.ledger, session.pool.plan
    known = {name: one.quantity for name, one in ledger.quantities.items()}
    lead = lead_quantity(session.state)
    found = lead if quantity is None else find_named(known, quantity)
    if found.words:
        drawn = [name for name, one in known.items() if not one.words]
        other = f"draw {', '.join(drawn)}" if drawn else "`weal status` has its scores"
        raise WealError(f"{found.name} has words for labels, and figures are for numbers; {other}")
    own = ledger.quantity(found.name)
    check = random_test(own)
    goal, until = goal_in_force(ledger) if found == lead else (Learn(), None)
    asked, checked = (_when_asked(own, check=drawn) for drawn in (False, True))
    view = session.view(found.name)

    def course(progress: Progress | None) -> Trend:
        made = trend(session, progress, goal, found.name)
        if made is None:
            raise NoModel("there is nothing to draw before there is a model")
        return made

    return PlotData(
        view,
        require_model(view, session.beliefs),
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


def drawn_quantities(session: Session) -> tuple[list[str], list[str]]:
    """The numbers with a model, and notes on the quantities that are not drawn."""
    state = session.state
    numbers = [one for one in state.measured if not one.words]
    drawn = [one.name for one in numbers if state.view(one.name).has_model]
    notes = [f"{one.name}: words have no figures" for one in state.measured if one.words]
    notes += [f"{one.name}: no model yet" for one in numbers if one.name not in drawn]
    return drawn, notes


def _when_asked(own: QuantityLedger, check: bool) -> Array:  # (n, 2)
    """Labels with the predictions from the time they were asked."""
    known = [past for past in own.foretold if past.body["mean"] is not None]
    pairs = [(past.told.y, past.body["mean"]) for past in known if past.body["check"] == check]
    return np.array(pairs).reshape(len(pairs), 2)
