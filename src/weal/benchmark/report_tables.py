"""Tables of the report, and the blocks of its self-contained HTML page.

A block is `Html`; all other text is escaped. Pictures are embedded as data; nothing is fetched.
Wide tables and pictures scroll sideways on a phone and shrink in print.

Tables have methods down and tasks across, one table for each group of tasks. The lowest mean of a
task is bold. A method marked with the sign of near-equality cannot be told from it: the 95 %
interval of the paired difference (of logs for NMSE) does not lie above 0.
"""

import base64
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from importlib import resources

import numpy as np
import pandas as pd

import weal.benchmark
from weal.benchmark.paper_claims import DIFFERENCES, DIFFERENCES_HEADER, KIND_TEXTS
from weal.benchmark.paper_verdicts import (
    DOES_NOT_HOLD,
    HOLDS,
    NO_RESULTS,
    PARTLY,
    UNDECIDED,
    ClaimFound,
    ComparisonFound,
    PartFound,
)
from weal.benchmark.report_figures import tasks_by_group
from weal.benchmark.summary import (
    ALL_METRICS,
    NMSE_LEVELS,
    area,
    cost,
    final,
    labels_needed,
    method_title,
    number,
    task_title,
)

_STYLE = "\n" + resources.files(weal.benchmark).joinpath("report.css").read_text("utf-8")


class Html(str):
    """HTML that is not escaped again."""

    __slots__ = ()


def html(part: str) -> Html:
    """HTML unchanged, other text escaped.

    >>> html("a < b"), html(Html("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return part if isinstance(part, Html) else Html(escape(part))


def tag(name: str, *parts: str, kind: str = "") -> Html:
    """An element around its parts.

    >>> tag("p", "1 < 2 ", tag("b", "true"), kind="note")
    '<p class="note">1 &lt; 2 <b>true</b></p>'
    """
    shape = f' class="{escape(kind)}"' if kind else ""
    return Html(f"<{name}{shape}>{''.join(map(html, parts))}</{name}>")


def items(texts: Iterable[str], kind: str = "") -> Html:
    """A bullet list; empty without texts."""
    found = [tag("li", text) for text in texts]
    return tag("ul", *found, kind=kind) if found else Html()


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", kind: str = ""
) -> Html:
    """A table that scrolls sideways if it is too wide."""
    head = tag("thead", tag("tr", *(tag("th", cell) for cell in header)))
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))
    title = tag("caption", caption) if caption else ""
    return tag("div", tag("table", title, head, body, kind=kind), kind="wide")


def picture(svg: bytes, caption: str, share: float = 1.0) -> Html:
    """An embedded picture that takes a share of the width of the page."""
    size = f"width: {share:.0%}; min-width: {46 * share:.0f}rem"
    data = base64.b64encode(svg).decode()
    image = Html(
        f'<img alt="{escape(caption)}" style="{size}" src="data:image/svg+xml;base64,{data}">'
    )
    return tag("figure", tag("div", image, kind="wide"), tag("figcaption", caption))


def details(title: str, *parts: str) -> Html:
    """Parts that a click on the title shows."""
    return tag("details", tag("summary", title), *parts)


def page(title: str, *parts: str) -> str:
    """The whole document."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>"
        + "\n".join(map(html, parts))
        + "</body></html>\n"
    )


LEGEND = (
    "Mean ± standard deviation over realisations. Bold: the lowest mean of the task. ≈: cannot be "
    "told from it (the 95 % interval of the paired difference, of logs for NMSE, is not above 0)."
)
_EMPTY_CELL = "-"

Cells = Callable[[pd.Series], str]


def final_tables(results: pd.DataFrame, seed: int) -> Html:
    """NMSE and NPLL after the last query."""
    found = final(results, seed)
    blocks = []
    for metric, title in ALL_METRICS.items():
        read = found[found[f"{metric}_mean"].notna()] if metric == "joint" else found
        if len(read):
            blocks.append(tag("h3", f"{title[0].upper()}{title[1:]} after the last query"))
            blocks += _tables_by_group(read, partial(_final_cell, metric))
    note = (
        "NPLL has the median over realisations below the mean, which one bad run can carry off. It "
        "is a mean over test labels, in units of their sd; the joint NPLL is -log of the joint "
        "density of all of them, as the paper writes it, in raw units."
    )
    return tag("div", tag("p", f"{LEGEND} {note}", kind="note"), *blocks)


def areas(results: pd.DataFrame, seed: int) -> Html:
    """Area under log10 max(NMSE, 1e-5)."""
    tables = _tables_by_group(area(results, seed), lambda row: _mean_and_sd(row, "area"))
    return tag("div", tag("p", LEGEND, kind="note"), *tables)


def times(results: pd.DataFrame) -> Html:
    """Processor time of a query in milliseconds."""
    return tag("div", *_tables_by_group(cost(results), lambda row: number(1e3 * row["query"])))


def labels_tables(results: pd.DataFrame) -> Html:
    """Labels until a level of NMSE, one table for each task."""
    needed, spent = labels_needed(results), results.groupby(["task", "method"])["labels"].max()
    blocks = []
    for task, rows in needed.groupby("task", sort=False):
        levels = [lv for lv in NMSE_LEVELS if rows.loc[rows["level"] == lv, "reached"].sum()]
        cells = {(row["method"], row["level"]): row for _, row in rows.iterrows()}
        body = [
            [
                method_title(m),
                *(_labels_cell(cells[m, level]) for level in levels),
                number(spent[task, m]),
            ]
            for m in dict.fromkeys(rows["method"])
        ]
        header = ["NMSE at most", *(f"{level:g}" for level in levels), "spent"]
        missed = [f"{level:g}" for level in NMSE_LEVELS if level not in levels]
        note = f" (no run reached {', '.join(missed)})" if missed else ""
        blocks.append(table(header, body, caption=task_title(task) + note))
    return tag("div", *blocks, kind="side")


def _tables_by_group(rows: pd.DataFrame, cell: Cells) -> list[Html]:
    """A table for each group of tasks: methods down, tasks across."""
    cells = {(row["task"], row["method"]): cell(row) for _, row in rows.iterrows()}
    methods = list(dict.fromkeys(rows["method"]))
    found = []
    for tasks in tasks_by_group(list(dict.fromkeys(rows["task"]))).values():
        body = [
            [method_title(m), *(cells.get((task, m), _EMPTY_CELL) for task in tasks)]
            for m in methods
        ]
        found.append(table(["", *map(task_title, tasks)], body))
    return found


def _final_cell(metric: str, row: pd.Series) -> Html:
    cell = _mean_and_sd(row, metric)
    name = f"{metric}_median"
    median = tag("small", f"median {number(row[name])}") if name in row else ""
    return Html(cell + median)


def _mean_and_sd(row: pd.Series, name: str) -> Html:
    mean, sd, mark = (row[f"{name}_{part}"] for part in ("mean", "sd", "mark"))
    text = number(mean) + (f" ± {number(sd)}" if np.isfinite(sd) else "")
    return tag("b", text) if mark == "best" else html(text + (" ≈" if mark == "tie" else ""))


def _labels_cell(row: pd.Series) -> str:
    labels = number(row["labels"]) if np.isfinite(row["labels"]) else _EMPTY_CELL
    every = row["reached"] == row["realisations"]
    return labels if every else f"{labels} ({row['reached']} of {row['realisations']})"


_VERDICT_SIGNS = {HOLDS: "✓", DOES_NOT_HOLD: "✗", PARTLY: "◐", UNDECIDED: "?", NO_RESULTS: "-"}
_VERDICT_CLASSES = {HOLDS: "holds", DOES_NOT_HOLD: "not", PARTLY: "partly"}
_RULES = (
    "A comparison is decided by flipping the signs of whole realisations: of the paired "
    "differences at the last reading, of logs for NMSE, as they are for NPLL, which is a logarithm "
    "already. It holds, or does not, when that leaves 5 % to chance, corrected for all comparisons "
    "of its claim together (step-down max-t of Westfall and Young); it is undecided otherwise. "
    "The count without correction is given beside it. Intervals are 95 % of single comparisons, "
    "by inverting the same flips. The last reading decides; the verdict by the area over all "
    "readings stands beside it as a second opinion."
)


def claims_section(found: tuple[ClaimFound, ...]) -> Html:
    """The table of claims, and every comparison behind it."""
    rows = [[str(f.claim.number), f.claim.says, _claim_cell(f), _details(f)] for f in found]
    header = ["", "The paper says", "Found", "In numbers"]
    every = comparisons(found)
    behind = table(list(every.columns), every.map(str).to_numpy().tolist())
    return tag(
        "div",
        tag("p", _RULES, kind="note"),
        table(header, rows, kind="words stack claims"),
        details(f"All {len(every)} comparisons behind the table", behind),
    )


def differences() -> Html:
    """The table of differences from the printed paper."""
    rows = [[d.where, d.printed, d.here, KIND_TEXTS[d.kind]] for d in DIFFERENCES]
    title = f"All {len(rows)} points, made line by line through the paper; the rest is as printed"
    return details(title, table([*DIFFERENCES_HEADER, ""], rows, kind="words stack"))


def comparisons(found: tuple[ClaimFound, ...]) -> pd.DataFrame:
    """One row for each comparison, in words and numbers."""
    return pd.DataFrame([_row(f.claim.number, c) for f in found for c in f.comparisons])


def with_variants(found: tuple[ClaimFound, ...]) -> pd.DataFrame:
    """The comparisons of claims and variants; the first column names the variant."""
    readings = [("as it stands", f) for f in found]
    readings += [variant for f in found for variant in f.variants]
    tables = [comparisons((f,)).assign(reading=says) for says, f in readings]
    table = pd.concat(tables, ignore_index=True)
    return table[["reading", *table.columns.drop("reading")]]


def _row(claim: int, c: ComparisonFound) -> dict[str, object]:
    ends = c.difference.mean, c.difference.low, c.difference.high
    log = c.comparison.metric == "nmse"
    with np.errstate(over="ignore"):
        apart, low, high = (number(np.exp(end)) if log else number(end) for end in ends)
    what, start = c.comparison, " at the start" if c.comparison.rise else ""
    return {
        "claim": claim,
        "task": task_title(what.task),
        "metric": ALL_METRICS[what.metric],
        "claimed lower": method_title(what.low) + start,
        "claimed higher": method_title(what.high),
        "mean of lower": number(c.low),
        "mean of higher": number(c.high),
        "ratio or difference": apart,
        "from": low,
        "to": high,
        "lower in": f"{c.wins} of {c.difference.n}",
        "p uncorrected": number(c.p_alone),
        "p in its claim": number(c.p),
        "uncorrected": c.alone,
        "verdict": c.verdict,
        "by area": c.area,
    }


def _claim_cell(f: ClaimFound) -> Html:
    return Html(verdict(f.verdict) + tag("small", f"by the area: {f.area}"))


def verdict(word: str) -> Html:
    """A verdict with its sign."""
    return tag(
        "span",
        f"{_VERDICT_SIGNS[word]} {word}",
        kind=f"verdict {_VERDICT_CLASSES.get(word, '')}".strip(),
    )


def _details(f: ClaimFound) -> Html:
    parts = [] if f.verdict == NO_RESULTS else [_part(part) for part in f.parts]
    return Html(tag("div", f.words) + items(parts) + items(f.notes, kind="note"))


def _part(part: PartFound) -> Html:
    return tag("span", f"{part.part.says}: ", verdict(part.verdict), f" ({part.words})")
