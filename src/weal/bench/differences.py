"""Where the experiments here differ from the paper's print, or had to choose: one table, as data.

Made line by line through the paper, its tables, captions and remarks; what is not listed is as
printed. `kind` tells the three cases apart:

    silent    the paper does not say; what we chose
    other     the paper says, and we do otherwise, or not at all
    both      what is printed is run, and another reading beside it

The same table is in docs/understand/paper.md; a test holds them together.
"""

from dataclasses import dataclass
from typing import Literal


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
HEADER = ("where", "the paper", "here")
WORDS = {
    "silent": "not said there",
    "other": "otherwise here",
    "both": "both are run",
}


def in_markdown() -> str:
    """The table as Markdown."""
    head = f"| {' | '.join(HEADER)} | |\n|---|---|---|---|"
    rows = [f"| {d.where} | {d.printed} | {d.here} | {WORDS[d.kind]} |" for d in DIFFERENCES]
    return "\n".join([head, *rows])
