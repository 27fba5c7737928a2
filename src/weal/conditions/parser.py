"""The parser of conditions: recursive descent over the tokens of a short text.

    condition    part ("and" part)*
    part         name "is" ["not"] word | name ["not"] "in" word ("," word)*
                 | sum relation sum [relation sum]        40 <= temp < 90
    sum          product (("+" | "-") product)*
    product      factor (("*" | "/") factor)*             / by a number
    factor       number | name | "(" sum ")" | "-" factor
    relation     < <= > >= = ==

Names match exactly. A name or word with blanks, signs or a keyword stands in quotes, and a quote
within it is doubled. The text is never evaluated as Python. Its length, the depth of parentheses,
the terms of a sum and the names of a term are limited.
"""

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from weal.conditions.condition import (
    KEYWORDS,
    MAX_SHOWN,
    NAME_PATTERN,
    Comparison,
    Condition,
    Membership,
    Relation,
    Sum,
    Term,
)
from weal.text import shorten

MAX_TEXT = 2000  # characters
MAX_DEPTH = 20  # parentheses within each other
MAX_FACTORS = 4  # names of a term
MAX_TERMS = 200  # of a sum
EXAMPLES = """'purity >= 95', 'x1 + 2*x2 <= 1' or "solvent is THF and 'melt temp' < 90\""""
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>{NAME_PATTERN})"
    r"|(?P<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<sign>[<>=!]=|=[<>]|\*\*|&&|\|\||<>|[-+*/()<>=,−×·≤≥≠])|(?P<other>\S))"  # noqa: RUF001
)
_SAME_SIGN = {"==": "=", "≤": "<=", "≥": ">=", "−": "-", "×": "*", "·": "*"}  # noqa: RUF001
_RELATIONS: dict[str, Relation] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}
_IN_QUOTES = "put a name or word of several parts in quotes and leave units out"
_ONLY_AND = "parts are joined by 'and' alone; leave one of the two out"
_INSTEAD = {
    **dict.fromkeys(("!=", "≠", "<>"), "write 'is not' for words, or < and > for numbers"),
    **dict.fromkeys(("**", "^"), "write a product, as in x*x"),
    **dict.fromkeys(("&&", "&", ";"), "write 'and'"),
    **dict.fromkeys(("||", "|", "or"), _ONLY_AND),
    **dict.fromkeys(("'", '"'), "close the quote, as in 'melt temp' < 90"),
    "=<": "write <=",
    "=>": "write >=",
    "%": "leave the unit out",
}
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")


@dataclass(frozen=True, slots=True)
class Token:
    """A number, name, quoted name or sign, and its place in the text."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The name or word without its quotes."""
        if self.kind != "quoted":
            return self.text
        return self.text[1:-1].replace(self.text[0] * 2, self.text[0])


def parse_condition(
    text: str,
    known: Collection[str] | None = None,
    what: str = "the condition",
    examples: str = EXAMPLES,
) -> Condition:
    """The condition of a text; ValueError, with the place and the way out, for anything else.

    With `known`, each name must be one of these. Errors call the text `what` and show `examples`.

    >>> found = parse_condition("40 <= temp < 90 and solvent in THF, MeCN")
    >>> found.text, found.names
    ('40 <= temp and temp < 90 and solvent in THF, MeCN', ('temp', 'solvent'))
    >>> found.holds({"temp": 40, "solvent": "THF"})
    True
    """
    if not isinstance(text, str):
        raise ValueError(f"{what} is {text!r}; it is a text such as {examples}")
    if len(text) > MAX_TEXT:
        raise ValueError(
            f"{what} {shorten(text[:MAX_TEXT], MAX_SHOWN)!r} has {len(text):,} characters; "
            f"write at most {MAX_TEXT:,}, as in {examples}"
        )
    if not text.strip():
        raise ValueError(f"{what} is empty; write {examples}")
    found = _Parser(text, what, examples).condition()
    if len(found.text) > MAX_TEXT:
        raise ValueError(
            f"{what} {shorten(text, MAX_SHOWN)!r} has more than {MAX_TEXT:,} characters "
            "once its products are multiplied out; write several conditions"
        )
    if known is not None:
        found.check_names(known, what)
    return found


class _Parser:
    """The tokens of a text, and the position of the next one."""

    def __init__(self, text: str, what: str, examples: str) -> None:
        self.text, self.at, self.what, self.examples = text, 0, what, examples
        self.tokens = [
            Token(m.lastgroup or "", _SAME_SIGN.get(found := m.group().strip(), found),
                  m.end() - len(found))
            for m in _TOKEN.finditer(text)
        ]  # fmt: skip
        self.tokens.append(Token("end", "", len(text)))

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str | None:
        """The next token if it is one of these signs or keywords."""
        found = self.token.text.lower() if self.token.kind in ("name", "sign") else None
        if found not in texts:
            return None
        self.at += 1
        return found

    def condition(self) -> Condition:
        parts = list(self.part())
        while self.take("and"):
            parts += self.part()
        if self.token.kind != "end":
            raise self.error(f"'and' or the end is expected; {_IN_QUOTES}, as in {self.examples}")
        return Condition(tuple(parts))

    def part(self) -> Iterable[Comparison | Membership]:
        start = self.at
        if self.token.kind == "quoted" or (self.token.kind == "name" and not self.is_keyword()):
            name = self.token.word
            self.at += 1
            if self.take("is"):
                negated = self.take("not") is not None
                return [Membership(name, (self.word(),), negated)]
            negated = self.take("not") is not None
            if self.take("in"):
                return [Membership(name, self.words(), negated)]
        self.at = start
        return self.comparisons()

    def comparisons(self) -> list[Comparison]:
        start, left, found = self.at, self.sum(0), list[Comparison]()
        while relation := _RELATIONS.get(self.take(*_RELATIONS) or ""):
            right = self.sum(0)
            found.append(Comparison(left, relation, right))
            left = right
        if not found:
            raise self.error(
                f"a comparison such as <= or 'is' is expected; {_IN_QUOTES}, as in {self.examples}"
            )
        if not all(one.names for one in found):
            self.at = start
            raise self.error(f"a comparison needs a name; write {self.examples}")
        return found

    def sum(self, depth: int) -> Sum:
        found = self.product(depth)
        while sign := self.take("+", "-"):
            one = Sum((Term(-1.0 if sign == "-" else 1.0),))
            found = self.checked([*found.terms, *self.times(one, self.product(depth)).terms])
        return found

    def product(self, depth: int) -> Sum:
        found = self.factor(depth)
        while sign := self.take("*", "/"):
            start, other = self.at, self.factor(depth)
            if sign == "/":
                if not other.constant:
                    self.at = start
                    raise self.error(
                        "only numbers other than 0 may follow '/'; multiply both sides, as in "
                        "'x1 <= 2*x2'"
                    )
                other = Sum((Term(1.0 / other.constant),))
            found = self.times(found, other)
        return found

    def factor(self, depth: int) -> Sum:
        sign = 1.0
        while taken := self.take("-", "+"):
            sign = -sign if taken == "-" else sign
        token = self.token
        if self.take("("):
            if depth >= MAX_DEPTH:
                raise self.error(f"at most {MAX_DEPTH} parentheses may be open; write out the sum")
            found = self.sum(depth + 1)
            if not self.take(")"):
                raise self.error("')' is expected; close the parenthesis")
            return self.times(Sum((Term(sign),)), found)
        if token.kind == "number":
            self.at += 1
            return self.checked([Term(sign * float(token.text))])
        if token.kind not in ("name", "quoted") or self.is_keyword():
            raise self.error(f"a name or a number is expected; write {self.examples}")
        self.at += 1
        return self.checked([Term(sign, (token.word,))])

    def times(self, left: Sum, right: Sum) -> Sum:
        return self.checked(
            [
                Term(a.coefficient * b.coefficient, tuple(sorted((*a.names, *b.names))))
                for a in left.terms
                for b in right.terms
            ]
        )

    def checked(self, terms: list[Term]) -> Sum:
        """The sum with terms of the same names added up; ValueError if it is too large."""
        found = dict[tuple[str, ...], float]()
        for term in terms:
            found[term.names] = found.get(term.names, 0.0) + term.coefficient
        if not all(map(math.isfinite, found.values())):
            raise self.error("a number is too large; write it below 1e308")
        if len(found) > MAX_TERMS or any(len(names) > MAX_FACTORS for names in found):
            raise self.error(
                f"a sum has at most {MAX_TERMS} terms, and a product {MAX_FACTORS} names; write "
                "several conditions"
            )
        return Sum(tuple(Term(number, names) for names, number in found.items() if number))

    def words(self) -> tuple[str, ...]:
        found = [self.word()]
        while self.take(","):
            found.append(self.word())
        return tuple(dict.fromkeys(found))

    def word(self) -> str:
        sign = self.take("-") or ""
        token = self.token
        if token.kind not in ("name", "quoted", "number") or self.is_keyword():
            raise self.error(f"a word is expected; {_IN_QUOTES}, as in {self.examples}")
        self.at += 1
        return sign + token.word

    def is_keyword(self) -> bool:
        return self.token.kind == "name" and self.token.text.lower() in KEYWORDS

    def error(self, instead: str) -> ValueError:
        """The error at the next token, with the text around it."""
        token = self.token
        around = self.text[max(token.start - MAX_SHOWN, 0) : token.start + MAX_SHOWN]
        where = f"after {around.strip()[-MAX_SHOWN:]!r}"
        if token.kind != "end":
            where = f"at {shorten(token.text, 20)!r} (character {token.start + 1})"
        instead = self.decimal_comma() or _INSTEAD.get(token.text.lower(), instead)
        return ValueError(f"{self.what} {shorten(around, 2 * MAX_SHOWN)!r}, {where}: {instead}")

    def decimal_comma(self) -> str | None:
        """The way out of a number with a comma at the next token, or None."""
        found = "".join(token.text for token in self.tokens[max(self.at - 1, 0) : self.at + 2])
        if not re.fullmatch(r"[\d.]+,[\d.]+", found):
            return None
        point, plain = found.replace(",", "."), found.replace(",", "")
        either = f"{point} or {plain}, whichever you mean" if _THOUSANDS.fullmatch(found) else point
        return f"write the number with a point: {either}"
