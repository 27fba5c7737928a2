"""The paper's claims as comparisons that can be tested, and where the experiments differ from it.

A claim has parts, and a part has comparisons. A comparison says that on one task and in one metric
(lower is better for all) the method `low` ends below the method `high`; with `rise`, that the
metric of one method ends above its start. claims.toml lists the claims, differences.toml the
differences from the print. `paper_verdicts` judges the claims.

Variants of a claim are judged beside it if their methods were run: other readings of the paper,
and comparisons that give both sides the same labels.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from typing import Any, Literal, NotRequired, TypedDict

import weal.benchmark
from weal.benchmark.summary import METRICS, task_title

Metric = Literal["nmse", "npll", "joint"]
Enough = Literal["all", "most", "all but one"]

BASELINE = "gp-var"
SINGLE = ("egp-wvar", "egp-went", "egp-qbc", "egp-gpm-var", "egp-gpm-ent")
MULTI = "egp-multiafs"
RANGE_METHOD = "egp-multiafs-range"
EGP = (*SINGLE, MULTI)
SYNTHETIC = ("ackley", "branin", "currin", "gramacy", "higdon")
_METHOD_GROUPS = {"single": SINGLE, "egp": EGP}


@dataclass(frozen=True, slots=True)
class ClaimedComparison:
    """On a task, the metric of `low` ends below that of `high`."""

    task: str
    metric: Metric
    low: str  # a method
    high: str
    rise: bool = False  # low and high are one method, at its start and at its end


@dataclass(frozen=True, slots=True)
class Part:
    """Comparisons on one task, and how many of them must hold."""

    says: str
    comparisons: tuple[ClaimedComparison, ...]
    enough: Enough = "all"

    @property
    def task(self) -> str:
        """The task of all its comparisons."""
        return self.comparisons[0].task


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    number: int
    says: str
    parts: tuple[Part, ...]
    enough: Enough = "all"


def required_count(enough: Enough, n: int) -> int:
    """The number of n comparisons that must hold.

    >>> [required_count(enough, 5) for enough in ("all", "most", "all but one")]
    [5, 3, 4]
    """
    return {"all": n, "most": n // 2 + 1, "all but one": max(n - 1, 1)}[enough]


class _PartEntry(TypedDict):
    says: str
    tasks: list[str]
    metrics: list[Metric]
    low: list[str]
    high: NotRequired[list[str]]
    rise: NotRequired[bool]
    enough: NotRequired[Enough]


class _ClaimEntry(TypedDict):
    number: int
    says: str
    part: list[_PartEntry]
    enough: NotRequired[Enough]


def _read_toml(name: str) -> dict[str, Any]:
    text = resources.files(weal.benchmark).joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _to_claim(entry: _ClaimEntry) -> Claim:
    parts = tuple(part for group in entry["part"] for part in _to_parts(group))
    return Claim(entry["number"], entry["says"], parts, entry.get("enough", "all"))


def _to_parts(entry: _PartEntry) -> Iterator[Part]:
    """One part for each task and metric."""
    low, high = _methods(entry["low"]), _methods(entry.get("high", ()))
    rise = entry.get("rise", False)
    pairs = list(zip(low, low, strict=True) if rise else product(low, high))
    for task, metric in product(entry["tasks"], entry["metrics"]):
        says = f"{task_title(task)}, {METRICS[metric]}: {entry['says']}"
        comparisons = tuple(ClaimedComparison(task, metric, *pair, rise) for pair in pairs)
        yield Part(says, comparisons, entry.get("enough", "all"))


def _methods(names: Iterable[str]) -> list[str]:
    return [method for name in names for method in _METHOD_GROUPS.get(name, (name,))]


CLAIMS: tuple[Claim, ...] = tuple(map(_to_claim, _read_toml("claims.toml")["claim"]))


def _other_multi(c: ClaimedComparison) -> ClaimedComparison | None:
    low, high = (RANGE_METHOD if method == MULTI else method for method in (c.low, c.high))
    return replace(c, low=low, high=high)


def _exact_baseline(c: ClaimedComparison) -> ClaimedComparison | None:
    low, high = ("gp-var-exact" if method == BASELINE else method for method in (c.low, c.high))
    return replace(c, low=low, high=high)


def _joint(c: ClaimedComparison) -> ClaimedComparison | None:
    return replace(c, metric="joint") if c.metric == "npll" else c


def _uncertainty(c: ClaimedComparison) -> ClaimedComparison | None:
    return replace(c, metric="npll")


def _fair(c: ClaimedComparison) -> ClaimedComparison | None:
    against = c.high in (BASELINE, *SINGLE)
    return replace(c, high=f"{c.high}+v") if c.low == MULTI and against else None


@dataclass(frozen=True, slots=True)
class Variant:
    """Another reading of claims: `change` replaces a comparison, or drops it with None."""

    says: str
    change: Callable[[ClaimedComparison], ClaimedComparison | None]
    claims: tuple[int, ...] = (1, 2, 3, 4, 5, 6)

    def of(self, claim: Claim) -> Claim:
        """The claim with its comparisons changed."""
        parts = []
        for part in claim.parts:
            changed = tuple(new for c in part.comparisons if (new := self.change(c)))
            parts += [replace(part, comparisons=changed)] if changed else []
        return replace(claim, parts=tuple(parts))


VARIANTS: tuple[Variant, ...] = (
    Variant("With scores shifted and scaled, not divided by their maximum", _other_multi),
    Variant("With NPLL as the joint density, as the paper writes it", _joint),
    Variant("In NPLL, since the text speaks of uncertainty too", _uncertainty, (3,)),
    Variant("With the exact GP-Var as the baseline", _exact_baseline),
    Variant("EGP-multiAFs against methods that train on its validation labels too", _fair),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One line of the table of differences."""

    where: str
    printed: str
    here: str
    kind: Literal["silent", "other", "both"]


DIFFERENCES = tuple(Difference(**entry) for entry in _read_toml("differences.toml")["difference"])
DIFFERENCES_HEADER = ("where", "the paper", "here")
KIND_TEXTS = {
    "silent": "not said there",
    "other": "otherwise here",
    "both": "both are run",
}


def in_markdown() -> str:
    """The table as Markdown."""
    head = f"| {' | '.join(DIFFERENCES_HEADER)} | |\n|---|---|---|---|"
    rows = [f"| {d.where} | {d.printed} | {d.here} | {KIND_TEXTS[d.kind]} |" for d in DIFFERENCES]
    return "\n".join([head, *rows])
