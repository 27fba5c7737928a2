"""What the paper claims, as data that can be checked.

A claim is made of parts, and a part of comparisons. A comparison says of one task and one metric
(lower is better for all) that `low` ends below `high`; with `rise`, that the metric of one method
ends above where it started. A part holds when enough of its comparisons do, a claim when enough
of its parts do: "all", "most" (more than half) or "all but one".

The words are the paper's, in short; "Malaria" is in our hands a stand-in, and called so. What is
found is said by `verdicts`.

Variants. Beside each claim as it stands others are judged, when they were run: where the paper can
be read otherwise, or where the comparison as it stands is not even.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from weal.bench.titles import METRICS, task_title

Metric = Literal["nmse", "npll", "joint"]
Enough = Literal["all", "most", "all but one"]

BASELINE = "gp-var"
SINGLE = ("egp-wvar", "egp-went", "egp-qbc", "egp-gpm-var", "egp-gpm-ent")
MULTI = "egp-multiafs"
RANGE = "egp-multiafs-range"
EGP = (*SINGLE, MULTI)
SYNTHETIC = ("ackley", "branin", "currin", "gramacy", "higdon")
ROBOT = ("robot3d", "robot4d")
STAND_IN = "malaria-standin"


@dataclass(frozen=True, slots=True)
class Comparison:
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
    comparisons: tuple[Comparison, ...]
    enough: Enough = "all"

    @property
    def task(self) -> str:
        """The task it is about."""
        return self.comparisons[0].task


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    number: int
    says: str
    parts: tuple[Part, ...]
    enough: Enough = "all"


def needed(enough: Enough, n: int) -> int:
    """How many of n must hold.

    >>> [needed(enough, 5) for enough in ("all", "most", "all but one")]
    [5, 3, 4]
    """
    return {"all": n, "most": n // 2 + 1, "all but one": max(n - 1, 1)}[enough]


def _beat_baseline(
    task: str, metric: Metric, methods: Iterable[str], who: str, enough: Enough = "all"
) -> Part:
    found = tuple(Comparison(task, metric, method, BASELINE) for method in methods)
    return Part(f"{task_title(task)}, {METRICS[metric]}: {who} below GP-Var", found, enough)


def _multi_best(task: str, metric: Metric) -> Part:
    found = tuple(Comparison(task, metric, MULTI, method) for method in (BASELINE, *SINGLE))
    return Part(f"{task_title(task)}, {METRICS[metric]}: EGP-multiAFs lowest of all", found)


def _rises(task: str) -> Part:
    methods = (BASELINE, *EGP)
    found = tuple(Comparison(task, "npll", method, method, rise=True) for method in methods)
    return Part(f"{task_title(task)}, NPLL: rises from start to end, every method", found)


def _baseline_beats(task: str) -> Part:
    found = tuple(Comparison(task, "nmse", BASELINE, method) for method in SINGLE)
    return Part(f"{task_title(task)}, NMSE: GP-Var below every single-AF EGP", found)


_SINGLE, _EGP = "every single-AF EGP", "every EGP method"
_BOTH: tuple[Metric, ...] = ("nmse", "npll")

CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "Every EGP method with a single acquisition function beats GP-Var in NMSE on Currin and "
        "Gramacy; most do on Ackley, Branin and Higdon.",
        (
            # [1, claim:1]
            *(_beat_baseline(task, "nmse", SINGLE, _SINGLE) for task in ("currin", "gramacy")),
            *(
                # [1, claim:1]
                _beat_baseline(task, "nmse", SINGLE, "most single-AF EGPs", "most")
                for task in ("ackley", "branin", "higdon")
            ),
        ),
    ),
    Claim(
        2,
        "All EGP methods have lower NPLL than GP-Var on four of the five synthetic functions.",
        tuple(_beat_baseline(task, "npll", EGP, _EGP) for task in SYNTHETIC),  # [1, claim:2]
        "all but one",
    ),
    Claim(
        3,
        "EGP-multiAFs is the best in NMSE on all five synthetic functions.",
        tuple(_multi_best(task, "nmse") for task in SYNTHETIC),  # [1, claim:3]
    ),
    Claim(
        4,
        "Every EGP method beats GP-Var in NMSE and NPLL on California and Diabetes; EGP-multiAFs "
        "has the lowest NPLL on California.",
        (
            _beat_baseline("california", "nmse", EGP, _EGP),  # [1, claim:4]
            _beat_baseline("california", "npll", EGP, _EGP),  # [1, claim:4]
            _beat_baseline("diabetes", "nmse", EGP, _EGP),  # [1, claim:4]
            _beat_baseline("diabetes", "npll", EGP, _EGP),  # [1, claim:4]
            _multi_best("california", "npll"),  # [1, claim:4]
        ),
    ),
    Claim(
        5,
        "On Malaria (here: a stand-in) GP-Var beats the single-AF EGPs in NMSE and EGP-multiAFs "
        "has the lowest NMSE; five of the six EGP methods have lower NPLL than GP-Var; NPLL rises "
        "with iterations.",
        (
            _baseline_beats(STAND_IN),  # [1, claim:5]
            _multi_best(STAND_IN, "nmse"),  # [1, claim:5]
            # [1, claim:5]
            _beat_baseline(STAND_IN, "npll", EGP, "five of six EGP methods", "all but one"),
            _rises(STAND_IN),  # [1, claim:5]
        ),
    ),
    Claim(
        6,
        "Every EGP method beats GP-Var in NMSE and NPLL on Robot pushing 3D and 4D, and "
        "EGP-multiAFs is the best.",
        (
            *(_beat_baseline(task, m, EGP, _EGP) for task in ROBOT for m in _BOTH),  # [1, claim:6]
            *(_multi_best(task, m) for task in ROBOT for m in _BOTH),  # [1, claim:6]
        ),
    ),
)


def _other_multi(c: Comparison) -> Comparison | None:
    low, high = (RANGE if method == MULTI else method for method in (c.low, c.high))
    return replace(c, low=low, high=high)


def _exact_baseline(c: Comparison) -> Comparison | None:
    low, high = ("gp-var-exact" if method == BASELINE else method for method in (c.low, c.high))
    return replace(c, low=low, high=high)


def _joint(c: Comparison) -> Comparison | None:
    return replace(c, metric="joint") if c.metric == "npll" else c


def _uncertainty(c: Comparison) -> Comparison | None:
    return replace(c, metric="npll")


def _fair(c: Comparison) -> Comparison | None:
    against = c.high in (BASELINE, *SINGLE)
    return replace(c, high=f"{c.high}+v") if c.low == MULTI and against else None


@dataclass(frozen=True, slots=True)
class Variant:
    """Another reading of claims: what a comparison becomes, None where it is left out."""

    says: str
    change: Callable[[Comparison], Comparison | None]
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
