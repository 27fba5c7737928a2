"""The claims table of a report: what the paper says, what is found, and what differs from it."""

import numpy as np
import pandas as pd

from weal.bench.compared import HOLDS, MISSING, NOT, UNDECIDED, ComparisonFound
from weal.bench.differences import DIFFERENCES, HEADER, WORDS
from weal.bench.page import Html, fold, items, table, tag
from weal.bench.titles import ALL_METRICS, method_title, number, task_title
from weal.bench.verdicts import PARTLY, ClaimFound, PartFound

_SIGNS = {HOLDS: "✓", NOT: "✗", PARTLY: "◐", UNDECIDED: "?", MISSING: "-"}
_COLOURS = {HOLDS: "holds", NOT: "not", PARTLY: "partly"}
_RULES = (
    "A comparison is decided by flipping the signs of whole realisations: of the paired "
    "differences at the last reading, of logs for NMSE, as they are for NPLL, which is a logarithm "
    "already. It holds, or does not, when that leaves 5 % to chance, corrected for all comparisons "
    "of its claim together (step-down max-t of Westfall and Young); it is undecided otherwise. "
    "What each would be by itself is counted beside it. Intervals are 95 % of single comparisons, "
    "by inverting the same flips. The last reading decides; the verdict by the area over all "
    "readings stands beside it as a second opinion."
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


def differences() -> Html:
    """Where the experiments differ from the paper's print, or had to choose."""
    rows = [[d.where, d.printed, d.here, WORDS[d.kind]] for d in DIFFERENCES]
    title = f"All {len(rows)} points, made line by line through the paper; the rest is as printed"
    return fold(title, table([*HEADER, ""], rows, kind="words stack"))


def comparisons(found: tuple[ClaimFound, ...]) -> pd.DataFrame:
    """One row a comparison, in words and numbers."""
    return pd.DataFrame([_row(f.claim.number, c) for f in found for c in f.comparisons])


def with_variants(found: tuple[ClaimFound, ...]) -> pd.DataFrame:
    """The same with those of the variants, which a first column tells apart."""
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
        "p by itself": number(c.p_alone),
        "p in its claim": number(c.p),
        "by itself": c.alone,
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
