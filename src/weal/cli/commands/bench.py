"""`weal bench ...` and `weal simulate`: the benchmark.

Every run has three steps: a plan, its curves with progress, a report. This module is imported for
`weal --help`: slow packages are imported where they are used.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from weal.cli import interrupts
from weal.cli.commands.bench_screen import show_goals, show_outcome, show_rows, show_run_progress
from weal.cli.options import Function, TableWords, examples, table_options, with_table_options
from weal.cli.screen import say, show, show_count, show_json

if TYPE_CHECKING:
    from weal.benchmark.protocol import BenchmarkPlan, Methods, Tasks
    from weal.benchmark.runner import Outcome
    from weal.benchmark.user_table import OwnRows
    from weal.goals.protocol import Goal

QUICK_TASKS = ("branin", "gramacy", "diabetes")
QUICK_METHODS = ("random", "gp-var", "egp-gpm-var", "egp-multiafs", "weal-random", "weal-auto")
CHOICE_METHODS = ("weal-random", "weal-even", "weal-auto")
SIMULATE_METHODS = ("weal-random", "weal-auto", "weal-gpm-var", "weal-igs")
BESIDE_PEERS = ("gp-var-exact", "egp-multiafs", "weal-random", "weal-auto", "weal-gpm-var")
_HOME = Path("weal-out")
_SIMULATE = "weal simulate measured.csv --target hardness"
_RUN_EXAMPLE = (
    "weal bench run --tasks gramacy --methods weal-random,weal-auto --realisations 2 --queries 5"
)


class RunOptions(TypedDict):
    """Options of every run."""

    out: Path | None
    data: Path | None
    realisations: int
    queries: int
    seed: int
    jobs: int | None
    scheduler: str | None
    bands: Literal["few", "all"]
    as_json: bool


class SimulateOptions(RunOptions, TableWords):
    """Options of a run, and of a table."""


_data = click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of the data files [default: WEAL_DATA]."
)
_bands = click.option(
    "--bands",
    type=click.Choice(["few", "all"]),
    default="few",
    show_default=True,
    help="Draw the standard deviation of two methods, or of all.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def _check_address_option(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """The address of a cluster; ValueError before any run if it is malformed."""
    from weal.shards.executors import check_address

    check_address(given)
    return given


def _run_options(
    realisations: int, queries: int, bands: bool = True
) -> Callable[[Function], Function]:
    """The options of a run, with these defaults; `bands` adds the option of its figures."""
    count = click.IntRange(min=1)
    folder = click.Path(path_type=Path)
    options = (
        click.option("--out", type=folder, help=f"Folder of the results [default: {_HOME}/...]."),
        _data,
        click.option(
            *("--realisations", "realisations"),
            type=count,
            default=realisations,
            show_default=True,
            help="Random splits to average over.",
        ),
        click.option(
            "--queries",
            type=count,
            default=queries,
            show_default=True,
            help="Number of labels to ask for.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of all random choices.",
        ),
        click.option("--jobs", type=count, help="Processes [default: one for each core]."),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            callback=_check_address_option,
            help="Dask cluster, such as tcp://host:8786.",
        ),
        _json,
    )

    def add(function: Function) -> Function:
        for option in reversed((*options, _bands) if bands else options):
            function = option(function)
        return function

    return add


@click.group(short_help="The paper's ten experiments.")
def bench() -> None:
    """The paper's ten experiments, and the same protocol on other data.

    The same command resumes an interrupted run.
    """


@bench.command(epilog=examples("weal bench paper --out paper"))
@_run_options(10, 100)
def paper(**options: Unpack[RunOptions]) -> None:
    """Reproduce the paper: its ten tasks, methods and protocol."""
    _bench("paper", "all", ["paper", "fair"], options)


@bench.command(epilog=examples("weal bench quick"))
@_run_options(4, 50)
def quick(**options: Unpack[RunOptions]) -> None:
    """Run three tasks and six methods in under a minute."""
    _bench("quick", QUICK_TASKS, QUICK_METHODS, options)


@bench.command(epilog=examples("weal bench choice --realisations 20"))
@_run_options(10, 100)
def choice(**options: Unpack[RunOptions]) -> None:
    """Compare the default with random choice and equal weights, task by task."""
    _bench("choice", "all", CHOICE_METHODS, options)


@bench.command(epilog=examples("weal bench peers"))
@_run_options(5, 50)
def peers(**options: Unpack[RunOptions]) -> None:
    """Compare with methods of other packages (pip install "weal[peers]")."""
    _bench("peers", "all", [*BESIDE_PEERS, "peers"], options)


@bench.command(epilog=examples("weal bench goals", "weal bench goals --tasks all --methods all"))
@click.option("--tasks", default="all", help="Pools, separated by commas: branin-pool,needle.")
@click.option(
    "--methods", help="Names, separated by commas, or all [default: all but two slow ones]."
)
@_run_options(2, 50, bands=False)
def goals(tasks: str, methods: str | None, **options: Unpack[RunOptions]) -> None:
    """Search pools for their best rows, and for all rows above a level.

    Compare weal with a goal, weal without one, random choice, scikit-learn and BoTorch (pip install
    "weal[peers]") on formulas and tables: the fraction of the ten best rows found, labels until a
    row in the best percent, regret, and F1.
    """
    from weal.benchmark import goal_report
    from weal.benchmark.goal_methods import QUICK_GOAL_METHODS, make_goal_plan

    plan = make_goal_plan(
        _names(tasks),
        _names(methods) if methods else QUICK_GOAL_METHODS,
        realisations=options["realisations"],
        T=options["queries"],
        seed=options["seed"],
        data=options["data"],
    )
    folder = options["out"] or _HOME / "goals"
    goal_report.check_place(folder)
    _announce(plan, folder)
    outcome = _run(plan, folder, options)
    say("writing the report")
    goal_report.write(folder, outcome.goals, outcome.setting)
    show_goals(folder, outcome, options["as_json"])


@bench.command("run", epilog=examples(_RUN_EXAMPLE))
@click.option("--tasks", required=True, help="Names or groups, separated by commas: branin,robot.")
@click.option(
    "--methods", required=True, help="Names or groups, separated by commas: random,paper."
)
@_run_options(10, 100)
def run_(tasks: str, methods: str, **options: Unpack[RunOptions]) -> None:
    """Run selected tasks and methods."""
    _bench("run", _names(tasks), _names(methods), options)


@click.command(
    short_help="Test whether active learning would pay off on your table.",
    epilog=examples(_SIMULATE),
)
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="Column to learn.")
@click.option(
    "--id", "id_column", metavar="COLUMN", help="Column of the ids, which is not an input."
)
@click.option(
    "--methods", default=",".join(SIMULATE_METHODS), help="Names or groups, separated by commas."
)
@click.option(
    "--goal",
    metavar="GOAL",
    help="Goal: maximise, 'best 10', 'above 7.5' [default: learn].",
)
@with_table_options
@_run_options(10, 100)
def simulate(
    table: Path,
    target: str,
    methods: str,
    goal: str | None,
    id_column: str | None,
    **options: Unpack[SimulateOptions],
) -> None:
    """Test whether active learning would pay off on data like TABLE (CSV, Excel or Parquet).

    The rows of TABLE have labels. The labels are hidden and then requested one by one, by active
    learning and at random.
    """
    from weal.benchmark.tasks import TASKS
    from weal.benchmark.user_table import points_from_table, task_from_table
    from weal.goals.grammar import parse_goal

    wanted = parse_goal(goal) if goal is not None else None
    how = table_options(options, id_column=id_column)
    if wanted is not None and wanted.set_text is not None:
        _simulate_goal(*points_from_table(table, target, how), wanted, options)
        return
    task, notes = task_from_table(table, target, how)
    if task.name in TASKS:  # not the paper's task
        task = replace(task, name=f"{task.name}-table")
    for note in notes:
        say(note)
    say(
        f"{task.rows} labelled rows: {task.L0} labelled at the start, {task.U0} to choose from, "
        f"{task.V} for validation, {task.test} for the test"
    )
    _bench(f"simulate-{task.name}", task, _names(methods), options, answers=True)


def _simulate_goal(
    points: "OwnRows", notes: Sequence[str], goal: "Goal", options: RunOptions
) -> None:
    """Print whether choosing rows for this goal would have saved labels."""
    from weal.benchmark.goal_simulation import FIRST_LABELS, simulate_goal

    for note in notes:
        say(note)
    say(
        f"{len(points.y)} labelled rows: {FIRST_LABELS} labelled at the start, the others to "
        "choose from"
    )
    given = (options["realisations"], options["queries"], options["seed"], options["jobs"])
    with show_count() as progress:
        found = simulate_goal(points, goal, *given, progress)
    if options["as_json"]:
        show_json(found.to_dict())
        return
    for words in found.words:
        show(words)


@bench.command(epilog=examples("weal bench tasks"))
@_data
@_json
def tasks(data: Path | None, as_json: bool) -> None:
    """List the tasks with sizes, eta, source, and availability of their data."""
    from weal.benchmark.data_folders import data_folders
    from weal.benchmark.tasks import TASKS, availability

    data_folders(data)
    sizes = ("d", "L0", "V", "U0", "test", "eta")
    rows = [
        {
            "name": task.name,
            "group": task.group,
            **{size: getattr(task, size) for size in sizes},
            "source": task.source,
            "missing": availability(task, data),
        }
        for task in TASKS.values()
    ]
    show_rows(rows, as_json)


@bench.command(epilog=examples("weal bench methods"))
@_json
def methods(as_json: bool) -> None:
    """List the methods, and whether they are available."""
    from weal.benchmark.peers import unavailable
    from weal.benchmark.protocol import all_methods

    absent = unavailable()
    rows = [
        {"name": m.name, "group": m.group, "title": m.title, "missing": absent.get(m.name)}
        for m in all_methods().values()
    ]
    show_rows(rows, as_json)


@bench.command(epilog=examples("weal bench get california"))
@click.argument("what", type=click.Choice(["california"]))
@_data
def get(what: str, data: Path | None) -> None:
    """Download a table and check it."""
    from weal.benchmark.datasets import get_california

    click.echo(get_california(data, say))


def _bench(
    name: str, tasks: "Tasks", methods: "Methods", options: RunOptions, answers: bool = False
) -> None:
    """Run, report and show the results; with `answers`, also whether active learning paid."""
    from weal.benchmark.protocol import make_plan

    plan = make_plan(
        tasks,
        methods,
        realisations=options["realisations"],
        T=options["queries"],
        seed=options["seed"],
        data=options["data"],
    )
    folder = options["out"] or _HOME / name
    _check_place(folder)
    _announce(plan, folder)
    outcome = _run(plan, folder, options)
    _report(folder, outcome, options["bands"])
    show_outcome(folder, outcome, options["as_json"], answers)


def _announce(plan: "BenchmarkPlan", folder: Path) -> None:
    for name, reason in plan.skipped.items():
        say(f"{name} is left out: {reason}")
    counts = (len(plan.tasks), "task"), (len(plan.methods), "method")
    sizes = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts]
    say(
        f"{' x '.join(sizes)} x {plan.realisations} realisations, {plan.T} queries each, "
        f"seed {plan.seed}, into {folder}"
    )


def _run(plan: "BenchmarkPlan", folder: Path, options: RunOptions) -> "Outcome":
    from weal.benchmark.runner import carry_out

    command = click.get_current_context().find_root().obj or "weal"
    try:
        with show_run_progress() as progress:
            return carry_out(
                plan,
                out=folder,
                jobs=options["jobs"],
                scheduler=options["scheduler"],
                progress=progress,
                command=command,
            )
    except BaseException:  # printed only after Ctrl-C, which may end in another error
        interrupts.explain("stopped; finished curves are saved, and the same command resumes")
        raise


def _check_place(folder: Path) -> None:
    """Check the output folder before hours of work; a folder with other files is an error."""
    from weal.benchmark import report

    report.check_place(folder)


def _report(folder: Path, outcome: "Outcome", bands: Literal["few", "all"]) -> None:
    from weal.benchmark import report

    say("writing the report")
    report.write(folder, outcome.results, outcome.weights, outcome.setting, bands)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
