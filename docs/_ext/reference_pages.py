"""Pages of the reference that are made from the package, before every build.

    reference/api/weal.NAME.rst     a page for each public name, and for what methods give back
    reference/api/_commands/*.md    usage and options of each command, for commands.md to include
    reference/api/_tables/*.md      tables of the store, for files.md to include
    reference/api/_json/*.md        fields of what --json gives, by its schema

A file whose text did not change is not touched, so that builds that reuse others find it as it was.
"""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import api_pages
import command_pages
import json_pages
import table_pages

import weal

GROUPS = {  # the public names, as one looks for them
    "Learn": ("ActiveLearner", "box", "simulate"),
    "Campaigns": ("open_campaign", "Campaign", "Remote"),
    "The model": (
        "EnsembleGPRegressor",
        "EnsembleGPClassifier",
        "Kernel",
        "Scaling",
        "FeatureEncoder",
    ),
    "Pools beyond memory": ("open_pool",),
    "Errors": (
        "WealError", "AlreadyLabelled", "UnknownId", "Exhausted", "Conflict", "UnreadableFile",
    ),
}  # fmt: skip
VALUES = {  # what public methods give back, or take: pages of their own too
    "Model": "weal.model.model",
    "Plots": "weal.plots.axes",
    "History": "weal.learner.history",
    "Run": "weal.learner.run",
    "TrackedPoints": "weal.active_learner",
    "Belief": "weal.core.paper.acquisition",
    "LeasedRow": "weal.campaign.suggestions",
    "CandidateReport": "weal.campaign.candidate_report",
    "ResultsImport": "weal.campaign.results_import",
    "Status": "weal.campaign.status",
    "LearnerStatus": "weal.diagnostics.learner_status",
    "RowExplanation": "weal.diagnostics.row_explanation",
    "Simulation": "weal.benchmark.simulation",
    "Suspect": "weal.diagnostics.suspects",
    "Contradiction": "weal.diagnostics.contradictions",
    "Event": "weal.store.events",
    "Dataset": "weal.shards.dataset",
}


INTRODUCED = {
    "Errors": ["[All errors](errors.md), with those in `weal.errors` only.", ""],
    "What comes back": [
        "Values that methods give back; a function that scores gets a `Belief`.",
        "",
    ],
}


def members(owner: type) -> tuple[list[str], list[str]]:
    """Our public methods and properties, in the order in which they are written."""
    methods, properties = dict[str, None](), dict[str, None]()
    for one in owner.__mro__:
        if not one.__module__.startswith("weal."):
            continue
        for name, found in vars(one).items():
            plain = getattr(found, "__func__", found)
            if name.startswith("_"):
                continue
            if isinstance(found, property):
                properties.setdefault(name)
            elif inspect.isfunction(plain):
                methods.setdefault(name)
    return list(methods), list(properties)


def fields(owner: type) -> list[str]:
    """The fields of a dataclass and their descriptions, from the comments beside them."""
    found = re.findall(
        r"^    (\w+): ([^\n]*?)(?: = [^#\n]*)?(?:  # ([^\n]*))?$", inspect.getsource(owner), re.M
    )
    names = {one.name for one in dataclasses.fields(owner)}
    rows = [(name, kind.strip('"'), said) for name, kind, said in found if name in names]
    head = ["   .. rubric:: Fields", "", "   .. list-table::", "      :widths: auto", ""]
    return head + [
        line
        for name, kind, said in rows
        for line in (f"      * - ``{name}``", f"        - ``{kind}``", f"        - {said}".rstrip())
    ]


def page(module: str, name: str) -> str:
    """The page of one name, as reStructuredText."""
    thing = getattr(import_module(module), name)
    lines = [name, "=" * len(name), "", f".. currentmodule:: {module}", ""]
    if not inspect.isclass(thing):
        return "\n".join([*lines, f".. autofunction:: {name}", ""])
    kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
    lines += [f".. {kind}:: {name}", ""]
    if kind == "autoexception":
        return "\n".join(lines)
    if dataclasses.is_dataclass(thing) and name in VALUES:
        lines += [*fields(thing), ""]
    for title, found, directive in zip(
        ("Methods", "Properties"), members(thing), ("automethod", "autoproperty"), strict=True
    ):
        if found:
            table = [f"   .. rubric:: {title}", "", "   .. autosummary::"]
            table += ["      :nosignatures:", ""]
            lines += [*table, *(f"      ~{name}.{one}" for one in found), ""]
            lines += [line for one in found for line in (f"   .. {directive}:: {one}", "")]
    return "\n".join(lines)


def names() -> str:
    """Tables of all names, a line for each, for index.md to include."""
    if listed := {name for group in GROUPS.values() for name in group} ^ set(weal.__all__):
        raise ValueError(f"GROUPS and weal.__all__ do not agree on {', '.join(sorted(listed))}")
    parts = [(title, [("weal", name) for name in group]) for title, group in GROUPS.items()]
    parts += [("What comes back", [(module, name) for name, module in VALUES.items()])]
    return "\n".join(line for title, group in parts for line in _table(title, group))


def _table(title: str, group: list[tuple[str, str]]) -> list[str]:
    rows = []
    for module, name in group:
        said = inspect.getdoc(getattr(import_module(module), name)) or ""
        first = said.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        rows += [f"| [`{name}`](api/{module}.{name}.rst) | {first} |"]
    pages = [f"api/{module}.{name}" for module, name in group]
    toctree = ["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""]
    head = [f"## {title}", "", *INTRODUCED.get(title, []), "| name | |", "|---|---|"]
    return [*head, *rows, "", *toctree]


def write(path: Path, text: str) -> None:
    """Write the text, unless it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def generate(app: Any) -> None:
    """Write all pages."""
    folder = Path(app.srcdir) / "reference" / "api"
    homes = [("weal", name) for name in weal.__all__] + [(m, n) for n, m in VALUES.items()]
    pages = {f"{module}.{name}.rst": page(module, name) for module, name in homes}
    pages["_tables/names.md"] = names()
    for module in (api_pages, command_pages, json_pages, table_pages):
        pages |= module.pages()
    for name, text in pages.items():
        write(folder / name, text)
    for old in folder.rglob("*.*"):
        if old.is_file() and str(old.relative_to(folder)) not in pages:
            old.unlink()


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
