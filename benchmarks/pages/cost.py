"""Costs: a query, a command and a page beside other packages; a label after t labels."""

from benchmarks.growth import LARGE, exponents
from benchmarks.pages import query_cost
from benchmarks.pages.figures import growth
from benchmarks.pages.markdown import figure, milliseconds, repeat, table, whole
from benchmarks.pages.result_files import Figures, Files, ResultFile

KINDS = {"features": "random features", "exact": "exact expert", "refitted": "GP, refitted"}

TEXT = """# What it costs

{found}

Times are of the processor, one thread; ratios are measured in one run, so that a busy machine
counts little. Measuring a label takes minutes or days: what matters is that nobody waits for the
next question.
{sections}
"""

SECTION = """
## {title}

{says}

{table}

{made}
"""


def page(files: Files, figures: Figures) -> str:
    """The text; its figures are added to `figures`."""
    parts = []
    said = "What a query, a label and a command cost, in ratios."
    if "cost" in files:
        kept = files["cost"]
        said = query_cost.found(kept.frame)
        parts += [
            _section(title, says, text, kept)
            for title, says, text in query_cost.sections(kept.frame, figures)
        ]
    if "growth" in files:
        parts.append(of_growth(files["growth"], figures))
    for name, (title, says) in LINES.items():
        if name in files:
            parts.append(_section(title, says, lines(files[name]), files[name]))
    return TEXT.format(found=said, sections="".join(parts))


LINES = {
    "asking": (
        "Asking and telling",
        "Against the bare matrix products that a step cannot do without, and against numpy that "
        "goes expert by expert.",
    ),
    "foundation": ("Under the hood", "Our functions beside the obvious way to write them."),
    "steps": (
        "Step by step in an open process",
        "A tell only records. An ask follows the labels told since; now and then it selects the "
        "experts again. The ratio is of "
        "the slowest to the median, or of an ask with expert selection to a bare selection and one "
        "pass "
        "over the candidates.",
    ),
    "campaign": ("A campaign on disk", "Opening, telling, asking; commands from start to end."),
    "startup": (
        "Commands in a process of their own",
        "Beside the imports of numpy and scipy alone, measured in turn.",
    ),
    "serve": (
        "Pages in a browser",
        "Processor time of the server for each page of `weal serve`, beside the least that a "
        "request can cost (`/healthz`), and for keeping a label. The first answer is by the clock "
        "on the wall.",
    ),
}


def _section(title: str, says: str, text: str, kept: ResultFile) -> str:
    return SECTION.format(title=title, says=says, table=text, made=repeat(kept))


def of_growth(kept: ResultFile, figures: Figures) -> str:
    """What the next label costs, as labels come."""
    frame = kept.frame
    figures |= growth("growth", frame, KINDS)
    ms = 1e3 * frame.pivot(index="labels", columns="kind", values="seconds")
    mib = frame.pivot(index="labels", columns="kind", values="kept") / 2**20
    rows = [
        [f"{t:,}", *(whole(milliseconds(ms.loc[t, kind])) for kind in KINDS),
         *(whole(f"{mib.loc[t, kind]:.3g} MiB") for kind in KINDS)]
        for t in ms.index
    ]  # fmt: skip
    if sum(ms.index >= LARGE) > 1:
        powers = [exponents(frame, column, LARGE) for column in ("seconds", "kept")]
        cells = [f"t^{abs(power[kind]):.2f}" for power in powers for kind in KINDS]
        rows.append([f"grows from {LARGE:,} on as", *cells])
    header = ["labels", *KINDS.values(), *(f"kept: {kind}" for kind in KINDS)]
    text = figure("growth", "Milliseconds of the next label against labels so far")
    says = (
        "One kernel, five hundred candidates that follow each label. On random features a label "
        "costs the same however "
        "many came before; an exact expert pays a row of its Cholesky factor and makes no error "
        "of approximation; a GP that is fitted again (scikit-learn's, its optimiser off) pays the "
        "whole factor."
    )
    return _section(
        "A label, as labels come", says, f"{text}\n{table(header, rows, 'rrrrrrr')}", kept
    )


def lines(kept: ResultFile) -> str:
    """What, time, ratio, and what was asked."""
    rows = []
    for row in kept.rows:
        if "theirs" in row:
            row = {**row, "ms": 1e3 * row["ours"], "ratio": row["theirs"] / row["ours"]}
        ratio = "" if row.get("ratio") is None else f"{row['ratio']:.3g}x"
        asked = row.get("asked", "").removeprefix("asked ")
        rows.append(
            [row["what"].replace(" | ", " against "), whole(milliseconds(row["ms"])), ratio, asked]
        )
    if not any(row[-1] for row in rows):
        return table(["what", "time", "ratio"], [row[:-1] for row in rows], "lrr")
    return table(["what", "time", "ratio", "asked"], rows, "lrrl")
