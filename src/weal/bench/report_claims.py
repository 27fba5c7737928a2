"""The claims table of a report: what the paper says, and beside it what is found."""

import pandas as pd

from weal.bench.page import Html, fold, items, table, tag
from weal.bench.titles import METRICS, method_title, number, task_title
from weal.bench.verdicts import (
    HOLDS,
    MISSING,
    NOT,
    PARTLY,
    UNDECIDED,
    ClaimFound,
    ComparisonFound,
    PartFound,
)

_SIGNS = {HOLDS: "✓", NOT: "✗", PARTLY: "◐", UNDECIDED: "?", MISSING: "-"}
_COLOURS = {HOLDS: "holds", NOT: "not", PARTLY: "partly"}
_RULES = (
    "A comparison holds when the 95 % bootstrap interval of the paired difference over "
    "realisations lies on the claimed side at the last reading, does not hold when it lies on the "
    "other side, and is undecided otherwise. The last reading decides; the verdict by the area "
    "over all readings stands beside it as a second opinion."
)


def claims_section(found: tuple[ClaimFound, ...]) -> Html:
    """The table, and every comparison behind it."""
    rows = [[str(f.claim.number), f.claim.says, _found(f), _details(f)] for f in found]
    header = ["", "The paper says", "Found", "In numbers"]
    every = comparisons(found)
    behind = table(list(every.columns), every.map(str).to_numpy().tolist())
    return tag(
        "div",
        tag("p", _RULES, kind="note"),
        table(header, rows, kind="words stack claims"),
        fold(f"All {len(every)} comparisons behind the table", behind),
    )


def comparisons(found: tuple[ClaimFound, ...]) -> pd.DataFrame:
    """One row a comparison, in words and numbers."""
    parts = [(f.claim.number, part) for f in found for part in f.parts]
    return pd.DataFrame(
        [_row(n, c) for n, part in parts for c in part.comparisons],
    )


def _row(claim: int, c: ComparisonFound) -> dict[str, object]:
    what, start = c.comparison, " at the start" if c.comparison.rise else ""
    return {
        "claim": claim,
        "task": task_title(what.task),
        "metric": METRICS[what.metric],
        "claimed lower": method_title(what.low) + start,
        "claimed higher": method_title(what.high),
        "mean of lower": number(c.low),
        "mean of higher": number(c.high),
        "difference": number(c.difference.mean),
        "from": number(c.difference.low),
        "to": number(c.difference.high),
        "lower in": f"{c.wins} of {c.difference.n}",
        "verdict": c.verdict,
        "by area": c.area,
    }


def _found(f: ClaimFound) -> Html:
    return Html(verdict(f.verdict) + tag("small", f"by the area: {f.area}"))


def verdict(word: str) -> Html:
    """A verdict with its sign."""
    return tag("span", f"{_SIGNS[word]} {word}", kind=f"verdict {_COLOURS.get(word, '')}".strip())


def _details(f: ClaimFound) -> Html:
    parts = [] if f.verdict == MISSING else [_part(part) for part in f.parts]
    return Html(tag("div", f.words) + items(parts) + items(f.notes, kind="note"))


def _part(part: PartFound) -> Html:
    return tag("span", f"{part.part.says}: ", verdict(part.verdict), f" ({part.words})")
