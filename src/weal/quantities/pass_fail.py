"""The quantity kind of results that pass or fail, such as `crystallised`.

    words    yes no, true false, 1 0, pass fail, passed failed, ok failed, y n, in any case; further
             ones are declared, as in PassFail("crystallised", passes=("ja",), fails=("nein",)).
             Where a declared word contradicts one of these (no passes, yes fails), only the
             declared ones are read.
    label    1.0 for a pass, 0.0 for a fail; the model sees +1 and -1
    mean     of a prediction: the probability of a pass. Its sd is that of the label.

A label is implausible if its probability was below MIN_PLAUSIBLE when its row was asked. Without a
prediction, no label is. Of random rows of 14 tables, predicted from 80 labels, 0.1 % of correct
labels were called implausible, and 19 % of wrong ones; from 40 labels 0.06 % and 8 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from weal.quantities.protocol import (
    ExpectedLabel,
    Implausible,
    LabelRange,
    Quantity,
    QuantityBody,
)
from weal.quantities.words import (
    AXIS_LETTERS,
    as_shown,
    as_word,
    axis_of_words,
    check_words,
    label_field,
    list_words,
    option_text,
    refuse_noise,
)
from weal.text import MAX_PROBABILITY, MIN_PROBABILITY, shorten

PASS_WORDS = ("yes", "true", "1", "pass", "passed", "ok", "y")
FAIL_WORDS = ("no", "false", "0", "fail", "failed", "nok", "n")
PASS_FAIL_NOISE_SD = 0.5330198141667141  # of labels +1 and -1 (`core.extensions.pass_fail`)
MIN_PLAUSIBLE = 0.03  # probability of a told label below which a person is asked


@dataclass(frozen=True, slots=True)
class PassFail:
    """A quantity whose labels are pass or fail.

    >>> crystallised = PassFail("crystallised", passes=("ja",), fails=("nein",))
    >>> crystallised.read("Ja", "A-7"), crystallised.read(False, "A-7")
    (1.0, 0.0)
    >>> crystallised.format(1.0), crystallised.format_prediction(0.93, 0.26)
    ('ja', 'P(ja) 0.93')
    >>> PassFail("crystallised").read(0.7, "A-7")
    Traceback (most recent call last):
    ValueError: the label of A-7 is 0.7, and crystallised passes or fails; write yes or no (also
    true/false, 1/0, pass/fail, ok/failed), or declare it a number: --type 'crystallised=number'
    """

    name: str
    column: str | None = None
    passes: tuple[str, ...] = ()  # words of a pass, the one to show first; empty: yes
    fails: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        option = option_text(self.column, self.name, "pass:ja,nein")
        check_words(self.name, (*self.passes, *self.fails) or self.words, option)
        if bool(self.passes) != bool(self.fails):
            raise ValueError(f"{self.name} needs a word for pass and one for fail; write {option}")
        known = [word.casefold() for word in (*self.passes, *self.fails)]
        if len(set(known)) < len(known):
            raise ValueError(
                f"the words {list_words((*self.passes, *self.fails))} of {self.name} are the same "
                f"but for capitals; write {option}"
            )

    @property
    def kind(self) -> str:
        """The tag of the JSON form."""
        return "pass_fail"

    @property
    def unit(self) -> str:
        """Words have no unit."""
        return ""

    @property
    def low(self) -> None:
        """Words have no bounds."""

    @property
    def high(self) -> None:
        """Words have no bounds."""

    @property
    def words(self) -> tuple[str, str]:
        """The words of fail and pass that are shown."""
        return (*self.fails[:1], "no")[0], (*self.passes[:1], "yes")[0]

    def _accepted(self) -> tuple[Sequence[str], Sequence[str]]:
        """The words that are read as fail and as pass, in small letters."""
        fails = [word.casefold() for word in self.fails]
        passes = [word.casefold() for word in self.passes]
        if {*fails} & {*PASS_WORDS} or {*passes} & {*FAIL_WORDS}:
            return fails, passes
        return [*fails, *FAIL_WORDS], [*passes, *PASS_WORDS]

    def read(self, given: object, row: str | None = None, *, decimal_comma: bool = False) -> float:
        """1.0 for a word of pass, 0.0 for one of fail."""
        word = as_word(given)
        codes = [n for n, words in enumerate(self._accepted()) if (word or "").casefold() in words]
        if codes:
            return float(codes[0])
        field = label_field(row, self.column)
        raise ValueError(f"{field} is {as_shown(given)}{self._refusal(word)}")

    def _refusal(self, word: str | None) -> str:
        is_number = word is not None and word.lstrip("+-").replace(".", "", 1).isdigit()
        kind = ", and " + shorten(self.name, 60) + " passes or fails" if is_number else ""
        also = " (also true/false, 1/0, pass/fail, ok/failed)" if self._reads_usual_words() else ""
        declared = "number" if is_number else "pass:ja,nein"
        option = option_text(self.column, self.name, declared)
        way = "declare it a number" if is_number else "declare other words"
        return f"{kind}; write {self.words[1]} or {self.words[0]}{also}, or {way}: {option}"

    def _reads_usual_words(self) -> bool:
        return len(self._accepted()[0]) > len(self.fails)

    def read_noise(self, given: object, row: str) -> float:
        """ValueError: a word has no noise."""
        return refuse_noise(self.name, row)

    def check(self, value: object, row: object) -> float:
        """As `read`: booleans, words, and the numbers 0 and 1."""
        return self.read(value, repr(row))

    def format(self, label: float, digits: int = 4) -> str:
        """The word of the label."""
        return self.words[label > 0.5]

    def format_prediction(self, mean: float, sd: float) -> str:
        """The probability of a pass; the ends, where it is not calibrated, as bounds.

        >>> PassFail("crystallised").format_prediction(0.999, 0.03)
        'P(yes) > 0.98'
        """
        word = f"P({shorten(self.words[1], 20)})"
        if MIN_PROBABILITY <= mean <= MAX_PROBABILITY:
            return f"{word} {mean:.2f}"
        return f"{word} {f'< {MIN_PROBABILITY}' if mean < 0.5 else f'> {MAX_PROBABILITY}'}"

    def axis_label(self, part: str = "") -> str:
        """The text of an axis of labels, or of probabilities of a pass."""
        return axis_of_words(self.column, part, f"P({self.words[1]})")

    def error_axis_label(self) -> str:
        """The text of an axis of prediction errors."""
        return f"error of {shorten(self.name, AXIS_LETTERS)}, as a probability"

    def judge(
        self,
        label: float,
        expected: ExpectedLabel | None,
        others: LabelRange | None,
        noise: float | None = None,
    ) -> Implausible | None:
        """The reason why a label is implausible: its row was predicted to give the other word.

        >>> print(PassFail("crystallised").judge(0.0, ExpectedLabel(0.995, 0.9, 1.0), None))
        no is unlikely: its prediction was P(yes) > 0.98
        """
        if expected is None:
            return None
        p = expected.mean if label > 0.5 else 1.0 - expected.mean
        if p >= MIN_PLAUSIBLE:
            return None
        words = f"is unlikely: its prediction was {self.format_prediction(expected.mean, 0.0)}"
        return Implausible(
            f"{self.format(label)} {words}", label, expected.low, expected.high, expected.mean
        )

    def to_model(self, label: float) -> float:
        """+1 for a pass, -1 for a fail."""
        return 2.0 * label - 1.0

    def from_model(self, value: float) -> float:
        """1 for +1, 0 for -1, linear in between."""
        return 0.5 * (value + 1.0)

    @property
    def is_binary(self) -> bool:
        """True: the model gives the probability of a pass."""
        return True

    @property
    def label_noise(self) -> float:
        """The noise of labels +1 and -1 (`core.extensions.pass_fail`)."""
        return PASS_FAIL_NOISE_SD

    def parts(self) -> tuple[Quantity, ...]:
        """Itself."""
        return (self,)

    def part_labels(self, label: float) -> tuple[float, ...]:
        """The label itself."""
        return (label,)

    def to_json(self) -> QuantityBody:
        """The quantity as JSON; words are in it only where some are declared."""
        body: QuantityBody = {
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "column": self.column,
        }
        if self.passes:
            body["passes"], body["fails"] = list(self.passes), list(self.fails)
        return body

    @staticmethod
    def from_json(body: QuantityBody) -> "PassFail":
        """The quantity that `to_json` wrote."""
        passes, fails = tuple(body.get("passes", ())), tuple(body.get("fails", ()))
        return PassFail(body["name"], body["column"], passes, fails)
