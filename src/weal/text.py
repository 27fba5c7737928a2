"""Text for people: numbers, percentages, reasons of an ask, short names, and small HTML tables."""

import math
from collections.abc import Iterable, Mapping, Sequence

REASONS = {
    "wvar": "the model is uncertain there",
    "went": "its predictive distribution is wide",
    "qbc": "the experts disagree",
    "gpm-var": "the whole model is uncertain there",
    "gpm-ent": "its possible values are widely spread",
    "ivr": "its label would reduce the uncertainty elsewhere too",
    "mvr": "its label would reduce the uncertainty over all candidates most",
    "mvr-var": "its label would teach the model most about all candidates, and the model is "
    "uncertain there",
    "mvr-var-misfit": "its label would teach the model most about all candidates: the model is "
    "uncertain there, and it is far from the measured rows where the model does not fit yet",
    "mvr-var-igs": "its label would teach the model most about all candidates: the model is "
    "uncertain there, and it is far from the measured rows",
    "bald": "its label would show which experts are right",
    "igs": "it is far from the measured rows, in inputs and in value",
    "random": "drawn at random",
    "ucb": "its value may be large",
    "straddle": "it may lie on either side of the level",
}
START = "Spread over the candidates, before there is a model."
BY_HAND = "Requested by id."
CHECK = "Drawn at random, for an unbiased test."
REPEAT_REASONS = {  # of rows that have a label, with the set of the goal
    "repeat": "it is measured again: because of noise it is uncertain whether it is {}",
    "doubted": "it is measured again: its label is treated as wrong, and it may be {}",
}
SIGNIFICANT_DIGITS = 4
FAR_DISTANCE_RATIO = 1.5  # times the usual distance: no label is nearby
_NEAR = {
    0.25: "very close",
    0.75: "close",
    FAR_DISTANCE_RATIO: "at the usual distance",
    3.0: "farther than usual",
}
_MIN_PLAIN_NUMBER, _MAX_PLAIN_NUMBER = 1e-4, 1e6  # others have an exponent


def number(value: float, digits: int = SIGNIFICANT_DIGITS) -> str:
    """A number with this many significant digits.

    >>> number(312.4567), number(0.0), number(123456.7), number(1.5e-9), number(float("inf"))
    ('312.5', '0', '123457', '1.5e-09', 'inf')
    """
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    if not _MIN_PLAIN_NUMBER <= abs(value) < _MAX_PLAIN_NUMBER:
        return f"{value:.{digits}g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{max(places, 0)}f}".rstrip("0").rstrip(".") if places > 0 else f"{value:.0f}"


def exact(value: float) -> str:
    """A number in few characters, none of its digits lost.

    >>> exact(6.0), exact(0.1 + 0.2), exact(1e300)
    ('6', '0.30000000000000004', '1e+300')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def plus_minus(mean: float, sd: float) -> str:
    """A value and its uncertainty, with the digits that the uncertainty justifies.

    >>> plus_minus(312.4567, 18.23), plus_minus(1.5, 0.0), plus_minus(0.01234, 0.0008)
    ('312 +- 18', '1.5 +- 0', '0.01234 +- 0.0008')
    """
    ordinary = _MIN_PLAIN_NUMBER <= sd < _MAX_PLAIN_NUMBER and abs(mean) < _MAX_PLAIN_NUMBER
    if not ordinary:
        return f"{number(mean)} +- {number(sd, 2)}"
    places = max(1 - math.floor(math.log10(sd)), 0)
    return f"{mean:.{places}f} +- {number(sd, 2)}"


def decimals(low: float, high: float) -> int | None:
    """Decimal places that the 90 % interval of a value justifies: two digits of its sd.

    None if the interval says nothing, or numbers need an exponent.

    >>> decimals(2.2, 3.3), decimals(880.0, 1240.0), decimals(0.0, 0.0)
    (2, 0, None)
    """
    sd = (high - low) / 3.29
    largest = max(abs(low), abs(high))
    if not (_MIN_PLAIN_NUMBER <= sd < _MAX_PLAIN_NUMBER and largest < _MAX_PLAIN_NUMBER):
        return None
    return max(1 - math.floor(math.log10(sd)), 0)


def rounded(value: float, low: float, high: float) -> str:
    """A value in the digits that its 90 % interval justifies.

    >>> rounded(2.6152, 2.2, 3.3), rounded(1042.7, 880.0, 1240.0), rounded(2.5, 2.5, 2.5)
    ('2.62', '1043', '2.5')
    """
    places = decimals(low, high)
    return number(value) if places is None else f"{value:.{places}f}"


_FRACTIONS = {
    0.1: "a tenth", 0.2: "a fifth", 0.25: "a quarter", 1 / 3: "a third", 0.4: "two fifths",
    0.5: "half", 0.6: "three fifths", 2 / 3: "two thirds", 0.75: "three quarters",
    0.8: "four fifths", 0.9: "nine tenths",
}  # fmt: skip


def fraction(share: float) -> str:
    """A share below 1 in words, to the nearest common fraction.

    >>> fraction(0.197), fraction(0.26), fraction(0.04)
    ('a fifth', 'a quarter', '4 %')
    """
    if share < 0.08:
        return percent(share)
    return _FRACTIONS[min(_FRACTIONS, key=lambda one: abs(one - share))]


def times(ratio: float) -> str:
    """A ratio to the typical size, in words.

    >>> times(3.1), times(1.02), times(0.4)
    ('3.1 times the usual', 'about the usual', '40 % of the usual')
    """
    if ratio >= 1.25:
        return f"{number(ratio, 2)} times the usual"
    return "about the usual" if ratio > 0.8 else f"{percent(ratio)} of the usual"


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.412), percent(0.004)
    ('41 %', '0.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0095 or share <= 0 else f"{100 * share:.1g} %"


MIN_PROBABILITY, MAX_PROBABILITY = 0.02, 0.98  # beyond, probabilities are not calibrated


def probability(p: float) -> str:
    """A probability in percent; the ends, where it is not calibrated, as bounds.

    >>> probability(0.312), probability(0.004), probability(0.999)
    ('31 %', '< 2 %', '> 98 %')
    """
    if p < MIN_PROBABILITY:
        return f"< {percent(MIN_PROBABILITY)}"
    return f"> {percent(MAX_PROBABILITY)}" if p > MAX_PROBABILITY else percent(p)


def with_probability(p: float) -> str:
    """The same as part of a sentence.

    >>> with_probability(0.312), with_probability(0.004)
    ('with probability 0.31', 'with a probability below 0.02')
    """
    if p < MIN_PROBABILITY:
        return f"with a probability below {MIN_PROBABILITY}"
    if p > MAX_PROBABILITY:
        return f"with a probability above {MAX_PROBABILITY}"
    return f"with probability {p:.2f}"


def about(count: float) -> str:
    """An expected number of rows.

    >>> about(3.7), about(0.3), about(0.0), about(120.4)
    ('about 4', 'fewer than 1', 'none', 'about 120')
    """
    if count < 0.005:
        return "none"
    return "fewer than 1" if count < 0.5 else f"about {count:,.0f}"


def nearness(distance: float) -> str:
    """A distance in words; 1 is the usual distance."""
    return next((word for far, word in _NEAR.items() if distance < far), "far")


def reasons(shares: Mapping[str, float], most: int = 3, least: float = 0.1) -> str:
    """The acquisition functions with the largest shares, in words.

    >>> reasons({"qbc": 0.41, "wvar": 0.35, "igs": 0.2, "went": 0.04})
    'the experts disagree (qbc 41 %), the model is uncertain there (wvar 35 %), it is far from
    the measured rows, in inputs and in value (igs 20 %)'
    """
    best = sorted(shares.items(), key=lambda pair: -pair[1])
    shown = [pair for n, pair in enumerate(best[:most]) if n == 0 or pair[1] >= least]
    return ", ".join(_reason(name, share, len(shares)) for name, share in shown)


def _reason(name: str, share: float, among: int) -> str:
    why = REASONS.get(name.partition("(")[0], "your own score")
    return f"{why} ({name} {percent(share)})" if among > 1 else f"{why} ({name})"


def some(names: Iterable[str], most: int = 5) -> str:
    """The first few names, and the number of the others."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def shorten(name: str, longest: int) -> str:
    """A name on one line, with dots instead of its middle where it is long.

    >>> shorten("a name of a column", 11)
    'a na...lumn'
    """
    flat = " ".join(name.split()) or "(blank)"
    half = (longest - 3) // 2
    return flat if len(flat) <= longest else f"{flat[:half]}...{flat[-half:]}"


def shorten_distinctly(names: Sequence[str], longest: int) -> list[str]:
    """Names shortened, without their common beginning where they would look the same.

    >>> shorten_distinctly(["the density of part 1, in kg", "the density of part 2, in kg"], 15)
    ['...art 1, in kg', '...art 2, in kg']
    """
    short = [shorten(name, longest) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    same = [len(set(letters)) == 1 for letters in zip(*names, strict=False)]
    cut = max([*same, False].index(False) - 4, 0)
    return ["..." + name[cut:][: longest - 3].rstrip() for name in names]


_CELL_STYLE = 'style="text-align:left;padding:1px 12px 1px 0;vertical-align:top"'


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """The facts as an HTML table: names and values, escaped.

    >>> facts_html("a < b", {"labels": 3})[:27]
    '<div><b>a &lt; b</b><table>'
    """
    from html import escape  # for notebooks only

    rows = "".join(
        f"<tr><th {_CELL_STYLE}>{escape(name)}</th><td {_CELL_STYLE}>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<div><b>{escape(title)}</b><table>{rows}</table></div>"


def facts_lines(words: list[str]) -> str:
    """Lines of text as preformatted HTML."""
    from html import escape  # for notebooks only

    return f"<pre>{escape(chr(10).join(words))}</pre>"
