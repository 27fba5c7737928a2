"""Pictures of a campaign, in one folder.

    learning-curve.png     the three error estimates as labels came, and the goal
    predicted.png          labels beside what was expected of them
    experts.png            how the kinds of experts were weighed as labels came
    inputs.png             which inputs matter

Each is written whole, or not at all.
"""

import warnings
from pathlib import Path

import numpy as np

from weal.campaign.exporting import whole
from weal.campaign.kept_trend import trend
from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.campaign.status import honest_test
from weal.core.arrays import Array
from weal.diagnostics import input_importance
from weal.diagnostics.coverage import LEVEL
from weal.diagnostics.leave_one_out import left_out
from weal.diagnostics.progress import Progress
from weal.errors import WealError
from weal.plots import learner_figures as figures
from weal.plots.canvas import Plot, as_bytes


def draw(session: Session, folder: Path, progress: Progress | None = None) -> list[Path]:
    """Write the pictures into the folder; their paths."""
    paths, plots = [], plots_of(session, progress)
    folder.mkdir(parents=True, exist_ok=True)
    for n, (name, plot) in enumerate(plots.items()):
        paths.append(folder / f"{name}.png")
        with whole(paths[-1]) as draft:
            draft.write_bytes(_png(plot))
        if progress:
            progress("pictures", n + 1, len(plots))
    return paths


def plots_of(session: Session, progress: Progress | None = None) -> dict[str, Plot]:
    """The figures by name; WealError before there is a model."""
    state, ledger, course = session.state, session.ledger, trend(session, progress)
    if course is None:
        raise WealError(
            "there is nothing to draw before there is a model: "
            f"{len(state.labels)} of {state.settings.n_start} labels"
        )
    model, check = session.model, honest_test(ledger)
    goal, tested = ledger.settings["goal"], (check.rmse, check.error) if check else None
    y, alone = model.scaling.means(model.fold.y), left_out(model.fold, model.scaling, LEVEL)
    asked, checked = (_when_asked(ledger, check=drawn) for drawn in (False, True))
    shares = input_importance.shares(model, session.pool.plan.names)
    return {
        "learning-curve": figures.learning_curve(course, goal, tested, ledger.name),
        "predicted": figures.predicted(y, alone, asked, checked),
        "experts": figures.experts(course),
        "inputs": figures.inputs(shares),
    }


def _when_asked(ledger: Ledger, check: bool) -> Array:  # (n, 2)
    """Labels beside what was expected of them when they were asked."""
    known = [past for past in ledger.foretold if past.body["mean"] is not None]
    pairs = [(past.told.y, past.body["mean"]) for past in known if past.body["check"] == check]
    return np.array(pairs)


def _png(plot: Plot) -> bytes:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # an emoji in a name is a box then
        return as_bytes(plot, "png")
