"""The benchmark room: the paper's ten experiments, and the same protocol on a user's own table.

Read in this order:

    places       where data and cached points are kept on this machine
    functions    the five synthetic functions
    cache        arrays kept on disk under a hash of what they came from
    robot        robot pushing, a Box2D simulation
    tables       California, the Malaria stand-in, Diabetes: found, read and checked
    get          fetching what is not at hand
    tasks        the ten tasks as one table of data; `draw` makes the split of a realisation
    user_table   a task out of a user's CSV or Parquet file
    methods      what learns from a split, one label at a time; `peers` are other packages'
    protocol     one method on one realisation: NMSE and NPLL after every label
    plans        what is to be run: names to tasks and methods
    keys         what decides a curve, as a hash
    store        finished curves in one SQLite file
    workers      this process, all cores, or a Dask cluster
    jobs         what a worker does
    frames       curves as tables
    runs         `run`: all of it together
    wording      how tasks, methods and numbers are called in print
    paired       two methods on the same realisations, and the interval of their difference
    summary      what a table of results comes to
    claims       what the paper claims, as data
    verdicts     what is found of each claim
    looks        how methods look in a figure
    canvas       the paper that figures are drawn on
    figures      curves and weights as matplotlib figures
    pictures     which figures a report has
    page         the blocks of a self-contained HTML page
    report       the folder of a finished benchmark; `report_setting`, `report_claims` and
                 `report_tables` are its parts
    commands     the command line; `screen` draws

`weal.bench.run` loads on first use.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["run"]

if TYPE_CHECKING:
    from weal.bench.runs import run


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"weal.bench has no {name!r}; it has {', '.join(__all__)}")
    from weal.bench.runs import run

    globals()["run"] = run
    return run
