"""The paper's ten experiments, and the same protocol on a user's own table.

Read in this order:

    data_folders    where data and simulated points are stored on this machine
    tasks           the ten tasks and the five synthetic functions; `draw` makes a split
    robot           robot pushing, a Box2D simulation
    datasets        California, the Malaria stand-in, Diabetes: find, download, check
    user_table      a task from a user's CSV, Parquet or Excel file
    methods         learners that read a split one label at a time; the joint test density
    peers           scikit-learn, scikit-activeml and BoTorch as methods
    protocol        one method on one realisation: NMSE and NPLL after every label; plans; tables
    curve_cache     finished curves in one SQLite file, by a hash of their inputs
    runner          `run`: plan, compute, resume
    statistics      paired differences, sign-flip tests and their intervals
    summary         tables of results: final values, areas, labels needed, time
    paper_claims    the paper's claims, and where these experiments differ from the print
    paper_verdicts  the verdict on each claim
    labels_saved    labels that active learning saves against random choice
    figures         curves and weights as matplotlib figures
    report_tables   tables of the report, and the blocks of its HTML page
    report_figures  figures of the report
    report          the folder of a finished benchmark
    goal_tasks      pools to search: formulas and tables
    goal_metrics    share of the best rows found, regret, F1
    goal_methods    weal with a goal, and searches with models of other packages
    pass_fail_methods  weal and classifiers with margin sampling, which rows to test
    goal_summary    ours beside each other method, with intervals
    goal_report     the folder of a finished `weal bench goals`
    simulation      the result of a simulation on a table of the user: verdict, words and curves
    goal_simulation labels that a goal would have saved on it
    simulate        `weal.simulate`

`weal.benchmark.run` is imported on first use.
"""

from typing import TYPE_CHECKING

__all__ = ["run"]

if TYPE_CHECKING:
    from weal.benchmark.runner import run


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"weal.benchmark has no {name!r}; it has {', '.join(__all__)}")
    from weal.benchmark.runner import run

    globals()["run"] = run
    return run
