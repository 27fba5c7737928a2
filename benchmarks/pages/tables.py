"""Public tables."""

from typing import Any

import pandas as pd
from benchmarks.pages.markdown import bold, plain, repeat, share, signed, table
from benchmarks.pages.result_files import Figures, Files, ResultFile

from weal.benchmark.statistics import interval

OURS, GP = "weal", "scikit-learn"
OTHERS = {GP: "GP", "forest": "forest", "ridge": "ridge"}

TEXT = """---
html_theme.sidebar_secondary.remove: true
---

# Real tables

**{found}**

{count} tables from packages of R, listed before any model saw them (`benchmarks/tables.py` names
them). Nothing was tuned on them but one thing: that labels with a long tail are transformed by
default, which tables beside these confirmed. A model is fitted to some random rows and predicts the
others. Errors are log10 of the normalised squared error: lower is better, 0 is guessing the mean.

- *GP* is scikit-learn's: Matern kernel, a lengthscale for each input, three restarts.
- *Forest* is a random forest, *ridge* a ridge regression with its penalty by cross-validation.
- *Inside* is the share of new labels within 90 % intervals, of weal and of the GP.

{sections}
"""

SECTION = """
## {n} labels

{says}

{table}

{made}
"""

CHOICE = """
## Choosing on them

{says}

{table}

{made}
"""


def page(files: Files, figures: Figures) -> str:
    """The text."""
    kept = files["tables"]
    frame = kept.frame
    fits = frame[frame["part"] == "fit"]
    parts = [_fits(int(n), group, kept) for n, group in fits.groupby("labels")]
    said = [says for says, _ in parts]
    sections = [section for _, section in parts]
    if (chosen := frame[frame["part"] == "choice"]).size:
        sections.append(_choice(chosen, kept))
    return TEXT.format(
        found=" ".join(said), count=fits["table"].nunique(), sections="".join(sections)
    )


def _fits(n: int, group: pd.DataFrame, kept: ResultFile) -> tuple[str, str]:
    errors = group.pivot_table("error", "table", "who")
    inside = group.pivot_table("inside", "table", "who")
    density = group.pivot_table("log density", "table", "who")
    less = {who: errors[OURS] - errors[who] for who in OTHERS}
    found = interval(less[GP].to_numpy())
    lower = int((less[GP] < 0).sum())
    head = (
        f"With {n} labels the error is below that of a tuned GP on {share(lower, len(less[GP]))} "
        f"tables, by {-found.mean:.3f} on average ({-found.high:.3f} to {-found.low:.3f})."
    )
    likelier = int((density[OURS] > density[GP]).sum())
    beside = ", ".join(
        f"{signed(d.mean())} beside {OTHERS[who]} (lower on {int((d < 0).sum())})"
        for who, d in less.items()
    )
    says = (
        f"Differences on average over {len(errors)} tables: {beside}. Inside: "
        f"{_percent(inside[OURS].mean())}, of the GP {_percent(inside[GP].mean())}. The median "
        f"label is likelier by ours than by the GP on {likelier}."
    )
    rows: list[list[Any]] = []
    for name in errors.index:
        row = errors.loc[name]
        best = row.min()
        cells = [bold(plain(row[who]), row[who] == best) for who in (OURS, *OTHERS)]
        shares = [_percent(inside.loc[name, who]) for who in (OURS, GP)]
        rows.append([name, *cells, *shares])
    header = ["table", "weal", *OTHERS.values(), "inside", "inside, GP"]
    text = table(header, rows, "lrrrrrr")
    return head, SECTION.format(n=n, says=says, table=text, made=repeat(kept))


def _choice(chosen: pd.DataFrame, kept: ResultFile) -> str:
    area = chosen.pivot_table("area", ["table", "seed"], "who").groupby("table").mean()
    less = area["auto"] - area["random"]
    found = interval(less.to_numpy())
    says = (
        "The area is the mean of the error over the queries that follow some random labels. The "
        f"default's is below that of random choice on {share(int((less < 0).sum()), len(less))} "
        f"tables, by {-found.mean:.3f} on average ({-found.high:.3f} to {-found.low:.3f})."
    )
    rows = [
        [name, plain(row["auto"], 3), plain(row["random"], 3), signed(row["auto"] - row["random"])]
        for name, row in area.iterrows()
    ]
    text = table(["table", "default", "random", "difference"], rows, "lrrr")
    return CHOICE.format(says=says, table=text, made=repeat(kept))


def _percent(value: float) -> str:
    return f"{100.0 * value:.0f} %"
