"""What the paper claims, as data that can be checked.

A claim is made of parts, and a part of comparisons. A comparison says of one task and one metric
(lower is better for all) that `low` ends below `high`; with `rise`, that the metric of one method
ends above where it started. A part holds when enough of its comparisons do, a claim when enough
of its parts do: "all", "most" (more than half) or "all but one".

The words are the paper's, in short; "Malaria" is in our hands a stand-in, and called so. What is
found is said by `verdicts`.

Variants. Beside each claim as it stands others are judged, when they were run: where the paper can
be read otherwise, or where the comparison as it stands is not even.

Where the experiments here differ from the paper's print, or had to choose: one table, as data.

Made line by line through the paper, its tables, captions and remarks; what is not listed is as
printed. `kind` tells the three cases apart:

    silent    the paper does not say; what we chose
    other     the paper says, and we do otherwise, or not at all
    both      what is printed is run, and another reading beside it

The same table is in docs/understand/paper.md; a test holds them together.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from weal.benchmark.summary import METRICS, task_title

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


def required_count(enough: Enough, n: int) -> int:
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


@dataclass(frozen=True, slots=True)
class Difference:
    """One line of the table."""

    where: str
    printed: str
    here: str
    kind: Literal["silent", "other", "both"]


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "Numerical tests, EGP-multiAFs",
        "each score divided by its maximum value, so that to range between 0 and 1",
        "EGP-multiAFs divides by the maximum over the candidates; where an entropy is negative "
        "that reverses its order and leaves [0, 1]. EGP-multiAFs (range) shifts and scales",
        "both",
    ),
    Difference(
        "Numerical tests, NPLL",
        "-log p of all test labels jointly",
        "a mean over test labels, less log sd of the test labels, in curves and verdicts; the "
        "joint density of the mixture in raw units beside it, every 20 queries and in a variant "
        "of each claim",
        "both",
    ),
    Difference(
        "Numerical tests, NMSE",
        "sigma_y^2 is the expected squared norm of y - E y, the whole vector",
        "the variance of a test label: the norm would make every NMSE smaller by the number of "
        "test labels, for all methods alike",
        "other",
    ),
    Difference(
        "Numerical tests, hyperparameters",
        "by maximum marginal likelihood with the sklearn package",
        "the same likelihood within sklearn's default bounds, 1e-5 to 1e5 of magnitude and noise "
        "variance, maximised by a search of our own; sklearn's starts are random",
        "other",
    ),
    Difference(
        "Numerical tests, hyperparameters",
        "which of them is not said; lengthscales are 10^c, c = -4 .. 6",
        "magnitude and noise of each expert; its lengthscale stays where the grid has it. The "
        "single GP fits its lengthscale too",
        "silent",
    ),
    Difference(
        "Numerical tests, lengthscales",
        "10^c as lengthscales",
        "as printed; the first author's earlier code has the grid squared, which is "
        "`EnsembleGPRegressor.paper(squared_grid=True)` and not run",
        "silent",
    ),
    Difference(
        "eq:LF",
        "one noise variance sigma_n^2, without an index m",
        "one for each expert, as it is fitted for each expert",
        "other",
    ),
    Difference(
        "eq:EGP_prior",
        "prior weights w_0 are not given",
        "equal; the first labels pass through eq:w_update like all others",
        "silent",
    ),
    Difference(
        "Numerical tests, baseline",
        "a single GP; whether on random features is not said",
        "GP-Var on 50 random features like the others, GP-Var (exact) beside it and as a variant "
        "of each claim",
        "both",
    ),
    Difference(
        "eq:joint_pdf",
        "noise on the variance of f(x) in the joint density",
        "none, as in eq:variance",
        "other",
    ),
    Difference(
        "eq:var-GPM",
        "a parenthesis is not closed",
        "the sum of eq:w_var and eq:QBC, as the text says",
        "other",
    ),
    Difference(
        "Algorithms 1 and 2",
        "t = 0 .. T, that is T + 1 queries; T is not given",
        "100 queries (--queries)",
        "silent",
    ),
    Difference(
        "Algorithms 1 and 2",
        "ties in arg max are not spoken of",
        "scores within 1e-9 of the best are equal, and a hash of seed and row decides",
        "silent",
    ),
    Difference(
        "Algorithm 2",
        "the K acquisition functions are not listed",
        "the paper's five",
        "silent",
    ),
    Difference(
        "Algorithm 2",
        "V labelled validation points for EGP-multiAFs alone",
        "as printed; and once more against methods whose first labels are L0 and V (+V), as a "
        "variant of each claim",
        "both",
    ),
    Difference(
        "Numerical tests",
        "scaling of inputs and labels is not said",
        "inputs by mean and sd of L0 and U0, labels by mean and sd of L0; eta and the lengthscales "
        "refer to these units",
        "silent",
    ),
    Difference(
        "Numerical tests",
        "10 realisations; what is drawn anew is not said",
        "the split, and the random features, which all EGP methods of a realisation share",
        "silent",
    ),
    Difference(
        "Table 2",
        "formulas without domains",
        "Ackley [-5, 5]^5 (also met: +-32.768), Branin [-5, 10] x [0, 15], Currin [0, 1]^2, "
        "Gramacy [0.5, 2.5], Higdon [0, 10] (also met: [1, 10], and [0, 20] with a straight end)",
        "silent",
    ),
    Difference(
        "Table 2",
        "how points are drawn, and noise, are not said",
        "uniform on the domain, without noise",
        "silent",
    ),
    Difference(
        "Table 1, Malaria",
        "infection rates of Plasmodium falciparum, Weiss et al. 2019",
        "a stand-in of the same form, schistosomiasis in Ivory Coast: the paper's file is not "
        "public; sizes and eta as printed",
        "other",
    ),
    Difference(
        "Table 1, California",
        "2152 rows in all; how they are taken from 20640 is not said",
        "drawn anew for each realisation",
        "silent",
    ),
    Difference(
        "Robotic tasks",
        "a pre-defined constant d; domains and noise of the simulation are not given",
        "d = (4, 3.5); domains, constants and noise of Wang and Jegelka 2017",
        "silent",
    ),
    Difference(
        "Figures",
        "average and standard deviation of every method",
        "bands of one sd for GP-Var and EGP-multiAFs, which else lie on each other; --bands all "
        "for every method. On a log axis a band goes down by the factor that it goes up",
        "both",
    ),
    Difference(
        "Figures",
        "seven methods",
        "GP-Var (exact), EGP with random choice and EGP-multiAFs (range) besides",
        "other",
    ),
    Difference(
        "Figures, x axis",
        "iterations",
        "queries; where a method has more labels for validation, the tables of labels count them",
        "other",
    ),
    Difference(
        "Claims in the text",
        "by the look of mean curves",
        "at the last query, in logs of NMSE and nats of NPLL, by sign flips of whole "
        "realisations, corrected within each claim; by the area over all queries beside it",
        "other",
    ),
    Difference(
        "Synthetic functions, EGP-multiAFs",
        "the best performing approach over all datasets, in prediction and uncertainty",
        "claim 3 in NMSE; in NPLL as a variant",
        "both",
    ),
    Difference(
        "Synthetic functions",
        "all EGP-based methods enjoy the lowest NPLL in four out of five",
        "all of them below GP-Var, in four or five",
        "other",
    ),
    Difference(
        "Real datasets, California",
        "most EGP-based approaches are comparable in prediction error",
        "not judged: nothing is claimed to be lower",
        "other",
    ),
    Difference(
        "Real datasets, Malaria",
        "NPLL increases per iteration; five out of six EGP-based approaches are lower",
        "higher at the end than at the start, for each method; five or six",
        "other",
    ),
    Difference(
        "Text",
        "markedly, significantly, remarkably",
        "certain at 5 %, whatever the size; sizes stand beside it",
        "other",
    ),
    Difference(
        "Preliminaries, GP-based AL",
        "O(t^3) for t labels, less on random features",
        "measured: benchmarks/growth.py",
        "both",
    ),
    Difference(
        "RF-based approximation",
        "features can be viewed as an encrypted version of the inputs",
        "`FeatureEncoder`, which says that it is no encryption",
        "other",
    ),
    Difference(
        "Preliminaries",
        "labels are real numbers, or classes",
        "real numbers only, as in all of the paper's experiments",
        "other",
    ),
)
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
