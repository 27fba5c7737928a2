"""Every messy table is read exactly, or refused with a remedy that is followed and then works.

Each goes through the shell, Python and the page.
"""

import re
import shlex
import warnings
from types import SimpleNamespace

import pytest

import weal
from shell import alone_in, typed
from tables.messy import CASES
from weal.store.protocol import open_store
from weal.tables.plan import TablePlan
from weal.tables.table_options import TableOptions
from weal.web import table_jobs
from weal.web.pages.campaigns import PlanForm
from weal.web.server_folder import new_file


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    return tmp_path


def by_shell(case, path):
    """Type what the refusals say, literally; the notes of the last try."""
    words = ["--pool", path, *(["--id", case.id_column] if case.id_column else [])]
    words += ["--target", case.target] if case.target else []
    words += [word for option, value in case.options for word in (f"--{option}", value)]
    for refusal, which in zip(case.refusals, case.follow, strict=True):
        done = typed("new", *words, "--", "runs")
        assert refusal in done.complaint
        words = _with(words, *shlex.split(remedies(done.complaint)[which]))
    done = typed("new", *words, "--", "runs")
    assert done.code == 0, done.err
    return done.err + done.out


def _with(words, option, value):
    """The words with an option more; a target is corrected, for several are measured together."""
    if option == "--target" and option in words:
        return [
            value if before == option else one
            for before, one in zip(["", *words], words, strict=False)
        ]
    return [*words, option, value]


def remedies(message):
    """The options in a message: --type 'V=number' reads ..."""
    return re.findall(r"--[a-z-]+ (?:'[^']*'|\S+)", message)


def by_python(case, path):
    how = TableOptions().with_words(case.options)
    named = ("types", "same", "units", "decimal", "ranges", "sheet", "header", "also_inputs")
    given = {name: getattr(how, name) for name in named if getattr(how, name)}
    given |= {"id_column": case.id_column, "target": case.target}
    for refusal, which in zip(case.refusals, case.follow, strict=True):
        with pytest.raises(ValueError, match=re.escape(refusal)) as refused:
            weal.open_campaign("runs", pool=path, **given)
        ways = re.findall(r"[;?] (\w+=(?:\{.*?\}+|\[.*?\]|'.*?'))", str(refused.value))
        for name, value in eval(f"dict({ways[which]})").items():
            given[name] = {**given.get(name, {}), **value} if isinstance(value, dict) else value
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        weal.open_campaign("runs", pool=path, **given).close()
    return " ".join(str(one.message) for one in said)


def by_page(case, path, folder):
    """Press the buttons of the page, then the one that creates the campaign."""
    store = open_store(None)
    context = SimpleNamespace(store=store, results=SimpleNamespace(folder=folder))
    upload = new_file(folder, path.suffix)
    upload.write_bytes(path.read_bytes())
    roles = {"id": case.id_column or "", "target": case.target or ""}
    form = {"file": upload.stem, "name": "runs", **roles}
    options = [f"{option}\n{value}" for option, value in case.options]
    for refusal, which in zip(case.refusals, case.follow, strict=True):
        shown = look(context, form, options)
        assert refusal in shown["problem"]
        button = shown["remedies"][which]
        options.append(f"{button['option']}\n{button['value']}")
    shown = look(context, form, options)
    assert shown["problem"] is None
    made = table_jobs.make(context, {**arguments(form, options), "who": "mk"}, lambda *_: None)
    store.close()
    assert made == {"made": "runs"}
    questions = [one["words"] for one in shown["questions"]]
    return " ".join([*shown["notes"], *questions, *(str(one["said"]) for one in shown["columns"])])


def arguments(form, options):
    return PlanForm(**form, option=options).arguments


def look(context, form, options):
    return table_jobs.look(context, arguments(form, options), lambda *_: None)


@pytest.mark.covering
@pytest.mark.parametrize("door", ["shell", "python", "page"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_comes_out_as_it_was_meant(case, door, folder):
    path = case.write(folder)
    if door == "shell":
        said = by_shell(case, path)
    else:
        said = by_python(case, path) if door == "python" else by_page(case, path, folder)
    with weal.open_campaign("runs") as campaign:
        ledger = campaign.read_ledger()
        table = campaign.read_session().pool.columns()
        labels = {name: [one.y for one in some] for name, some in ledger.quantity().labels.items()}
    assert ledger.skipped == case.skipped
    assert {n: some[0].note for n, some in ledger.failures.labels.items()} == case.failed
    plan = TablePlan.from_json(ledger.plan)
    used = [one.name for one in plan.columns if one.kind != "dropped"]
    assert table[ledger.id_column] == case.ids
    assert used == list(case.inputs)
    for name, values in case.inputs.items():
        assert table[name] == pytest.approx(values, rel=1e-12) if is_numeric(values) else (
            table[name] == values
        )  # fmt: skip
    assert labels == {name: pytest.approx(some) for name, some in case.labels.items()}
    quantity = ledger.quantity().quantity
    assert case.bounds in (None, (quantity.low, quantity.high))
    assert {one.name for one in plan.columns if one.kind == "dropped"} >= set(case.named)
    if door != "python":
        of_shell = [words for words in case.says if "--" in words]
        for words in case.says:
            assert (words in said) == (door == "shell" or words not in of_shell)


def is_numeric(values):
    return None not in values and not any(isinstance(one, str) for one in values)


def test_there_are_forty_cases_and_more():
    assert len(CASES) >= 40
    assert len({case.mess for case in CASES}) == len(CASES)
