"""The result of `weal.simulate` and `weal simulate`: the verdict, its numbers and the curves.

A simulation has the metric after each label, in R realisations, of choosing and of random choice:

    learn          NMSE on test rows: lower is better
    goals          the share of the best rows that are measured, or F1: higher is better

The verdict is that of `labels_saved`, of the same curves: words and table cannot disagree.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.benchmark.labels_saved import LabelsSaved, mean_saved
from weal.benchmark.statistics import Interval
from weal.core.arrays import Array
from weal.goals.protocol import Goal
from weal.text import facts_html, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from weal.benchmark.labels_saved import Verdict
    from weal.tables.frame_kinds import FrameKind

NMSE = "NMSE"
_ROWS_SHOWN = 6  # numbers of labels in the table of a notebook


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Would choosing rows have saved labels on a table?

    Attributes
    ----------
    verdict : {"fewer", "more", "undecided"}
        Whether choosing needs fewer labels than random choice.
    words : list of str
        The verdict and the numbers behind it, in sentences.
    saved : Interval
        Labels saved: mean over the realisations, and 95 % interval.
    labels : tuple of int
        Numbers of labels of the curves.
    chosen : array (R, T + 1)
        The metric of each realisation after these labels, by choosing.
    drawn : array (R, T + 1)
        The same at random.
    """

    goal: Goal
    target: str
    metric: str  # what counts, in words
    labels: tuple[int, ...]
    chosen: Array  # (R, T + 1)
    drawn: Array  # (R, T + 1)
    comparison: LabelsSaved
    notes: tuple[str, ...] = ()  # rows and columns that were left out
    wanted: int = 0  # realisations asked for; more than R where the run was interrupted
    kind: "FrameKind | None" = None  # of the frame that the table was; None: it was a file

    @property
    def verdict(self) -> "Verdict":
        """Whether choosing needs "fewer" labels, "more", or it is "undecided"."""
        return self.comparison.verdict

    @property
    def saved(self) -> Interval:
        """Labels saved: mean, 95 % interval, and number of realisations."""
        return self.comparison.saved

    @property
    def words(self) -> list[str]:
        """The answer in sentences."""
        found = [self.comparison.words, self._at_the_end()]
        if len(self.chosen) < self.wanted:
            found.append(f"Interrupted after {len(self.chosen)} of {self.wanted} realisations.")
        return found

    def to_dict(self) -> dict[str, object]:
        """The simulation as JSON values."""
        saved = self.saved
        ends = [end if np.isfinite(end) else None for end in (saved.low, saved.high)]
        return {
            "goal": self.goal.to_dict(),
            "metric": self.metric,
            "realisations": saved.n,
            "labels": list(self.labels),
            "chosen": self.chosen.mean(axis=0).tolist(),
            "random": self.drawn.mean(axis=0).tolist(),
            "saved": {"mean": saved.mean, "low": ends[0], "high": ends[1]},
            "verdict": self.verdict,
            "words": self.words,
        }

    def to_frame(self) -> Any:
        """Labels, and the mean metric after them by choosing and at random.

        Returns
        -------
        frame
            As the kind of table that was simulated; of a file, pandas, or polars without it.
        """
        from weal.tables.frame_kinds import make_frame

        means = {"choosing": self.chosen.mean(axis=0), "random": self.drawn.mean(axis=0)}
        return make_frame({"labels": list(self.labels), **means}, self.kind)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The metric against labels: means over the realisations, and the middle half of them.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None: axes of a new figure, which a notebook shows.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from weal.plots.canvas import BLUE, GREY, axes, legend_of, plain, style_for

        with style_for(ax):
            found, lines = axes(2.7, ax), []
            for curves, colour in ((self.chosen, BLUE), (self.drawn, GREY)):
                low, high = np.quantile(curves, [0.25, 0.75], axis=0)
                found.fill_between(self.labels, low, high, color=colour, alpha=0.2, linewidth=0)
                lines += found.plot(self.labels, curves.mean(axis=0), color=colour)
            found.set_xlabel("labels")
            found.set_ylabel(plain(self.metric))
            legend_of(found, lines, ["choosing", "random"])
            return found

    def __repr__(self) -> str:
        return "\n".join(self.words)

    def _repr_html_(self) -> str:
        at = np.unique(np.linspace(0, len(self.labels) - 1, _ROWS_SHOWN).round().astype(int))
        shown = {f"{self.metric} after {self.labels[n]} labels": self._both(n) for n in at.tolist()}
        return facts_html(" ".join(self.words), shown)

    def _both(self, n: int) -> str:
        ours, theirs = (self._format(float(one[:, n].mean())) for one in (self.chosen, self.drawn))
        return f"{ours}, and {theirs} at random"

    def _format(self, value: float) -> str:
        return percent(value) if "share" in self.metric else number(value, 2)

    def _at_the_end(self) -> str:
        return f"After {self.labels[-1]} labels the {self.metric} was {self._both(-1)}."


def simulation_of(
    goal: Goal, target: str, metric: str, labels: tuple[int, ...], chosen: Array, drawn: Array,
    notes: tuple[str, ...] = (), wanted: int = 0, kind: "FrameKind | None" = None,
) -> Simulation:  # fmt: skip
    """The simulation of these curves (R, T + 1), whose metric is an error for the goal learn."""
    if goal.set_text is None:
        found = mean_saved(chosen, drawn, "choosing", errors=True)
    else:
        found = mean_saved(chosen, drawn, f"choosing for the goal {goal.text}", errors=False)
    return Simulation(goal, target, metric, labels, chosen, drawn, found, notes, wanted, kind)
