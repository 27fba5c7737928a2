"""The form of a plan: columns and their roles, merged spellings, sheet and header line.

id, target        the column of ids and the column to measure, chosen above the columns
column, kind      each column, and its role: empty (automatic), id, target, a type, or a result
was_id            the columns as the page showed them: a choice that differs was made now, so
was_target        that a column can be freed of its role in its own line too
merge, split      COLUMN, SPELLING and LEVEL, one on a line: spellings that are one level, and
the pair that is separated again
same_column,      the same, typed beside each level of a category
same_level,
same_as
option            OPTION and VALUE: a remedy that a button offers
"""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form

from weal.web.job_context import Arguments

ID, TARGET = "id", "target"  # roles of a column
Text = Annotated[str, Form(max_length=1000)]
Texts = Annotated[list[str], Form(max_length=5000)]
HeaderLine = Annotated[str, Form(pattern="^[0-9]{0,7}$")]
_ROLES = ("sheet", "header", "id", "target", "type", "same")
Spelling = tuple[str, str, str]  # column, spelling, level


def sheet_options(sheet: str, header: str) -> list[tuple[str, str]]:
    """The chosen sheet and line of the column names as options of a table."""
    line = [("header", header)] if header.strip("0") else []
    return [*([("sheet", sheet)] if sheet else []), *line]


def shown_before(field: str, now: str) -> str:
    """The value that the page showed: a field "=VALUE", since empty fields are not sent on.

    >>> shown_before("=run", "code"), shown_before("=", "code"), shown_before("", "code")
    ('run', '', 'code')
    """
    return field.removeprefix("=") if field else now


def chosen_role(role: str, chosen: str, before: str, kinds: dict[str, str]) -> str:
    """The column with a role: as chosen above the columns if that changed, else in their lines.

    >>> chosen_role("id", "run", "run", {"run": "number", "T": ""})
    ''
    >>> chosen_role("id", "run", "run", {"run": "id", "code": "id"})
    'code'
    >>> chosen_role("id", "code", "run", {"run": "id"})
    'code'
    """
    if chosen != before:
        return chosen
    others = [name for name, kind in kinds.items() if kind == role and name != before]
    if others:
        return others[0]
    return before if kinds.get(before, role) in (role, "") else ""


def read_spelling(text: str) -> Spelling | None:
    """COLUMN, SPELLING and LEVEL, one on a line; None for another text."""
    parts = text.replace("\r\n", "\n").split("\n")
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 and all(parts) else None


def merged_spellings(merge: Sequence[str], split: str, typed: Sequence[Spelling]) -> list[Spelling]:
    r"""Spellings that are one level: those of buttons, and those typed now beside each level.

    An empty level separates a spelling.

    >>> merged_spellings(["a\nX\nx", "a\nY\ny"], "a\nY\ny", [("a", "X", ""), ("b", "Q", "q")])
    [('b', 'Q', 'q')]
    """
    found = {one[:2]: one[2] for one in map(read_spelling, merge) if one is not None}
    for column, spelling, level in typed:
        found.pop((column, spelling), None)
        if level.strip() and level.strip() != spelling:
            found[column, spelling] = level.strip()
    if gone := read_spelling(split):
        found.pop(gone[:2], None)
    return [(*names, level) for names, level in found.items()]


class PlanForm:
    """The choices in the form of a plan."""

    def __init__(
        self,
        file: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
        called: Annotated[str, Form(max_length=300)] = "",
        name: Annotated[str, Form(max_length=200)] = "",
        id: Text = "",
        target: Text = "",
        was_id: Text = "",
        was_target: Text = "",
        column: Texts = [],  # noqa: B006
        kind: Texts = [],  # noqa: B006
        option: Annotated[list[str], Form(max_length=1000)] = [],  # noqa: B006
        merge: Texts = [],  # noqa: B006
        split: Text = "",
        same_column: Texts = [],  # noqa: B006
        same_level: Texts = [],  # noqa: B006
        same_as: Texts = [],  # noqa: B006
        same_was: Texts = [],  # noqa: B006
        sheet: Text = "",
        header: HeaderLine = "",
        was_sheet: Text = "",
        was_header: Text = "",
        goal: Annotated[str, Form(max_length=2000)] = "",
        until: Annotated[str, Form(max_length=200)] = "",
    ) -> None:
        pairs = [one.partition("\n") for one in option]
        pressed = {name: value for name, _, value in pairs}  # a button says which column it is
        declared = [value.rpartition("=") for name, _, value in pairs if name == "type"]
        above = (
            (ID, id, shown_before(was_id, id)),
            (TARGET, target, shown_before(was_target, target)),
        )
        # A button that says how the target is read leaves it the target.
        of_target = [one for one in declared if one[0] in above[1][1:]]
        kinds = dict(zip(column, kind, strict=False))
        kinds |= {one[0]: one[2] for one in declared if one not in of_target}
        roles = {
            role: pressed.get(role) or chosen_role(role, now, was, kinds)
            for role, now, was in above
        }
        if roles[ID] and roles[ID] == roles[TARGET]:  # the newer choice holds
            roles[TARGET if roles[ID] != above[0][2] else ID] = ""
        types = {one: type_ for one, type_ in kinds.items() if type_ not in ("", ID, TARGET)}
        options = [(name, value) for name, _, value in pairs if name not in _ROLES]
        options += [("type", "".join(one)) for one in of_target if one[0] == roles[TARGET]]
        rows = zip(same_column, same_level, same_as, same_was, strict=False)
        typed = [(column, level, now) for column, level, now, was in rows if now.strip() != was]
        self.arguments: Arguments = {
            "file": file, "called": called, "name": name.strip(),
            "options": [*options, *sheet_options(sheet, header)],
            "goal": goal.strip(), "until": until.strip(),
        }  # fmt: skip
        was = (shown_before(was_sheet, sheet), shown_before(was_header, header))
        self.is_other_table = was != (sheet, header)
        if not self.is_other_table:
            self.arguments |= {
                "id": roles[ID], "target": roles[TARGET], "types": types,
                "same": merged_spellings(merge, split, typed),
            }  # fmt: skip
