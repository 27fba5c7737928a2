"""A status to be read: short sections of plain lines."""

from typing import TYPE_CHECKING

from weal.campaign.surprise import command
from weal.diagnostics.wording import REASONS, number, percent, some, told_apart

if TYPE_CHECKING:
    from weal.campaign.status import Beliefs, Estimate, Expert, Out, Status
    from weal.diagnostics.coverage import Coverage
    from weal.diagnostics.random_choice import Comparison

SMOOTHNESS = {
    "rbf": "very smooth",
    "matern52": "smooth",
    "matern32": "rougher",
    "matern12": "rough",
    "rq": "smooth at several scales",
    "anova": "effects of single inputs and of some together",
}
SUSPECTS = 5  # labels that are shown
INPUTS, LETTERS = 6, 24  # that are shown, and letters of a name
LEAST = 0.01  # weight of an expert that is shown
CLEAR = 1.2  # times an even weight: what weighs more stands out


def lines(status: "Status") -> list[str]:
    """The status, section by section."""
    found = [*_standing(status)]
    if status.beliefs:
        found += ["", *_errors(status, status.beliefs), "", *_model(status.beliefs, status.chosen)]
    if status.suspects:
        found += ["", *_suspects(status)]
    if status.contradictions:
        found += ["", *_contradictions(status)]
    found += ["", *_stopping(status)]
    return found


def _suspects(status: "Status") -> list[str]:
    """Labels to look at again, and what to do about them."""
    first = status.suspects[0]
    fix = f"`{command(status.name, str(first.id))}`"
    more = len(status.suspects) - SUSPECTS
    counted = sum(one.aside and one.counted for one in status.suspects)
    still = f"  the error estimates above still count {counted} of them"
    return [
        f"Labels to look at again: {_left_aside(status)}",
        *(f"  {unit.words}" for unit in status.other_units),
        *(f"  {one.words}" for one in status.suspects[:SUSPECTS]),
        *([f"  and {more} more: --json has all"] if more > 0 else []),
        *([still] if counted else []),
        f"  {fix} corrects one; --sure says that it is right",
    ]


def _contradictions(status: "Status") -> list[str]:
    """Labels that the others contradict and that count all the same, and what to do about them."""
    first = status.contradictions[0].ids[0]
    return [
        "Labels that contradict the others: they count as they are",
        *(f"  {one.words}" for one in status.contradictions),
        f"  `{command(status.name, str(first))}` corrects a label; nothing is changed by itself",
    ]


def _left_aside(status: "Status") -> str:
    aside = sum(one.aside for one in status.suspects)
    if aside == len(status.suspects):
        return "they are taken to be wrong, and left aside"
    return f"{aside} of them are left aside" if aside else "they count as they are"


def _standing(status: "Status") -> list[str]:
    share = percent(status.labelled / status.candidates)
    found = [
        f"{status.name}: {status.labels:,} {_plural(status.labels, 'label')}, "
        f"{status.candidates:,} {_plural(status.candidates, 'candidate')} ({share} labelled)"
    ]
    found += _samples(status)
    if status.repeats:
        found.append(f"  measured again   {status.repeats}")
    if status.out:
        found.append(f"  out              {len(status.out)}: {some(map(_out, status.out))}")
    if status.lapsed:
        found.append(f"  lapsed           {len(status.lapsed)}: {some(map(_out, status.lapsed))}")
    if status.skipped:
        found.append(f"  skipped          {status.skipped}")
    found += [f"  left aside       {name}: {why}" for name, why in status.unusable.items()]
    if status.choice:
        found.append(f"  choice           {status.choice}")
    if status.missing:
        more = f"{status.missing} more {_plural(status.missing, 'label')}"
        found.append(f"  no model yet     {more} to come before there is one")
    return found


def _samples(status: "Status") -> list[str]:
    """How many candidates stand for all in what is said, and how many an ask compares."""
    found = []
    if status.sampled:
        found.append(f"  a sample         {status.sampled:,} of them stand for all in what follows")
    if status.compared and status.best_share:
        found.append(
            f"  compared         {status.compared:,} of them, drawn at random, at each ask: the "
            f"row asked is among the best {100 * status.best_share:.2g} % of all (99 times of 100)"
        )
    return found


def _out(out: "Out") -> str:
    who = f" ({out.who}," if out.who else " ("
    return f"{out.id}{who} until {out.until:%Y-%m-%d})".replace("( ", "(")


def _errors(status: "Status", beliefs: "Beliefs") -> list[str]:
    over = f"by the model itself, over {beliefs.expected_over:,} candidates"
    if status.sampled and beliefs.expected_error:
        over += f", +- {number(beliefs.expected_error, 2)}"
    before = f"last {beliefs.window} labels, each predicted before it was told"
    found = [
        "Error estimates, in units of the label",
        _estimate("leave-one-out", beliefs.left_out, _left_out(status, beliefs)),
        f"  {'':<13}  guessing the mean gives {number(beliefs.baseline)}: "
        f"{percent(max(beliefs.explained, 0.0))} of the variance explained",
        _estimate("prequential", beliefs.prequential, before),
        _estimate("expected", beliefs.expected, over),
    ]
    if status.chosen:
        found.append(
            "  Rows were picked for being uncertain: leave-one-out may be too low or too high, "
            "prequential is rather too high."
        )
    if status.check:
        error = f" +- {number(status.check.error, 2)}" if status.check.error else ""
        found.append(f"  honest test    {number(status.check.rmse)}{error}   {_tested(status)}")
    if status.coverage:
        found.append(f"  {_covered(status.coverage)} when asked")
    found.append(f"  {_covered(beliefs.left_out_coverage)} in leave-one-out")
    return found


def _tested(status: "Status") -> str:
    n = status.check.n if status.check else 0
    return f"{n} {_plural(n, 'row')} drawn at random, as predicted when asked"


def _left_out(status: "Status", beliefs: "Beliefs") -> str:
    """How the error was found, and how well it is known where some labels stand for all."""
    if beliefs.left_out_error is None:
        return "each label predicted from the others"
    of = f"{beliefs.left_out_over:,} of {status.labels:,} labels"
    return f"{of}, each predicted from the others, +- {number(beliefs.left_out_error, 2)}"


def _estimate(name: str, estimate: "Estimate | None", how: str) -> str:
    if estimate is None:
        return f"  {name:<13}  none yet   {how}"
    return f"  {name:<13}  {number(estimate.now):<8} {_fell(estimate):<21} {how}"


def _fell(estimate: "Estimate") -> str:
    """How it went since there were half as many labels."""
    t = estimate.course[-1][0]
    past = [pair for pair in estimate.course if pair[0] <= t / 2] or list(estimate.course[:1])
    labels, error = past[-1]
    return f"({number(error)} at {labels})" if labels < t else ""


def _covered(coverage: "Coverage") -> str:
    ends = f"{percent(coverage.low)} to {percent(coverage.high)}"
    share = percent(coverage.inside / coverage.n)
    inside = f"{coverage.inside} of {coverage.n} labels, {share} ({ends}), were inside"
    return f"{percent(coverage.level)} intervals {inside}"


def _model(beliefs: "Beliefs", chosen: int) -> list[str]:
    shown = [one for one in beliefs.experts if one.weight >= LEAST] or beliefs.experts[:1]
    found = [
        "Model",
        f"  inputs         {_inputs(beliefs.inputs)}",
        f"  noise          labels scatter by about {number(beliefs.noise, 2)} by themselves",
    ]
    found += [f"  expert {percent(one.weight):>6}  {_expert(one)}" for one in shown]
    weighed = sorted(beliefs.acquisition.items(), key=lambda pair: -pair[1])
    if len(weighed) > 1 and chosen:
        by = [f"{name} {percent(w)}" for name, w in weighed if w >= LEAST]
        found.append(f"  rows chosen by {', '.join(by)}")
        if weighed[0][1] > CLEAR / len(weighed):
            found.append(f"                 mostly: {REASONS.get(weighed[0][0], 'your own score')}")
    return found


def _inputs(inputs: dict[str, float] | None) -> str:
    """Which matter, and how much."""
    if not inputs:
        return "not known yet: the labels so far do not tell them apart"
    names = list(inputs)
    short = told_apart(names[:INPUTS], LETTERS)
    shares = [percent(inputs[name]) for name in names[:INPUTS]]
    best = [f"{name} {share}" for name, share in zip(short, shares, strict=True)]
    more = f" and {len(names) - INPUTS} more" if len(names) > INPUTS else ""
    return f"{', '.join(best)}{more}"


def _expert(expert: "Expert") -> str:
    family = SMOOTHNESS.get(expert.family, expert.family)
    low, high = number(min(expert.lengths), 2), number(max(expert.lengths), 2)
    reach = f"lengthscale {low}" if low == high else f"lengthscales {low} to {high}"
    return f"{family} ({expert.family}), {reach}, in sds of the inputs"


def _stopping(status: "Status") -> list[str]:
    found = ["Stopping", f"  {status.advice}"]
    if status.needed and status.needed.reached < 0.5:
        found.append(f"  goal {number(status.needed.goal)}: {status.needed.text}")
        if "cannot tell" not in status.needed.text:
            found.append("  (by drawing the course of the expected error on; not a promise)")
    if status.beliefs and status.beliefs.random:
        found += [f"  {line}" for line in _random(status.beliefs.random)]
    return found


def _random(found: "Comparison") -> list[str]:
    ends = f"80 %: {number(found.low, 2)} to {number(found.high, 2)}"
    ratio = number(found.ratio, 2)
    error = "about the same error" if ratio == "1" else f"{ratio} times the error"
    return [
        f"{found.labels} rows picked at random would likely have given {error} ({ends})",
        f"(by replaying both on {found.draws} functions drawn from what the model believes)",
    ]


def _plural(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"
