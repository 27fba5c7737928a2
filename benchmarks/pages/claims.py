"""What is found of the paper's claims."""

from typing import Any

from benchmarks.pages.kept import Figures, Files
from benchmarks.pages.markdown import repeat, table

AS_IT_STANDS = "as it stands"

TEXT = """# The paper's claims

**{found}**

The experiments of Polyzos, Lu and Giannakis (2022, arXiv 2206.05009), their methods under their
names. A comparison is decided by flipping the signs of whole realisations; the three counts are
of comparisons that hold, that do not, and that are undecided, corrected for all comparisons of a
claim together. In the last column is what each would say by itself. How this is judged, and where
it differs from the print: [the paper, to the letter](../understand/paper.md).

{claims}

{made}

## Other readings of the same run

Where the text leaves room, or where one would ask the same of something else:

{readings}

{again}
"""


def page(files: Files, figures: Figures) -> str:
    """The text."""
    kept = files["claims"]
    own = [row for row in kept.rows if row["reading"] == AS_IT_STANDS]
    claims = [[f"{r['claim']}. {r['says']}", _found(r), *_counts(r)] for r in own]
    readings = [
        [row["reading"], row["claim"], _found(row), *_counts(row)]
        for row in sorted(kept.rows, key=lambda row: row["reading"])
        if row["reading"] != AS_IT_STANDS
    ]
    counts = ["hold / do not / undecided", "each by itself"]
    return TEXT.format(
        found=found(own),
        claims=table(["the paper says", "found", *counts], claims, "llll"),
        made=repeat(kept),
        readings=table(["reading", "claim", "found", *counts], readings, "lrlll"),
        again=repeat(kept),
    )


def found(claims: list[dict[str, Any]]) -> str:
    """The verdicts, counted."""
    verdicts = [row["found"] for row in claims]
    counted = [f"{verdicts.count(word)} {says}" for word, says in WORDS.items() if word in verdicts]
    return f"Of the paper's {len(claims)} claims, {', '.join(counted)}."


WORDS = {
    "holds": "hold",
    "partly": "hold in part",
    "does not hold": "do not hold",
    "undecided": "are undecided",
    "missing": "were not run",
}


def _found(row: dict[str, Any]) -> str:
    parts = row["holding parts"] if row["found"] == "partly" else []
    return f"{row['found']}: {'; '.join(parts)}" if parts else str(row["found"])


def _counts(row: dict[str, Any]) -> list[str]:
    return [" / ".join(map(str, row[which])) for which in ("corrected", "each by itself")]
