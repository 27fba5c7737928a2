"""`weal.simulate`: would choosing rows have saved labels on a table like this?

Labels of a table are hidden and asked for one by one, by choosing and at random, with the default
model. For the goal learn the error is that on test rows (`user_table`, `runner`); for the others
what counts is that of `goal_simulation`. `weal simulate` is the same in the shell, with a report.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weal.benchmark.goal_simulation import simulate_goal
from weal.benchmark.labels_saved import curves_of
from weal.benchmark.protocol import check_whole, make_plan
from weal.benchmark.runner import Outcome, RunProgress, carry_out
from weal.benchmark.simulation import NMSE, Simulation, simulation_of
from weal.benchmark.tasks import Task
from weal.benchmark.user_table import points_from_table, task_of
from weal.goals.grammar import parse_goal
from weal.goals.learn import Learn
from weal.goals.protocol import Goal
from weal.progress import Progress, line_on_stderr
from weal.tables.frame_kinds import FrameKind, frame_kind
from weal.tables.table_options import TableOptions, check_features

if TYPE_CHECKING:
    import pandas as pd

CHOOSING, RANDOM = "weal-auto", "weal-random"


def simulate(
    table: Any,
    target: str,
    goal: Goal | str = "learn",
    *,
    realisations: int = 10,
    queries: int = 100,
    random_state: int = 0,
    id_column: str | None = None,
    features: str | Sequence[str] = "auto",
    types: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Simulation:
    """Find out whether choosing rows would have saved labels on a table of results.

    Labels are hidden and asked for one by one: by choosing, and at random. Ctrl-C ends it with the
    realisations that are finished.

    Parameters
    ----------
    table : path or frame
        A CSV, Excel or Parquet file, or a pandas, polars or pyarrow frame, with a label in most
        rows; it is read as the candidates of a campaign are.
    target : str
        The column of the labels, numbers.
    goal : str or goal of `weal.goals`
        What the labels would be for: "learn", "maximise", "minimise", "best 10", "above 7.5", ...
    realisations : int
        How often it is done, from other random rows. Fewer than 6 decide nothing.
    queries : int
        Labels to ask for in each; fewer where the table has fewer rows.
    random_state : int
        Seed of everything random.
    id_column : str or None
        The column of the ids; it is not an input.
    features : list of str, or "auto"
        Columns to use; "auto": all that can be.
    types : dict of column to type, or None
        What a column is, where a guess would be wrong: {"made": "day-first"}.
    jobs : int or None
        Processes; None: one for each core.
    progress : bool, function or None
        Whether progress is shown on standard error (None: on a terminal), or a function that is
        called with what is being done, how far it is, and of how much.

    Returns
    -------
    Simulation
        With `verdict` ("fewer" labels, "more" or "undecided"), `words`, `saved` with its 95 %
        interval, the curves (`labels`, `chosen`, `drawn`, `to_frame()`), and `plot()`.

    Raises
    ------
    ValueError
        Where the table has no such column or fewer than 40 labelled rows, or the goal does not fit
        its labels.

    Examples
    --------
    >>> import numpy as np, pandas as pd, weal
    >>> X = np.random.default_rng(0).uniform(0, 1, (60, 2))
    >>> table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.sin(5 * X[:, 0]) + X[:, 1]})
    >>> found = weal.simulate(table, "y", "best 3", realisations=2, queries=3, jobs=1)
    >>> found.verdict, found.labels
    ('undecided', (10, 11, 12, 13))
    >>> found
    Undecided: 2 realisations are too few to tell; take 10 or more.
    After 13 labels the share of the 3 best rows was ...
    """
    wanted = parse_goal(goal) if isinstance(goal, str) else goal
    check_whole("realisations", realisations, 1)
    check_whole("queries", queries, 1)
    check_whole("random_state", random_state, 0)
    how = TableOptions(id_column, target, check_features(features), types or {})
    points, notes = points_from_table(table, target, how)
    kind = None if isinstance(table, os.PathLike) else frame_kind(table)
    told = _callback(progress)
    if wanted.set_text is not None:
        given = (realisations, queries, random_state, jobs, told, notes, kind)
        return simulate_goal(points, wanted, *given)
    task = task_of(points)
    plan = make_plan(
        task, [CHOOSING, RANDOM], realisations=realisations, T=queries, seed=random_state
    )
    outcome = carry_out(plan, jobs=jobs, progress=_steps(told), keep_finished=True)
    return learn_simulation(outcome, task, notes, realisations, kind)


def learn_simulation(
    outcome: Outcome,
    task: Task,
    notes: tuple[str, ...],
    realisations: int,
    kind: FrameKind | None = None,
) -> Simulation:
    """The simulation of the goal learn, from the results of both methods on a task."""
    results = _pairs(outcome.results)
    chosen, drawn = (curves_of(results, name) for name in (CHOOSING, RANDOM))
    labels = tuple(range(task.L0, task.L0 + chosen.shape[1]))
    target = task.title.rpartition(": ")[2]
    given = (labels, chosen, drawn, notes, realisations, kind)
    return simulation_of(Learn(), target, NMSE, *given)


def _pairs(results: "pd.DataFrame") -> "pd.DataFrame":
    """The results of realisations that both methods have; KeyboardInterrupt if there is none."""
    done = [
        set(results["realisation"][results["method"] == name].tolist())
        for name in (CHOOSING, RANDOM)
    ]
    both = sorted(done[0] & done[1])
    if not both:  # Ctrl-C came before anything was finished
        raise KeyboardInterrupt
    return results[results["realisation"].isin(both)]


def _callback(progress: bool | Progress | None) -> Progress | None:
    if progress is False:
        return None
    return line_on_stderr() if progress is None or progress is True else progress


def _steps(progress: Progress | None) -> "Any":
    """A callback of a run for a callback of three arguments."""
    if progress is None:
        return None

    def tell(step: RunProgress) -> None:
        progress(step.stage, step.done, step.total)

    return tell
