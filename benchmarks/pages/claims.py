"""Verdicts on the paper's claims."""

from typing import Any

import pandas as pd
from benchmarks.pages.curves import curves
from benchmarks.pages.markdown import bold, figure, repeat, table, whole
from benchmarks.pages.result_files import Figures, Files, ResultFile

from weal.benchmark.paper_claims import CLAIMS, MULTI, RANGE_METHOD
from weal.benchmark.summary import (
    in_order_of_methods,
    in_order_of_tasks,
    method_title,
    number,
    task_title,
)

AS_IT_STANDS = "as it stands"

TEXT = """# The paper's claims

**{found}**

The experiments of Polyzos, Lu and Giannakis (2022, arXiv 2206.05009), their methods under their
names: {what}, {seeds}. A comparison is decided by flipping the signs of whole realisations; the
three counts are of comparisons that hold, that do not, and that are undecided, corrected for all
comparisons of a claim together. In the last column is the verdict without correction. How this is
judged, and where it differs from the print: [the paper, to the letter](../understand/paper.md).

{claims}

{made}
{experiments}
## Other readings of the same run

Where the text leaves room, or where one would ask the same of something else:

{readings}

{again}
{chance}
"""

EXPERIMENTS = """
## The ten experiments

One part for each task: what the paper claims of it, the curves, and the errors after the last
query. Curves are means over realisations. Where a method leaves a panel, the panel says how far it
goes: a GP that is certain and wrong pays with thousands of nats.
{tasks}
## Two readings of "divided by its maximum"

EGP-multiAFs weighs scores that are "divided by their maximum value, so that to range between 0 and
1". Where an entropy is negative, dividing reverses its order and leaves that range; *shifted and
scaled* is what the words after the comma ask for. Mean NMSE after the last query:

{maxima}

{made}
"""

EXPERIMENT = """
### {title}

{claimed}

{figure}
{errors}

{made}
"""

CHANCE = """
## How often chance decides

Simulated methods that are equally good, ten realisations each: the share of comparisons, or of
claims with thirty of them, that are decided at 5 % all the same.

{table}

{made}

The last lines are not promised: differences that are themselves skewed around a mean of 0. No test
of ten numbers keeps its level for all of these. Two methods that could be exchanged have none such,
and logarithms take the skew out of NMSE.
"""


def page(files: Files, figures: Figures) -> str:
    """The text; its figures are added to `figures`."""
    kept = files["claims"]
    judged = [row for row in kept.rows if "reading" in row]
    own = [row for row in judged if row["reading"] == AS_IT_STANDS]
    return TEXT.format(
        found=found(own),
        what=kept.about["what"].split(", ")[-1],
        seeds=kept.about["seeds"],
        claims=claims_table(kept),
        made=repeat(kept),
        readings=table(["reading", "claim", "found", *COUNTS], _readings(judged), "lrlll"),
        again=repeat(kept),
        experiments=_experiments(kept, figures),
        chance=_chance(files["chance"]) if "chance" in files else "",
    )


COUNTS = ["hold / do not / undecided", "each by itself"]


def claims_table(kept: ResultFile) -> str:
    """What the paper claims and what is found: a row for each claim."""
    own = [row for row in kept.rows if row.get("reading") == AS_IT_STANDS]
    rows = [[f"{r['claim']}. {r['says']}", _found(r), *_counts(r)] for r in own]
    return table(["the paper says", "found", *COUNTS], rows, "llll")


def part_of_paper_page(files: Files) -> str:
    """The table at the top of the page on the paper, which includes it."""
    kept = files["claims"]
    own = [row for row in kept.rows if row.get("reading") == AS_IT_STANDS]
    return f"**{found(own)}**\n\n{claims_table(kept)}\n\n{repeat(kept)}\n"


def _readings(judged: list[dict[str, Any]]) -> list[list[Any]]:
    """A row for each claim under another reading, whose words stand once."""
    others = [row for row in judged if row["reading"] != AS_IT_STANDS]
    rows: list[list[Any]] = []
    last = ""
    for row in sorted(others, key=lambda row: str(row["reading"])):
        words = "" if row["reading"] == last else row["reading"]
        rows.append([words, row["claim"], _found(row), *_counts(row)])
        last = row["reading"]
    return rows


def found(claims: list[dict[str, Any]]) -> str:
    """The verdicts, counted."""
    verdicts = [row["found"] for row in claims]
    counted = [
        f"{n} {one if n == 1 else more}"
        for word, (one, more) in WORDS.items()
        if (n := verdicts.count(word))
    ]
    return f"Of the paper's {len(claims)} claims, {', '.join(counted)}."


WORDS = {
    "holds": ("holds", "hold"),
    "partly": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
    "missing": ("was not run", "were not run"),
}


def _found(row: dict[str, Any]) -> str:
    parts = row["holding parts"] if row["found"] == "partly" else []
    return f"{row['found']}: {'; '.join(parts)}" if parts else str(row["found"])


def _counts(row: dict[str, Any]) -> list[str]:
    return [whole(" / ".join(map(str, row[which]))) for which in ("corrected", "each by itself")]


def _experiments(kept: ResultFile, figures: Figures) -> str:
    """A part for each task, and what the two readings of a division come to."""
    rows = pd.DataFrame([row for row in kept.rows if "task" in row])
    if rows.empty:
        return ""
    tasks = in_order_of_tasks(rows["task"])
    holding = {part for row in kept.rows if row.get("reading") == AS_IT_STANDS
               for part in row["holding parts"]}  # fmt: skip
    parts = []
    for task in tasks:
        name = f"claims-{task}"
        figures |= curves(name, rows, [task])
        parts.append(
            EXPERIMENT.format(
                title=task_title(task),
                claimed=claimed(task, holding),
                figure=figure(name, f"NMSE and NPLL against queries, {task_title(task)}"),
                errors=_errors(rows[rows["task"] == task]),
                made=repeat(kept),
            )
        )
    last = rows.set_index(["task", "method"])["nmse"].map(lambda curve: curve[-1])
    maxima = [
        [task_title(task), *(number(last[task, method]) for method in (MULTI, RANGE_METHOD))]
        for task in tasks
    ]
    header = ["task", "divided, as printed", "shifted and scaled"]
    return EXPERIMENTS.format(
        tasks="".join(parts), maxima=table(header, maxima, "lrr"), made=repeat(kept)
    )


def claimed(task: str, holding: set[str]) -> str:
    """What the paper claims of a task, and whether that holds, as a list."""
    parts = [(claim, part) for claim in CLAIMS for part in claim.parts if part.task == task]
    lines = [
        f"- claim {claim.number}, {part.says}: {'holds' if part.says in holding else 'not shown'}"
        for claim, part in parts
    ]
    return "\n".join(lines) or "The paper claims nothing of it."


def _errors(own: pd.DataFrame) -> str:
    """NMSE and NPLL of each method after the last query, the lowest in bold."""
    values = own.set_index("method")[["nmse", "npll"]].map(lambda curve: float(curve[-1]))
    least = values.min()
    rows = [
        [method_title(method), *(bold(number(values.loc[method, one]),
                                      values.loc[method, one] == least[one]) for one in values)]
        for method in in_order_of_methods(own["method"])
    ]  # fmt: skip
    return table(["method", "NMSE", "NPLL"], rows, "lrr")


def _chance(kept: ResultFile) -> str:
    """The shares, in per cent."""
    columns = ("one", "any", "corrected")
    rows = [[row["kind"], *(_per_cent(row.get(name)) for name in columns)] for row in kept.rows]
    header = ["each method's error is", "one comparison", "any of a claim, each by itself",
              "any of a claim, corrected"]  # fmt: skip
    return CHANCE.format(table=table(header, rows, "lrrr"), made=repeat(kept))


def _per_cent(value: float | None) -> str:
    return "" if value is None else f"{100.0 * value:.1f} %"
