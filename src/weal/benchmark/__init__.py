"""The benchmark room: the paper's ten experiments, and the same protocol on a user's own table.

Read in this order:

    places         where data and cached points are kept on this machine
    functions      the five synthetic functions
    cache          arrays kept on disk under a hash of what they came from
    robot          robot pushing, a Box2D simulation
    datasets       California, the Malaria stand-in, Diabetes: found, read and checked
    get            fetching what is not at hand
    tasks          the ten tasks as one table of data; `draw` makes the split of a realisation
    user_table     a task out of a user's CSV or Parquet file
    joint          the joint density of all test labels, as the paper writes its NPLL
    methods        what learns from a split, one label at a time; `peers` are other packages'
    protocol       one method on one realisation: NMSE and NPLL after every label
    plans          what is to be run: names to tasks and methods
    keys           what decides a curve, as a hash
    results_file   finished curves in one SQLite file
    workers        this process, all cores, or a Dask cluster
    jobs           what a worker does
    result_frames  curves as tables
    runs           `run`: all of it together
    titles         how tasks, methods and numbers are called in print
    flips          whether methods differ, one by one and many at once
    paired         two methods on the same realisations, and the interval of their difference
    summary        what a table of results comes to
    claims         what the paper claims, as data
    differences    where the experiments differ from the paper's print
    compared       what is found of comparisons that are made together
    verdicts       what is found of each claim
    choice         does choosing pay?
    styles         how methods look in a figure
    figures        curves and weights as matplotlib figures
    report_figures which figures a report has
    page           the blocks of a self-contained HTML page
    report         the folder of a finished benchmark; `report_setting`, `report_claims`,
                   `report_choice` and `report_tables` are its parts

`weal.benchmark.run` loads on first use.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["run"]

if TYPE_CHECKING:
    from weal.benchmark.run import run


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"weal.benchmark has no {name!r}; it has {', '.join(__all__)}")
    from weal.benchmark.run import run

    globals()["run"] = run
    return run
