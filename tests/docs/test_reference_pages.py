"""The pages of the reference leave out no command, code, variable or error that there is."""

import re
import sys
from pathlib import Path

import click
import pytest

import weal
from weal import errors
from weal.cli import main

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference"
NOT_RUN = {  # examples that are shown in the page, and not run there
    "weal mcp --store sqlite:///weal.db --may measure",  # until its input ends
    "weal serve --open",  # runs until Ctrl-C
    "weal bench quick",  # a minute
    "weal bench choice --realisations 20",  # hours
    "weal bench paper --out paper",
    "weal bench peers",
    "weal bench goals",  # minutes
    "weal bench goals --tasks all --methods all",
    "weal bench get california",  # needs the network
    'eval "$(weal completion zsh)"',  # other shells
    "weal completion fish | source",
}


@pytest.fixture(autouse=True)
def _extensions(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    yield
    for name in ("api_pages", "command_pages", "json_pages", "reference_pages", "table_pages"):
        sys.modules.pop(name, None)


def page(name):
    return (PAGES / name).read_text()


def commands():
    import command_pages

    return list(command_pages.commands())


def rows(text):
    """The rows of the tables of a page, as lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_every_command_has_a_section_with_its_options():
    text = page("commands.md")
    for path, _, _ in commands():
        name = path.removeprefix("weal ").replace(" ", "-")
        assert f"### {path}\n\n```{{include}} api/_commands/{name}.md\n```" in text, path


def test_every_option_says_what_it_does():
    for path, command, context in commands():
        for one in command.params:
            if isinstance(one, click.Option):
                assert one.help, f"{path} {one.opts[0]}: no help"
        assert command.get_short_help_str(), path
        assert context.info_name == path


def test_every_command_has_an_example_and_the_page_runs_it():
    text = page("commands.md")
    cells = re.findall(r"%%console\n(.*?)```", text, re.DOTALL)
    run = [line for cell in cells for line in re.findall(r"^\$ (.*?)(?: \\)?$", cell, re.M)]
    found = set()
    for path, command, _ in commands():
        examples = re.findall(r"^ *\$ (.*?)(?:  +#.*)?$", command.epilog or "", re.M)
        assert examples, f"{path}: no example"
        for example in examples:
            if example in NOT_RUN:
                found.add(example)
                assert example in text, example
            else:
                assert any(line.startswith(example) for line in run), f"not run: {example}"
    assert found == NOT_RUN


def test_every_environment_variable_is_described():
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.html")]
    used = {name for path in sources for name in re.findall(r"_?WEAL_[A-Z_]+", path.read_text())}
    described = set(re.findall(r"`(_?WEAL_[A-Z_]+)`", page("environment.md")))
    assert used == described


def kinds():
    """All errors of ours."""
    return {
        name: one
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, errors.WealError)
    }


def code_of(kind):
    return next(code for one, code in main._CODES if issubclass(kind, one))


def test_the_table_of_exit_codes_is_that_of_the_code():
    table = rows(page("environment.md"))
    codes = {int(row[0]) for row in table if row[0].isdigit()}
    assert codes == {0, 130, main.BROKEN_PIPE_EXIT_CODE, *(code for _, code in main._CODES)}
    said = {
        name: int(row[1])
        for row in table
        if len(row) == 2 and row[1].isdigit()
        for name in re.findall(r"`(\w+)`", row[0])
    }
    named = {**kinds(), "ValueError": ValueError, "OSError": OSError}
    assert said == {name: code_of(kind) for name, kind in named.items()}


def test_the_table_of_errors_has_all_and_what_else_they_are():
    table = {
        re.search(r"`(\w+)`", row[0])[1]: re.findall(r", a `(\w+)`", row[0])
        for row in rows(page("errors.md"))
        if "`" in row[0] and len(row) == 4
    }
    others = {
        name: [base.__name__ for base in kind.__bases__ if not issubclass(base, errors.WealError)]
        for name, kind in kinds().items()
    }
    assert table == {name: [one for one in found if one != "Exception"]
                     for name, found in others.items()}  # fmt: skip
    assert all(f"(api/weal.{name}.rst)" in page("errors.md")
               for name in kinds() if name in weal.__all__)  # fmt: skip


def test_the_codes_of_errors_are_those_of_the_code_and_no_two_are_the_same():
    said = {
        re.search(r"`(\w+)`", row[0])[1]: row[1].strip("`")
        for row in rows(page("errors.md"))
        if "`" in row[0] and len(row) == 4
    }
    assert said == {name: kind.code for name, kind in kinds().items()}
    others = [row[1].strip("`") for row in rows(page("errors.md")) if len(row) == 2]
    found = [one for one in others if re.fullmatch("[a-z_]+", one) and one != "code"]
    assert set(dict(errors._OTHER_CODES).values()) <= set(found)
    assert len({*said.values(), *found}) == len(said) + len(found)


def test_pages_can_be_made_of_every_name_table_and_schema():
    import json_pages
    import reference_pages
    import table_pages

    listed = reference_pages.names()
    assert all(f"[`{name}`](api/weal.{name}.rst)" in listed for name in weal.__all__)
    made = table_pages.columns(table_pages.SQLITE)
    described = {*made, *(f"{table}.{name}" for table in made for name in made[table])}
    assert described == table_pages.MEANING.keys()
    table_pages.store()
    text = json_pages.pages()["_json/commands.md"]
    import api_pages

    operations = api_pages.pages()["_json/operations.md"]
    both = f"{text}\n{operations}"
    assert set(re.findall(r"\(#(.*?)\)", both)) <= set(re.findall(r"^\((.*?)\)=$", both, re.M))
    places = set(re.findall(r"^\((.*?)\)=$", text, re.M))
    assert set(re.findall(r"\(#(.*?)\)", text)) <= places
