"""The folder of a finished benchmark: report.html, figures, and the tables behind them.

    report.html        self-contained: what was run, the claims, figures, tables, time, versions
    figures/           every figure as PNG and SVG
    results.parquet    one row a reading, and the same as results.csv
    weights.parquet    one row a weight
    claims.csv         one row a comparison behind the claims and their variants
    choice.csv         one row a task: what choosing gave beside random choice and even weights

Everything is made before anything is written, and each file is whole or not there; report.html
comes last, so that a folder with a report has all that it speaks of. A report of weal's that is
there is replaced, and no other file (`weal.files`). The claims are left out when
no task of the paper was asked for, and so is what choosing gave where nothing tells it.
"""

import io
import os
from pathlib import Path

import pandas as pd

from weal.bench.page import Html, page, picture, tag
from weal.bench.report_choice import choice_csv, choice_section
from weal.bench.report_claims import claims_section, differences, with_variants
from weal.bench.report_figures import pictures
from weal.bench.report_setting import Setting, in_words, shared, versions, what_was_run
from weal.bench.report_tables import areas, final_tables, labels_tables, times
from weal.bench.results_file import made_by_0_2
from weal.bench.styles import Bands
from weal.bench.summary import FLOOR, check
from weal.bench.tasks import TASKS
from weal.bench.titles import number
from weal.bench.verdicts import ClaimFound, judge
from weal.files import check_files, write_files
from weal.plots.canvas import WIDTH, as_bytes

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
    f"Mean over all queries of log10 max(NMSE, {number(FLOOR)}): lower is better, and early labels "
    "count as much as late ones; -1 stands for an NMSE of 0.1 throughout."
)
_TIME = (
    "The whole run took {wall} on the clock. Processor time of one query in milliseconds, the "
    "reading of both metrics included, mean over realisations:"
)


def write(
    folder: str | os.PathLike[str],
    results: pd.DataFrame,
    weights: pd.DataFrame,
    setting: Setting,
    bands: Bands = "few",
) -> Path:
    """Write the report and what belongs to it into the folder; the path of report.html.

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
    for one in pictures(results, weights, bands):
        svg = as_bytes(one.plot, "svg")
        one.plot.set_layout_engine("none")  # it is laid out now; once is enough
        png = as_bytes(one.plot, "png")
        files |= {f"figures/{one.name}.svg": svg, f"figures/{one.name}.png": png}
        shown.append(picture(svg, one.caption, one.plot.get_figwidth() / WIDTH))
    files["report.html"] = _html(results, setting, found, shown).encode()
    place = Path(folder)
    write_files(place, files, made_by_0_2(place))
    return place / "report.html"


def check_place(folder: Path) -> None:
    """ForeignFile where the folder has a file of another's with the name of one of the report."""
    check_files(folder, TABLES, made_by_0_2(folder))


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _html(
    results: pd.DataFrame, setting: Setting, found: tuple[ClaimFound, ...], shown: list[Html]
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
        *_section("Final tables", "", final_tables(results, seed), shared(results)),
        *_section("Labels needed", _LABELS, labels_tables(results)),
        *_section("Area under the curve", _AREA, areas(results, seed)),
        *_section("Time", _TIME.format(wall=wall), times(results)),
        *(_section("Where this differs from the print", "", differences()) if claims else []),
        *_section("Versions", "", versions(setting)),
    )


def _section(title: str, text: str, *blocks: Html) -> list[Html]:
    note = [tag("p", text, kind="note")] if text else []
    return [tag("h2", title), *note, *blocks]
