"""Constraints of goals: bounds of numbers and words of other kinds, one for each quantity.

    purity >= 95                 a bound of a number; 94 <= purity <= 96: two of them
    crystallised is yes          a word of pass/fail, classes or grades; also `is not`, `in A, B`
    grade >= medium              grades that are as high

`weal.conditions` reads the text. Parts about one quantity are merged, so that their probability is
not multiplied twice. A row holds a requirement by its label, and with a probability by the model:
of a number by the distribution of the mixture, of words by the sum of their probabilities.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from weal.conditions import Comparison, Membership, parse_condition
from weal.conditions.condition import Relation, quote
from weal.goals.named import KINDS_IN_WORDS, find_named
from weal.text import exact, some

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from weal.core.arrays import Array
    from weal.goals.protocol import JointBelief
    from weal.quantities.protocol import Quantity

EXAMPLES = "'purity >= 95' or 'crystallised is yes'"
WHAT = "subject-to"
LEAST_PROBABILITY = 1e-12  # of words, in logs


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound of one quantity, or the words that it may have.

    >>> one = Requirement("purity", low=95.0)
    >>> one.text, one.holds(95.0), one.holds(float("nan"))
    ('purity >= 95', True, False)
    """

    quantity: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False  # low itself does not hold
    open_high: bool = False
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()  # relation and words, all of which hold
    codes: tuple[int, ...] | None = field(default=None, compare=False)  # of words that hold

    @property
    def is_of_words(self) -> bool:
        """Whether it is about words."""
        return bool(self.words)

    @property
    def text(self) -> str:
        """The canonical text, which `read_requirements` reads."""
        name = quote(self.quantity)
        if self.words:
            return " and ".join(
                f"{name} {how} {', '.join(map(quote, of))}" for how, of in self.words
            )
        up, down = "<" if self.open_low else "<=", "<" if self.open_high else "<="
        if math.isinf(self.low):
            return f"{name} {down} {exact(self.high)}"
        if math.isinf(self.high):
            return f"{name} {up.replace('<', '>')} {exact(self.low)}"
        return f"{exact(self.low)} {up} {name} {down} {exact(self.high)}"

    def merged(self, other: "Requirement") -> "Requirement":
        """Both of one quantity; ValueError if no label holds both."""
        if self.is_of_words != other.is_of_words:
            raise ValueError(
                f"{WHAT} {self.text!r} and {other.text!r}: {self.quantity} is compared with a "
                "number and with a word; leave one of them out"
            )
        if self.words:
            return replace(self, words=tuple(dict.fromkeys((*self.words, *other.words))))
        low, high = max(self.low, other.low), min(self.high, other.high)
        ends = [one.open_low for one in (self, other) if one.low == low]
        tops = [one.open_high for one in (self, other) if one.high == high]
        found = Requirement(self.quantity, low, high, any(ends), any(tops))
        if low > high or (low == high and (found.open_low or found.open_high)):
            raise ValueError(
                f"{WHAT} {self.text!r} and {other.text!r}: no label meets both; leave one of "
                "them out"
            )
        return found

    def bind(self, quantities: "Mapping[str, Quantity]", inputs: Sequence[str]) -> "Requirement":
        """The requirement for these quantities; ValueError, with the way out, if it fits none."""
        of = find_named(quantities, self.quantity, f"{WHAT} {self.text!r}", inputs)
        if self.words and not of.words:
            word = self.words[0][1][0]
            raise ValueError(
                f"{WHAT} {self.text!r}: {of.name} is a number, and {word!r} is none; write a "
                f"bound, as in '{quote(of.name)} >= 95'"
            )
        if of.words and not self.words:
            raise ValueError(
                f"{WHAT} {self.text!r}: {of.name} {KINDS_IN_WORDS[of.kind]}; "
                f"write '{quote(of.name)} is {quote(of.words[-1])}'"
            )
        if self.words:
            return replace(self, quantity=of.name, codes=self._codes(of))
        if (of.low is not None and self.high < of.low) or (
            of.high is not None and self.low > of.high
        ):
            ends = [exact(end) for end in (of.low, of.high) if end is not None]
            raise ValueError(
                f"{WHAT} {self.text!r}: no label can meet it, since {of.name} is declared with the "
                f"bound {' to '.join(ends)}; check the number and its unit"
            )
        return replace(self, quantity=of.name)

    def _codes(self, of: "Quantity") -> tuple[int, ...]:
        """The codes of the words that hold."""
        left = set(range(len(of.words)))
        for how, words in self.words:
            codes = {_code(of, word, self.text) for word in words}
            if how not in ("is", "is not", "in", "not in") and of.kind != "grades":
                raise ValueError(
                    f"{WHAT} {self.text!r}: {of.name} {KINDS_IN_WORDS[of.kind]} "
                    f"without an order; write '{quote(of.name)} is {quote(words[0])}'"
                )
            left &= {code for code in left if _is_among(code, how, codes)}
        if not left:
            raise ValueError(
                f"{WHAT} {self.text!r}: no label meets it; {of.name} is one of {some(of.words, 10)}"
            )
        return tuple(sorted(left))

    def holds(self, label: float) -> bool:
        """Whether a label, of words its code, meets it; NaN does not."""
        if label != label:
            return False
        if self.words:
            return int(label) in self._bound_codes
        above = label > self.low if self.open_low else label >= self.low
        return above and (label < self.high if self.open_high else label <= self.high)

    @property
    def _bound_codes(self) -> tuple[int, ...]:
        if self.codes is None:
            raise ValueError(f"{self.text!r} is not bound to the words of a quantity: call bind()")
        return self.codes

    def log_probability(self, joint: "JointBelief") -> "Array":  # (N,)
        """log P(it holds) of each row; 0 while the quantity has no model."""
        import numpy as np

        from weal.core.extensions.feasibility import log_within

        if self.words and self.quantity in joint.probabilities:
            p = joint.probabilities[self.quantity][:, list(self._bound_codes)].sum(axis=1)
            return np.asarray(np.log(np.clip(p, LEAST_PROBABILITY, 1.0)))
        if not self.words and self.quantity in joint.numbers:
            return log_within(joint.numbers[self.quantity], self.low, self.high)
        return np.zeros(joint.N)


def _is_among(code: int, how: str, codes: set[int]) -> bool:
    """Whether the code of a word holds a relation to the codes of the words that are given."""
    if how in ("is", "in", "is not", "not in"):
        return (code in codes) != ("not" in how)
    given = next(iter(codes))
    if how in ("=", "<=", ">=") and code == given:
        return True
    return how != "=" and (code < given if how[0] == "<" else code > given)


def _code(of: "Quantity", word: str, text: str) -> int:
    try:
        return int(of.read(word))
    except ValueError:
        raise ValueError(
            f"{WHAT} {text!r}: {word!r} is not a label of {of.name}; it is one of "
            f"{some(of.words, 10)}"
        ) from None


def read_requirements(texts: Sequence[str]) -> tuple[Requirement, ...]:
    """The requirements of texts, one for each quantity; ValueError, with the way out.

    >>> [one.text for one in read_requirements(["purity >= 95 and solid is yes", "99 > purity"])]
    ['95 <= purity < 99', 'solid is yes']
    """
    found: dict[str, Requirement] = {}
    for text in texts:
        for part in parse_condition(text, what=WHAT, examples=EXAMPLES).parts:
            one = _requirement(part, text)
            known = found.get(one.quantity)
            found[one.quantity] = one if known is None else known.merged(one)
    return tuple(found.values())


def _requirement(part: Comparison | Membership, text: str) -> Requirement:
    """The requirement of one part of a condition."""
    if isinstance(part, Membership):
        how = ("is", "is not") if len(part.words) == 1 else ("in", "not in")
        return Requirement(part.name, words=((how[part.negated], part.words),))
    part = part if part.left.names else part.flipped()
    names = part.names
    if [part.left.text, part.right.text] == [quote(name) for name in names]:  # grade >= medium
        return Requirement(names[0], words=((part.relation, (names[1],)),))
    if len(names) != 1:
        raise ValueError(
            f"{WHAT} {text!r}: a condition is about one quantity; write several, as in {EXAMPLES}"
        )
    return _bound(part, text)


def _bound(part: Comparison, text: str) -> Requirement:
    """The bound of a comparison with one name, in which the name may have a factor."""
    if part.relation == "=":
        raise ValueError(
            f"{WHAT} {text!r}: a measured number is hardly ever equal to another one; write a "
            f"range, as in '94 <= {quote(part.names[0])} <= 96'"
        )
    gap = [*part.left.terms, *(replace(t, coefficient=-t.coefficient) for t in part.right.terms)]
    slope = sum(term.coefficient for term in gap if term.names)
    level = -sum(term.coefficient for term in gap if not term.names) / slope + 0.0  # no -0
    relation: Relation = part.relation if slope > 0.0 else part.flipped().relation
    is_open = len(relation) == 1
    if relation[0] == "<":
        return Requirement(part.names[0], high=level, open_high=is_open)
    return Requirement(part.names[0], low=level, open_low=is_open)


def all_meet(
    requirements: Sequence[Requirement], labels: "Mapping[str, Array]"
) -> "NDArray[np.bool_]":  # (n,)
    """Whether rows with these labels (n,) by quantity meet all requirements; NaN does not."""
    import numpy as np

    n = max([len(y) for y in labels.values()], default=0)
    found = np.ones(n, dtype=np.bool_)
    for one in requirements:
        y = labels[one.quantity].tolist() if one.quantity in labels else [math.nan] * n
        found &= np.array([one.holds(label) for label in y], dtype=np.bool_)
    return found


def all_hold(
    requirements: Sequence[Requirement], joint: "JointBelief"
) -> "NDArray[np.bool_]":  # (n,)
    """Whether the labels of each measured row meet all requirements; NaN does not.

    A requirement of a quantity that has no model yet counts for nothing.
    """
    known = {*joint.numbers, *joint.probabilities}
    return all_meet([one for one in requirements if one.quantity in known], joint.measured)
