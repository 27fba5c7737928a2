"""The folder of a finished benchmark: report.html, figures, and the tables behind them.

    report.html        self-contained: settings, claims, figures, tables, time, versions
    figures/           every figure as PNG and SVG
    results.parquet    one row for each reading, and the same as results.csv
    weights.parquet    one row for each weight
    claims.csv         one row for each comparison behind the claims and their variants
    choice.csv         one row for each task: NMSE against random choice and even weights

All content is made before any file is written, and each file is written atomically; report.html is
the last, so a folder with a report is complete. Only an earlier report of weal is replaced
(`weal.files`). The claims need a task of the paper, the comparison with random choice a pair of
methods that differ in the choice of points only.
"""

import io
import math
import os
from pathlib import Path

import pandas as pd

from weal.benchmark.curve_cache import made_by_0_2
from weal.benchmark.figures import Bands
from weal.benchmark.labels_saved import ChoiceGain, compare_choices, in_one_line
from weal.benchmark.paper_verdicts import ClaimFound, judge
from weal.benchmark.protocol import RunSetting
from weal.benchmark.report_figures import report_figures
from weal.benchmark.report_tables import (
    Html,
    areas,
    claims_section,
    differences,
    final_tables,
    items,
    labels_tables,
    page,
    picture,
    table,
    tag,
    times,
    with_variants,
)
from weal.benchmark.statistics import Interval
from weal.benchmark.summary import (
    MIN_LOG_NMSE,
    check,
    in_order_of_methods,
    in_order_of_tasks,
    method_title,
    number,
    shared_rows,
    task_title,
)
from weal.benchmark.tasks import TASKS
from weal.files import check_files, write_files
from weal.plots.canvas import FIGURE_WIDTH_INCHES, as_bytes

CHOICE_HEADER = (
    "Task",
    "NMSE",
    "the other's",
    "ratio at the end",
    "",
    "ratio over all queries",
    "",
)
_CHOICE_NOTE = (
    "Ratios of NMSE, geometric means over realisations with 95 % intervals; below 1 choosing pays. "
    "Lower and higher are said where sign flips of whole realisations decide so at 5 %, all tasks "
    "of a table together; otherwise there is no clear difference. Ratios over all queries take an "
    "NMSE below 1e-5 as 1e-5: there a noise-free function is learnt."
)


def choice_section(results: pd.DataFrame, seed: int) -> Html | None:
    """One table for each pair of methods that was run; None without a pair."""
    found = compare_choices(results, seed)
    pairs = dict.fromkeys((row.method, row.other) for row in found)
    if not pairs:
        return None
    blocks = []
    for one, other in pairs:
        rows = [row for row in found if (row.method, row.other) == (one, other)]
        caption = f"{method_title(one)}, against {method_title(other)}: {in_one_line(rows)}"
        blocks.append(table(CHOICE_HEADER, map(cells, rows), caption=caption))
    return tag("div", tag("p", _CHOICE_NOTE, kind="note"), *blocks)


def choice_csv(results: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The comparison as a table, one row for each pair of methods and task."""
    return pd.DataFrame(
        [
            {
                **{name: getattr(row, name) for name in ("task", "method", "other", "nmse")},
                "nmse of other": row.other_nmse,
                **_columns("ratio at the end", row.at_end),
                "at the end": row.end,
                **_columns("ratio over all", row.over_all),
                "over all": row.area,
            }
            for row in compare_choices(results, seed)
        ]
    )


def cells(row: ChoiceGain) -> list[str]:
    """A row in words, in the order of CHOICE_HEADER."""
    return [
        task_title(row.task),
        number(row.nmse),
        number(row.other_nmse),
        _words(row.at_end),
        row.end,
        _words(row.over_all),
        row.area,
    ]


def _words(found: Interval) -> str:
    if math.isnan(found.low):  # of one realisation there is no interval
        return number(found.mean)
    return f"{number(found.mean)} ({number(found.low)} to {number(found.high)})"


def _columns(name: str, found: Interval) -> dict[str, float]:
    return {name: found.mean, f"{name}, from": found.low, f"{name}, to": found.high}


_OWN = (
    "realisations of one's own table are splits of the same rows, so its intervals are too narrow"
)


def what_was_run(results: pd.DataFrame, setting: RunSetting) -> Html:
    """The command, sizes, methods, tasks, and the items left out with how to get them."""
    tasks, methods = in_order_of_tasks(results["task"]), in_order_of_methods(results["method"])
    sizes = (
        f"{_count(len(tasks), 'task')}, {_count(len(methods), 'method')}, "
        f"{_count(setting['realisations'], 'realisation')}, at most {setting['T']} queries a run; "
        f"seed {setting['seed']}; {in_words(setting['wall_seconds'])} on the clock."
    )
    header = ["Task", "First labels", "Validation", "Candidates", "Test", "What it is"]
    return tag(
        "div",
        tag("p", "Command: ", tag("code", str(setting["command"]))),
        tag("p", sizes),
        table(header, map(_task_row, tasks), kind="tasks"),
        tag("p", f"Methods: {'; '.join(map(method_title, methods))}."),
        *_left_out(setting),
    )


def shared_rows_note(results: pd.DataFrame) -> Html:
    """Notes on the tasks whose realisations share rows."""
    tasks = in_order_of_tasks(results["task"])
    notes = [note for task in tasks if (note := shared_rows(task))]
    notes += [f"{task}: {_OWN}." for task in tasks if task not in TASKS]
    return items(notes, kind="note")


def versions(setting: RunSetting) -> Html:
    """Versions, seed and machine."""
    rows = [[str(name), str(value)] for name, value in setting["versions"].items()]
    return table(["", "Version"], [*rows, ["seed", str(setting["seed"])]], kind="words")


def in_words(seconds: float) -> str:
    """A duration in words.

    >>> in_words(3.21), in_words(75), in_words(7384)
    ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _task_row(name: str) -> list[str]:
    task = TASKS.get(name)
    if task is None:
        return [name, *["-"] * 4, "a task of your own"]
    return [task.title, *map(str, (task.L0, task.V, task.U0, task.test)), task.source]


def _left_out(setting: RunSetting) -> list[Html]:
    skipped = setting["skipped"]
    if not skipped:
        return []
    lines = [f"{task_title(n) if n in TASKS else method_title(n)}: {skipped[n]}" for n in skipped]
    return [tag("p", "Left out, and how to get it:"), items(lines)]


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


TABLES = (
    "results.parquet", "results.csv", "weights.parquet", "claims.csv", "choice.csv", "report.html",
)  # fmt: skip
_LABELS = (
    "Labels spent when NMSE is first at or below a level, those kept for validation included: "
    "median over realisations. In brackets how many realisations got there, where not all did; "
    "one that never does counts as infinite, and a dash says that the median does. The last "
    "column is what was spent in all."
)
_AREA = (
    f"Mean over all queries of log10 max(NMSE, {number(MIN_LOG_NMSE)}): lower is better, and early "
    "labels count as much as late ones; -1 stands for an NMSE of 0.1 throughout."
)
_TIME_NOTE = (
    "The whole run took {wall} on the clock. Processor time of one query in milliseconds, the "
    "reading of both metrics included, mean over realisations:"
)


def write(
    folder: str | os.PathLike[str],
    results: pd.DataFrame,
    weights: pd.DataFrame,
    setting: RunSetting,
    bands: Bands = "few",
) -> Path:
    """Write the report, its figures and its tables into the folder; the path of report.html.

    `bands` is "all" for bands of one standard deviation around the curves of all methods.
    """
    check(results)
    found = judge(results, setting["seed"])
    files = {
        "results.parquet": _parquet(results),
        "results.csv": results.to_csv(index=False).encode(),
        "weights.parquet": _parquet(weights),
        "claims.csv": with_variants(found).to_csv(index=False).encode(),
    }
    if len(choice := choice_csv(results, setting["seed"])):
        files["choice.csv"] = choice.to_csv(index=False).encode()
    shown = []
    for one in report_figures(results, weights, bands):
        svg = as_bytes(one.plot, "svg")
        one.plot.set_layout_engine("none")  # the layout is done
        png = as_bytes(one.plot, "png")
        files |= {f"figures/{one.name}.svg": svg, f"figures/{one.name}.png": png}
        shown.append(picture(svg, one.caption, one.plot.get_figwidth() / FIGURE_WIDTH_INCHES))
    files["report.html"] = _html(results, setting, found, shown).encode()
    place = Path(folder)
    write_files(place, files, made_by_0_2(place))
    return place / "report.html"


def check_place(folder: Path) -> None:
    """Raise ForeignFile if a file of another program has the name of a file of the report."""
    check_files(folder, TABLES, made_by_0_2(folder))


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _html(
    results: pd.DataFrame, setting: RunSetting, found: tuple[ClaimFound, ...], shown: list[Html]
) -> str:
    seed, wall = setting["seed"], in_words(setting["wall_seconds"])
    of_the_paper = any(task in TASKS for task in [*results["task"].unique(), *setting["skipped"]])
    claims = _section("The paper's claims", "", claims_section(found)) if of_the_paper else []
    pays = choice_section(results, seed)
    return page(
        "weal bench",
        tag("h1", "Active learning benchmark"),
        what_was_run(results, setting),
        *claims,
        *(_section("Does choosing pay?", "", pays) if pays else []),
        *_section("Figures", "", *shown),
        *_section("Final tables", "", final_tables(results, seed), shared_rows_note(results)),
        *_section("Labels needed", _LABELS, labels_tables(results)),
        *_section("Area under the curve", _AREA, areas(results, seed)),
        *_section("Time", _TIME_NOTE.format(wall=wall), times(results)),
        *(_section("Where this differs from the print", "", differences()) if claims else []),
        *_section("Versions", "", versions(setting)),
    )


def _section(title: str, text: str, *blocks: Html) -> list[Html]:
    note = [tag("p", text, kind="note")] if text else []
    return [tag("h2", title), *note, *blocks]
