"""Directives for Contribute: the rooms as a figure and as a table, and the path of a label.

Rooms are read from the contract of import-linter in pyproject.toml, which CI enforces, and the way
from docs/contribute/way.toml, whose names are imported: neither can go stale.

    ```{rooms-figure}      the layers, and numbers along the way of a label
    ```{rooms-table}       each room with its sentence
    ```{label-way}         the numbers in words
    ```{extras-table}      what may be installed with weal
    ```{claims-table}      claims of the first pages, with what holds each (docs/claims.toml)
"""

import re
import tomllib
from functools import cache
from html import escape
from importlib import import_module
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from weal.cli.commands.doctor import EXTRAS, package

ROOT = Path(__file__).parents[2]
WORDS = {
    "cli": "the commands of `weal`: options, screens, exit codes",
    "web": "the pages of `weal serve` and its API: access, jobs in a worker process, a module and "
    "a folder of templates for each page",
    "assistant": "`weal mcp`: tools for an assistant",
    "client": "`weal.Remote`: a campaign on a server",
    "benchmark": "the paper's tasks, methods and claims; runs; report",
    "campaign": "events and rules of a campaign, replay, results files, status, export",
    "active_learner": "`ActiveLearner`: ask, tell and predict in one process",
    "classifier": "`EnsembleGPClassifier`, the estimator of classes for scikit-learn",
    "regressor": "`EnsembleGPRegressor`, the estimator for scikit-learn",
    "feature_encoder": "`FeatureEncoder`: random features of inputs that are not shared",
    "plots": "figures",
    "widget": "`learner.widget()` and `campaign.widget()`: the bench in a notebook",
    "diagnostics": "leave-one-out errors, error trend, stopping, comparison with random choice, "
    "effects of inputs, explanations, suspect labels",
    "formats": "`.weal` files and snapshots: a JSON header and arrays, never pickle",
    "learner": "the state, its events, `apply`; choosing; pools, in memory and in shards",
    "shards": "candidates in Parquet files: rows, encoding, an index of ids, executors (threads, "
    "Dask)",
    "goals": "what the labels are for: the acquisition, advice when to stop, and its words",
    "quantities": "what is measured: how labels are read, checked, judged, shown and drawn",
    "model": "parameters, expert selection, training, predictions",
    "store": "memory, SQLite, PostgreSQL; integrity checks, recovery, backup",
    "conditions": "conditions such as `purity >= 95`, parsed and never evaluated",
    "core": "the mathematics: pure functions on frozen dataclasses of arrays, numpy and scipy "
    "only, in the paper's letters",
    "tables": "CSV, Excel, Parquet and data frames, and the plan that encodes them as inputs",
    "samples": "the sample tables",
    "limits": "sizes of uploads and time limits of server jobs",
    "files": "atomic writes that replace only files that weal wrote",
    "errors": "error classes and their codes",
    "logs": "the loggers `weal.*`, and the masking of secrets",
    "progress": "the progress callback, and a progress bar without a thread",
    "text": "numbers, lists and reasons in words",
}
WIDE, LEFT, ROW, GAP, TOP = 440, 206, 36, 7, 8  # the unit is a pixel of a phone, and a bit
FIRST, STEP, RADIUS = 222, 20.6, 9
STYLE = """
.rooms { display: block; width: 100%; max-width: 640px; margin: 1.5rem 0; font-family: inherit }
.rooms text { fill: var(--pst-color-text-base); font-size: 14px }
.rooms .box { fill: var(--pst-color-surface); stroke: var(--pst-color-border); stroke-width: 1 }
.rooms .box.on { stroke: var(--pst-color-text-muted); stroke-width: 1.6 }
.rooms .lane { stroke: var(--pst-color-border); stroke-dasharray: 1 4 }
.rooms .later { fill: none; stroke: var(--pst-color-text-muted); stroke-dasharray: 4 4 }
.rooms .small { font-size: 12.5px }
.rooms .way { fill: none; stroke-width: 2; opacity: .65 }
.rooms .tell { stroke: #0072B2 } .rooms .ask { stroke: #B24A00 }
.rooms circle.tell { fill: #0072B2 } .rooms circle.ask { fill: #B24A00 }
.rooms .number { fill: #fff; font-size: 11px; font-weight: 600; text-anchor: middle }
html[data-theme="dark"] .rooms path.tell { stroke: #56B4E9 }
html[data-theme="dark"] .rooms path.ask { stroke: #E69F00 }
"""


@cache
def layers() -> list[list[str]]:
    """The rooms, top down; rooms of one layer do not know of one another."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    [found] = [one for one in contracts if one.get("containers") == ["weal"]]
    rows = [[room.strip() for room in layer.split("|")] for layer in found["layers"]]
    if unknown := {room for row in rows for room in row} ^ set(WORDS):
        raise ValueError(f"docs/_ext/rooms.py and the contract of the rooms differ in {unknown}")
    return rows


@cache
def way() -> list[dict[str, str]]:
    """The steps of a label, each at a name that is there."""
    steps: list[dict[str, str]] = tomllib.loads(
        (ROOT / "docs" / "contribute" / "way.toml").read_text("utf-8")
    )["step"]
    for one in steps:
        module, _, name = one["at"].partition(":")
        attrgetter(name)(import_module(module))
        if not module.startswith(f"weal.{one['room']}"):
            raise ValueError(f"{one['at']} is not in the room {one['room']}")
    return steps


def figure() -> str:
    """The figure, as SVG for a page of either colour."""
    rows, steps = layers(), way()
    tall = TOP + len(rows) * (ROW + GAP) + 30
    middle = {room: TOP + n * (ROW + GAP) + ROW / 2 for n, row in enumerate(rows) for room in row}
    passed = {one["room"] for one in steps}
    parts = [_layer(row, middle[row[0]], passed) for row in rows]
    dots = [(FIRST + n * STEP, middle[one["room"]]) for n, one in enumerate(steps)]
    told = sum(one["part"] == "tell" for one in steps)
    parts += [
        _path("way tell", dots[:told]),
        _path("later", dots[told - 1 : told + 1]),
        _path("way ask", dots[told:]),
    ]
    parts += [_dot(n, dot, one) for n, (dot, one) in enumerate(zip(dots, steps, strict=True), 1)]
    legend = [
        ("tell", f"1 to {told}: weal tell", 0),
        ("ask", f"{told + 1} to {len(steps)}: weal ask", 150),
    ]
    for kind, words, x in legend:
        parts.append(
            f'<circle class="{kind}" cx="{x + 8}" cy="{tall - 12}" r="6"/>'
            f'<text class="small" x="{x + 20}" y="{tall - 7.5}">{words}</text>'
        )
    title = "The rooms of weal, one above the other, and the way of a label through them"
    return (
        f'<svg class="rooms" viewBox="0 0 {WIDE} {tall}" role="img" aria-label="{title}">'
        f"<title>{title}</title><style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def _layer(row: list[str], y: float, passed: set[str]) -> str:
    """The boxes of a layer, and its lane."""
    letters = [len(room) + 3 for room in row]
    free, x, parts = LEFT - GAP * (len(row) - 1), 0.5, []
    for room, size in zip(row, letters, strict=True):
        wide = free * size / sum(letters)
        small = " small" if len(row) > 2 else ""
        on = " on" if room in passed else ""
        parts.append(
            f"<g><title>{escape(WORDS[room])}</title>"
            f'<rect class="box{on}" x="{x:.1f}" y="{y - ROW / 2}" width="{wide:.1f}" '
            f'height="{ROW}" rx="6"/><text class="name{small}" text-anchor="middle" '
            f'x="{x + wide / 2:.1f}" y="{y + 5}">{room}</text></g>'
        )
        x += wide + GAP
    parts.append(f'<line class="lane" x1="{LEFT + 4}" x2="{WIDE}" y1="{y}" y2="{y}"/>')
    return "".join(parts)


def _path(kind: str, dots: list[tuple[float, float]]) -> str:
    """A smooth line through the dots, from left to right."""
    text = f"M{dots[0][0]:.1f} {dots[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(dots):
        half = (x0 + x1) / 2
        text += f" C{half:.1f} {y0:.1f} {half:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    return f'<path class="{kind}" d="{text}"/>'


def _dot(n: int, dot: tuple[float, float], step: dict[str, str]) -> str:
    x, y = dot
    return (
        f"<g><title>{escape(step['at'])}</title>"
        f'<circle class="{step["part"]}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>'
        f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}">{n}</text></g>'
    )


def table() -> str:
    """The rooms and what lives there, as Markdown."""
    lines = ["| room | what lives there |", "|---|---|"]
    for row in layers():
        lines += [f"| `{room}` | {WORDS[room]} |" for room in row]
    return "\n".join(lines)


def steps() -> str:
    """The way in words, as Markdown."""
    names = [one["at"].removeprefix("weal.").replace(":", ".") for one in way()]
    return "\n".join(
        f"{n}. **{one['room']}** `{name}` {one['words']}"
        for n, (name, one) in enumerate(zip(names, way(), strict=True), 1)
    )


def extras() -> str:
    """The extras and what each is for, as Markdown."""
    lines = ["| `pip install ...` | for | brings |", "|---|---|---|"]
    for name, (use, packages) in EXTRAS.items():
        brings = ", ".join(package(one).name for one in packages)
        lines.append(f"| `weal[{name}]` | {use} | {brings} |")
    return "\n".join([*lines, "| `weal[all]` | all of these but `peers`, which brings torch | |"])


def _holder(held: str) -> str:
    """A test as its sentence and file, a file by its path, or the reason for none."""
    if held.startswith("none: "):
        return f"*{held}*"
    file, _, name = held.partition("::")
    words = name.removeprefix("test_").replace("_", " ")
    return f"{words} (`{file}`)" if name else f"`{file}`"


def claims() -> str:
    """Claims of README and the first pages, and what holds each, as Markdown."""
    pages = tomllib.loads((ROOT / "docs/claims.toml").read_text("utf-8"))["page"]
    lines = []
    for page in pages:
        lines += [f"**`{page['file']}`**", "", "| claim | held by |", "|---|---|"]
        for sentence, *held in page["claims"]:
            plain = re.sub(r"\[([^\]]*)\](\([^)]*\))?|[`*|]", r"\1", sentence)
            lines.append(f"| {escape(plain)} | {'<br>'.join(map(_holder, held))} |")
        lines.append("")
    return "\n".join(lines)


class Figure(Directive):
    """The figure."""

    def run(self) -> list[nodes.Node]:
        """As raw HTML."""
        return [nodes.raw("", figure(), format="html")]


MADE = {"rooms-table": table, "label-way": steps, "extras-table": extras, "claims-table": claims}


class Written(Directive):
    """Markdown that is made by a function."""

    def run(self) -> list[nodes.Node]:
        """What MyST makes of it."""
        made = MADE[self.name]()
        node = nodes.container()
        self.state.nested_parse(made.splitlines(), self.content_offset, node)  # type: ignore[arg-type]
        return node.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("rooms-figure", Figure)
    for name in MADE:
        app.add_directive(name, Written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
