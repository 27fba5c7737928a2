"""The error for a table that needs more options, with the options that solve it.

    Remedy        an option and its value: type and "T=number"
    TableError    what is wrong, and the remedies

A remedy reads `--type 'T=number'` in the shell, `types={'T': 'number'}` in Python, and is a button
on the page; all three do the same. This module needs the standard library only.
"""

from dataclasses import dataclass
from shlex import quote

_KEYWORDS = {  # of Python, for the options of the shell with a column
    "type": "types",
    "unit": "units",
    "missing": "missing",
    "decimal": "decimal",
    "same": "same",
    "range": "ranges",
}


@dataclass(frozen=True, slots=True)
class Remedy:
    """An option that lets a table be read."""

    option: str  # without dashes
    value: str
    effect: str  # its effect, in a few words

    def for_shell(self) -> str:
        """The option as it is typed.

        >>> Remedy("type", "T 1=number", "").for_shell()
        "--type 'T 1=number'"
        """
        return f"--{self.option} {quote(self.value)}"

    def for_python(self) -> str:
        """The keyword argument.

        >>> Remedy("type", "T=number", "").for_python()
        "types={'T': 'number'}"
        >>> Remedy("same", "solvent:Toluol=toluol", "").for_python()
        "same={'solvent': {'Toluol': 'toluol'}}"
        """
        if self.option in ("sheet", "target"):
            return f"{self.option}={self.value!r}"
        if self.option == "header":
            return f"header={self.value}"
        if self.option == "id":
            return f"id_column={self.value!r}"
        if self.option == "also-input":
            return f"also_inputs=[{self.value!r}]"
        if self.option == "decimal" and "=" not in self.value:
            return f"decimal={self.value!r}"
        column, _, value = self.value.rpartition("=")
        if self.option == "same":
            name, _, spelling = column.partition(":")
            return f"same={{{name!r}: {{{spelling!r}: {value!r}}}}}"
        if self.option == "missing":
            column, _, value = self.value.partition("=")
            return f"missing={{{column!r}: [{value!r}]}}"
        return f"{_KEYWORDS[self.option]}={{{column!r}: {value!r}}}"

    def for_page(self) -> str:
        """The text of a button: the statement about the table, and its effect.

        >>> Remedy("type", "yield=number", "leaves these rows without a label").for_page()
        "Read 'yield' as number: leaves these rows without a label"
        >>> Remedy("decimal", "p=comma", "reads 1.234").for_page()
        "Decimal comma in 'p': reads 1.234"
        """
        column, _, value = self.value.rpartition("=")
        if self.option == "missing":
            column, _, value = self.value.partition("=")
        said = {
            "type": f"Do not use {column!r}" if value == "drop" else f"Read {column!r} as {value}",
            "unit": f"Unit {value} of {column!r}",
            "missing": f"{value!r} in {column!r} is missing",
            "decimal": f"Decimal {value} in {column!r}" if column else f"Decimal {value}",
            "same": f"One level: {self.value.partition(':')[2].replace('=', ' and ')}",
            "also-input": f"Use {self.value!r} as an input",
            "id": f"Ids are in {self.value!r}",
            "target": f"Measure {self.value!r}",
        }
        first = said.get(self.option, f"{self.option} {self.value}")
        return f"{first}: {self.effect}" if self.effect else first


class TableError(ValueError):
    """A table that needs more options; the text has the remedies as Python arguments."""

    code = "invalid_table"

    def __init__(self, problem: str, *remedies: Remedy, otherwise: str = "") -> None:
        self.problem, self.remedies, self.otherwise = problem, remedies, otherwise
        super().__init__(self._text([one.for_python() for one in remedies]))

    def for_shell(self) -> str:
        """The text with the remedies as options of a command."""
        return self._text([one.for_shell() for one in self.remedies])

    def for_page(self) -> str:
        """The text without the remedies, which are buttons there."""
        rest = self.otherwise if self.remedies else self.otherwise.removeprefix("or ")
        return "; ".join(filter(None, [self.problem, rest]))

    def _text(self, written: list[str]) -> str:
        ways = [f"{how} {one.effect}" for how, one in zip(written, self.remedies, strict=True)]
        last = self.otherwise if ways else self.otherwise.removeprefix("or ")
        rest = "; ".join(filter(None, [*ways, last]))
        between = " " if self.problem.endswith("?") else "; "
        return between.join(filter(None, [self.problem, rest]))
