"""The report on a model as lines of text: error estimates, inputs, noise, experts.

Nothing here needs numerics: the numbers are in `model_status`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weal.text import REASONS, number, percent, shorten_distinctly, some

if TYPE_CHECKING:
    from weal.diagnostics.error_trend import Coverage
    from weal.diagnostics.model_status import Estimate, Expert, ModelStatus

SMOOTHNESS = {
    "rbf": "very smooth",
    "matern52": "smooth",
    "matern32": "rougher",
    "matern12": "rough",
    "rq": "smooth at several scales",
    "anova": "main effects and interactions",
    "trend": "linear trend and deviations",
}
MAX_INPUTS_SHOWN, MAX_INPUT_NAME_LETTERS = 6, 24  # that are shown, and letters of a name
MIN_EXPERT_WEIGHT_SHOWN = 0.01  # weight of an expert that is shown
CLEAR_WEIGHT_RATIO = 1.2  # times an even weight: a larger weight stands out


def estimate(name: str, found: "Estimate | None", how: str) -> str:
    """An error estimate in a line: now, and when there were half as many labels."""
    if found is None:
        return f"  {name:<13}  none yet   {how}"
    return f"  {name:<13}  {number(found.now):<8} {_fell(found):<21} {how}"


def _fell(estimate: "Estimate") -> str:
    """The change since there were half as many labels."""
    t = estimate.course[-1][0]
    past = [pair for pair in estimate.course if pair[0] <= t / 2] or list(estimate.course[:1])
    labels, error = past[-1]
    return f"({number(error)} at {labels})" if labels < t else ""


def coverage_text(coverage: "Coverage") -> str:
    """How many labels were inside their intervals."""
    ends = f"{percent(coverage.low)} to {percent(coverage.high)}"
    share = percent(coverage.inside / coverage.n)
    inside = f"{coverage.inside} of {coverage.n} labels, {share} ({ends}), were inside"
    return f"{percent(coverage.level)} intervals {inside}"


def model_lines(beliefs: "ModelStatus", chosen: int) -> list[str]:
    """The model in lines, its heading first; `chosen` labels are of rows that it chose."""
    shown = [
        one for one in beliefs.experts if one.weight >= MIN_EXPERT_WEIGHT_SHOWN
    ] or beliefs.experts[:1]
    found = [
        "Model",
        f"  inputs         {_inputs(beliefs.inputs)}",
        *([f"  irrelevant     {leave_out_text(beliefs.leave_out)}"] if beliefs.leave_out else []),
        f"  noise          about {number(beliefs.noise, 2)} (one standard deviation)",
    ]
    if beliefs.varying_noise is not None:
        one = beliefs.varying_noise
        words = varying_noise_text(one.where, one.there, one.elsewhere)
        found.append(f"                 {words}")
    found += [f"  mixture        {one}" for one in beliefs.mixtures]
    if beliefs.source is not None:
        found.append(
            f"  source         {beliefs.source}: its predictions are an input of the model"
        )
    found += [f"  expert {percent(one.weight):>6}  {_expert(one)}" for one in shown]
    weighed = sorted(beliefs.acquisition.items(), key=lambda pair: -pair[1])
    if len(weighed) > 1 and chosen:
        by = [f"{name} {percent(w)}" for name, w in weighed if w >= MIN_EXPERT_WEIGHT_SHOWN]
        found.append(f"  rows chosen by {', '.join(by)}")
        if weighed[0][1] > CLEAR_WEIGHT_RATIO / len(weighed):
            why = REASONS.get(weighed[0][0].partition("(")[0], "your own score")
            found.append(f"                 mostly: {why}")
    return found


def _inputs(inputs: dict[str, float] | None) -> str:
    """The importance of the inputs, in lines."""
    if not inputs:
        return "unknown: too few labels to tell which inputs matter"
    names = list(inputs)
    short = shorten_distinctly(names[:MAX_INPUTS_SHOWN], MAX_INPUT_NAME_LETTERS)
    shares = [percent(inputs[name]) for name in names[:MAX_INPUTS_SHOWN]]
    best = [f"{name} {share}" for name, share in zip(short, shares, strict=True)]
    more = f" and {len(names) - MAX_INPUTS_SHOWN} more" if len(names) > MAX_INPUTS_SHOWN else ""
    return f"{', '.join(best)}{more}"


def varying_noise_text(where: str, there: float, elsewhere: float) -> str:
    """Where labels scatter more, and the sds of their noise there and elsewhere.

    >>> varying_noise_text("temp is above 90", 1.04, 0.05)
    'Noise is larger where temp is above 90: sd 1 there, 0.05 elsewhere'
    """
    sds = f"sd {number(there, 2)} there, {number(elsewhere, 2)} elsewhere"
    return f"Noise is larger where {where}: {sds}"


def leave_out_text(names: Sequence[str]) -> str:
    """Which columns could be left out of the sheet."""
    from weal.core.constants import (
        MAX_IRRELEVANT_PROBABILITY,
    )  # imports numpy, which ask does not need

    shown = shorten_distinctly(list(names), MAX_INPUT_NAME_LETTERS)
    they, matter = ("it", "it matters") if len(names) == 1 else ("they", "they matter")
    limit = percent(MAX_IRRELEVANT_PROBABILITY)
    could = f"{they} could be left out of the sheet (probability that {matter} below {limit})"
    return f"{some(shown, MAX_INPUTS_SHOWN)}: {could}"


def _expert(expert: "Expert") -> str:
    from weal.core.constants import IRRELEVANT

    family = SMOOTHNESS.get(expert.family, expert.family)
    relevant = [length for length in expert.lengths if length < IRRELEVANT]
    low, high = number(min(relevant), 2), number(max(relevant), 2)
    reach = f"lengthscale {low}" if low == high else f"lengthscales {low} to {high}"
    few = f" of {len(relevant)} inputs" if len(relevant) < len(expert.lengths) else ""
    return f"{family} ({expert.family}), {reach}{few} (inputs scaled to sd 1)"
