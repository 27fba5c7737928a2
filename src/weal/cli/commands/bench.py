"""`weal bench ...` and `weal simulate`: the benchmark on the command line.

Every run is the same three steps: a plan, its curves with progress shown, a report. This module is
imported for `weal --help`: whatever is heavy is imported where it is used.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from weal.cli import interrupts
from weal.cli.commands.bench_screen import progress_shown, show_outcome, show_rows
from weal.cli.options import examples
from weal.cli.screen import say

if TYPE_CHECKING:
    from weal.benchmark.protocol import BenchmarkPlan, Methods, Tasks
    from weal.benchmark.runner import Outcome

Function = TypeVar("Function", bound=Callable[..., None])

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


@dataclass(frozen=True, slots=True)
class Options:
    """What every run can be told."""

    out: Path | None
    data: Path | None
    realisations: int
    queries: int
    seed: int
    jobs: int | None
    scheduler: str | None
    bands: Literal["few", "all"]
    as_json: bool


_data = click.option(
    "--data", type=click.Path(path_type=Path), help="Folder with data files (else WEAL_DATA)."
)
_json = click.option("--json", "as_json", is_flag=True, help="JSON on stdout instead of a table.")


def _checked_address(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """The address of a cluster, refused before any run begins where it can be none."""
    from weal.shards.executors import check_address

    check_address(given)
    return given


def _run_options(realisations: int, queries: int) -> Callable[[Function], Function]:
    """The options of a run, with these defaults."""
    count = click.IntRange(min=1)
    folder = click.Path(path_type=Path)
    options = (
        click.option("--out", type=folder, help=f"Folder for results [default: {_HOME}/...]."),
        _data,
        click.option(
            *("--realisations", "realisations"),
            type=count,
            default=realisations,
            show_default=True,
            help="Splits to average over.",
        ),
        click.option(
            "--queries", type=count, default=queries, show_default=True, help="Labels asked for."
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Decides all that is random.",
        ),
        click.option("--jobs", type=count, help="Processes [default: one for each core]."),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            callback=_checked_address,
            help="Dask cluster, as tcp://host:8786.",
        ),
        click.option(
            "--bands",
            type=click.Choice(["few", "all"]),
            default="few",
            show_default=True,
            help="Whose standard deviation is drawn: two methods' of many, or all.",
        ),
        _json,
    )

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


@click.group(short_help="The paper's ten experiments.")
def bench() -> None:
    """The paper's ten experiments, and the same protocol on other data.

    A run that was stopped is resumed by the same command.
    """


@bench.command(epilog=examples("weal bench paper --out paper"))
@_run_options(10, 100)
def paper(**options: Any) -> None:
    """All that is in the paper: ten tasks, its methods, its protocol."""
    _bench("paper", "all", ["paper", "fair"], Options(**options))


@bench.command(epilog=examples("weal bench quick"))
@_run_options(4, 50)
def quick(**options: Any) -> None:
    """A taste of it in under a minute: three tasks, six methods."""
    _bench("quick", QUICK_TASKS, QUICK_METHODS, Options(**options))


@bench.command(epilog=examples("weal bench choice --realisations 20"))
@_run_options(10, 100)
def choice(**options: Any) -> None:
    """Does choosing pay? Our default beside random choice and even weights, task by task."""
    _bench("choice", "all", CHOICE_METHODS, Options(**options))


@bench.command(epilog=examples("weal bench peers"))
@_run_options(5, 50)
def peers(**options: Any) -> None:
    """Other packages' methods beside ours (pip install "weal[peers]")."""
    _bench("peers", "all", [*BESIDE_PEERS, "peers"], Options(**options))


@bench.command("run", epilog=examples(_RUN_EXAMPLE))
@click.option("--tasks", required=True, help="Names or groups, with commas: branin,robot.")
@click.option("--methods", required=True, help="Names or groups, with commas: random,paper.")
@_run_options(10, 100)
def run_(tasks: str, methods: str, **options: Any) -> None:
    """The tasks and methods of your choice."""
    _bench("run", _names(tasks), _names(methods), Options(**options))


@click.command(
    short_help="Would active learning pay on your table?",
    epilog=examples(_SIMULATE),
)
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="The column to be learnt.")
@click.option("--methods", default=",".join(SIMULATE_METHODS), help="Names or groups, with commas.")
@_run_options(10, 100)
def simulate(table: Path, target: str, methods: str, **options: Any) -> None:
    """Would active learning pay on data like TABLE (CSV or Parquet, every row labelled)?

    Labels are hidden and asked for one by one: by our methods, and at random.
    """
    from weal.benchmark.tasks import TASKS
    from weal.benchmark.user_table import task_from_file

    task, notes = task_from_file(table, target)
    if task.name in TASKS:  # not to be taken for the paper's task
        task = replace(task, name=f"{task.name}-table")
    for note in notes:
        say(note)
    say(
        f"{task.rows} rows with a label: {task.L0} known at first, {task.U0} to choose from, "
        f"{task.V} for validation, {task.test} for the test"
    )
    given = Options(**options)
    _bench(f"simulate-{task.name}", task, _names(methods), given, answers=True)


@bench.command(epilog=examples("weal bench tasks"))
@_data
@_json
def tasks(data: Path | None, as_json: bool) -> None:
    """The tasks: sizes, eta, source, and whether their data is at hand."""
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
    """The methods, and whether they can be run here."""
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
    """Fetch a table from the package index or the web, and check it."""
    from weal.benchmark.datasets import get_california

    click.echo(get_california(data, say))


def _bench(
    name: str, tasks: "Tasks", methods: "Methods", options: Options, answers: bool = False
) -> None:
    """Run, report, and show what came of it; with `answers`, whether choosing paid."""
    from weal.benchmark.protocol import make_plan

    plan = make_plan(
        tasks,
        methods,
        realisations=options.realisations,
        T=options.queries,
        seed=options.seed,
        data=options.data,
    )
    folder = options.out or _HOME / name
    _check_place(folder)
    _announce(plan, folder)
    outcome = _carried_out(plan, folder, options)
    _report(folder, outcome, options.bands)
    show_outcome(folder, outcome, options.as_json, answers)


def _announce(plan: "BenchmarkPlan", folder: Path) -> None:
    for name, reason in plan.skipped.items():
        say(f"{name} is left out: {reason}")
    counts = (len(plan.tasks), "task"), (len(plan.methods), "method")
    sizes = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts]
    say(
        f"{' x '.join(sizes)} x {plan.realisations} realisations, {plan.T} queries each, "
        f"seed {plan.seed}, into {folder}"
    )


def _carried_out(plan: "BenchmarkPlan", folder: Path, options: Options) -> "Outcome":
    from weal.benchmark.runner import carry_out

    command = click.get_current_context().find_root().obj or "weal"
    try:
        with progress_shown() as progress:
            return carry_out(
                plan,
                out=folder,
                jobs=options.jobs,
                scheduler=options.scheduler,
                progress=progress,
                command=command,
            )
    except BaseException:  # said only of Ctrl-C, which may end in another error
        interrupts.explain("stopped; what is finished is kept, and the same command resumes")
        raise


def _check_place(folder: Path) -> None:
    """Refuse a folder with files of others before hours of work, and not after."""
    from weal.benchmark import report

    report.check_place(folder)


def _report(folder: Path, outcome: "Outcome", bands: Literal["few", "all"]) -> None:
    from weal.benchmark import report

    say("writing the report")
    report.write(folder, outcome.results, outcome.weights, outcome.setting, bands)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
