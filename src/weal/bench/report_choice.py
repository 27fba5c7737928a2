"""The section of a report that says where choosing pays, and the same as a table for the screen."""

import pandas as pd

from weal.bench.choice import Paid, in_one_line, paid
from weal.bench.page import Html, table, tag
from weal.bench.paired import Interval
from weal.bench.titles import method_title, number, task_title

HEADER = ("Task", "NMSE", "the other's", "ratio at the end", "", "ratio over all queries", "")
_NOTE = (
    "Ratios of NMSE, geometric means over realisations with 95 % intervals; below 1 choosing pays. "
    "Lower and higher are said where sign flips of whole realisations decide so at 5 %, all tasks "
    "of a table together; otherwise the two cannot be told apart. Ratios over all queries take an "
    "NMSE below 1e-5 as 1e-5: there a noise-free function is learnt."
)


def choice_section(results: pd.DataFrame, seed: int) -> Html | None:
    """One table for each pair of methods that was run; None where there was none."""
    found = paid(results, seed)
    pairs = dict.fromkeys((row.method, row.other) for row in found)
    if not pairs:
        return None
    blocks = []
    for one, other in pairs:
        rows = [row for row in found if (row.method, row.other) == (one, other)]
        caption = f"{method_title(one)}, against {method_title(other)}: {in_one_line(rows)}"
        blocks.append(table(HEADER, map(cells, rows), caption=caption))
    return tag("div", tag("p", _NOTE, kind="note"), *blocks)


def choice_csv(results: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The same, one row for each pair of methods and task."""
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
            for row in paid(results, seed)
        ]
    )


def cells(row: Paid) -> list[str]:
    """A row in words, as HEADER has it."""
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
    return f"{number(found.mean)} ({number(found.low)} to {number(found.high)})"


def _columns(name: str, found: Interval) -> dict[str, float]:
    return {name: found.mean, f"{name}, from": found.low, f"{name}, to": found.high}
