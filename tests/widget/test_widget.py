"""The widget around the bench: cells, threads, restarts, and the extra that it needs."""

import asyncio
import builtins
import re
import sys
import threading
from pathlib import Path

import pytest

import weal
from weal.campaign.notebook_bench import CampaignBench
from weal.widget import widget
from widget.displays import CampaignCase, Display, LearnerCase, X, learner_bench

FOLDER = Path(widget.__file__).parent


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    widget._widget_class.cache_clear()
    learner = weal.ActiveLearner(X)
    with pytest.raises(ImportError, match=r"pip install 'weal\[widget\]'"):
        learner.widget()
    widget._widget_class.cache_clear()


@pytest.fixture
def shown():
    """The widget of a learner in a plain process; closed afterwards."""
    pytest.importorskip("anywidget")
    learner = weal.ActiveLearner(X, ids=[f"r{n}" for n in range(40)])
    found = learner.widget()
    yield learner, found
    found.close()


def test_the_widget_carries_its_own_script_and_style_and_the_view(shown):
    learner, found = shown
    assert (found._esm, found._css) == (
        (FOLDER / "bench.js").read_text(),
        (FOLDER / "bench.css").read_text(),
    )
    found._handle_custom_msg({"action": "ask", "n": 2, "key": "a"}, [])
    [first, _] = found.view["rows"]
    found._handle_custom_msg(
        {"action": "tell", "row": first["row"], "values": ["1,5"], "key": "b"}, []
    )
    assert [(label.name, label.y) for label in learner.labels] == [(first["id"], 1.5)]
    assert len(found.view["rows"]) == 1


def test_there_is_one_widget_of_a_learner_until_it_is_closed(shown):
    learner, found = shown
    learner.tell("r3", 1.0)
    assert learner.widget() is found
    assert found.view["counts"].startswith("1 label")
    found.close()
    again = learner.widget()
    assert again is not found
    assert again.view["counts"].startswith("1 label")
    again.close()


def test_a_widget_follows_the_cells_of_a_notebook():
    pytest.importorskip("anywidget")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        learner = weal.ActiveLearner(X, ids=[f"r{n}" for n in range(40)])
        found = learner.widget()
        shell.user_ns["learner"] = learner
        shell.run_cell("learner.tell('r3', 1.0)").raise_error()
        assert found.view["counts"].startswith("1 label")
        before = len(shell.events.callbacks["post_run_cell"])
        found.close()
        shell.run_cell("learner.tell('r4', 1.0)").raise_error()
        assert found.view["counts"].startswith("1 label")
        assert len(shell.events.callbacks["post_run_cell"]) == before - 1
    finally:
        InteractiveShell.clear_instance()
        if hasattr(builtins, "display"):
            del builtins.display


@pytest.mark.parametrize("make", [LearnerCase, CampaignCase])
def test_a_message_of_another_thread_waits_for_the_end_of_the_cell(make):
    """JupyterLab delivers messages of widgets in a thread of their own while a cell runs."""
    case, threads = make(), []

    async def notebook():
        bench = learner_bench(case.owner) if make is LearnerCase else CampaignBench(case.owner)
        display = Display(bench)
        show = display.bench._show
        display.bench._show = lambda *shown: (threads.append(threading.get_ident()), show(*shown))
        message = {"action": "ask", "n": 2, "key": "a"}
        other = threading.Thread(target=display.bench.receive, args=[message])
        other.start()
        other.join()  # as a cell that is still running
        assert not display.answers
        await asyncio.sleep(0)
        return display

    display = asyncio.run(notebook())
    assert display.answers[0]["done"]
    assert threads == [threading.get_ident()]


def opened(url, **how):
    campaign = weal.open_campaign("demo", url, by="ann", **how)
    return campaign, Display(CampaignBench(campaign))


def test_a_restart_of_the_kernel_loses_nothing_of_a_campaign(tmp_path):
    import pandas as pd

    url = f"sqlite:///{tmp_path}/weal.db"
    pool = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{n}" for n in range(40)])
    campaign, display = opened(url, pool=pool, target="yield")
    display.ask(2)
    first, second = display.ids
    message = {"row": display.token(first), "values": ["11"], "key": "form", "note": "bottle 3"}
    assert display.send("tell", **message)["done"]
    campaign.close()

    campaign, display = opened(url)
    assert display.ids == [second]
    assert display.view["undo"]["text"] == f"{first}: 11"
    display.undo()
    assert sorted(display.ids) == sorted([first, second])
    display.tell(first, "11")
    events = campaign.read_ledger().seq
    row = display.bench.messages._tokens[first]
    again = display.send("tell", row=row, values=["11"], key="form", note="bottle 3")
    assert again["done"]  # the same label is there
    assert campaign.read_ledger().seq == events
    notes = [event.body["note"] for event in campaign.events() if event.kind == "told"]
    assert notes == ["bottle 3", None]
    campaign.close()
    display.bench.refresh()
    assert "is closed; open it again" in display.view["problem"]
    assert display.view["fields"]  # what was there stays


def test_rows_of_others_are_counted_and_not_shown():
    case = CampaignCase()
    case.owner.ask(3, by="bo")
    case.display.bench.refresh()
    assert case.display.ids == []
    assert "3 rows with others" in case.display.view["counts"]
    case.display.ask(2)
    taken = case.display.ids[0]
    case.owner.tell(taken, 12.0, by="bo")
    answer = case.display.tell(taken, "13")  # the display has not heard of it
    assert "has a label already" in answer["wrong"]
    assert case.labels()[taken, "yield"] == "12"


def test_two_displays_get_one_report():
    case = LearnerCase(n_start=5)
    case.owner.tell([f"r{n}" for n in range(8)], list(range(8)))
    first = case.display.report()
    case.display.shown.pop("report")
    case.display.bench.receive({"action": "report"})
    assert "report" not in case.display.shown  # it is computed once
    case.owner.tell("r9", 3.0)
    assert case.display.report()["revision"] > first["revision"]


def test_the_widget_undoes_what_was_typed_on_the_page():
    case = CampaignCase()
    case.display.ask(1)
    [id_] = case.display.ids
    case.owner.tell(id_, 12.0, key="bench-of-the-page")
    case.display.bench.refresh()
    assert case.display.undo()["notice"] == f"Undone: {id_}: 12"
    assert case.display.ids == [id_]
    assert not case.labels()


def test_a_skip_and_a_failure_keep_their_reason_in_the_store():
    case = CampaignCase()
    assert case.display.view["reasons"]
    case.display.ask(2)
    first, second = case.display.ids
    case.display.send("skip", row=case.display.token(first), note="no sample: bottle empty")
    case.display.send("fail", row=case.display.token(second), note="stirrer stopped")
    notes = {event.id: event.body.get("note") for event in case.owner.events() if event.id}
    assert notes[first] == "no sample: bottle empty"
    assert notes[second] == "stirrer stopped"


def test_a_bound_in_place_of_a_number_is_a_note_as_on_the_page():
    case = CampaignCase()
    case.display.ask(1)
    [id_] = case.display.ids
    assert case.display.tell(id_, "<0,1", note="by HPLC")["done"]
    assert case.owner.read_ledger().skipped == {id_: "<0,1: a bound, not learned from; by HPLC"}
    assert not case.labels()


def test_a_learner_says_how_its_labels_are_saved():
    view = LearnerCase().display.view
    assert "learner.save(" in view["storage"]
    assert not view["keeps_notes"]


def test_the_script_sets_text_alone_and_knows_no_other_host():
    script = (FOLDER / "bench.js").read_text()
    assert len(script.splitlines()) < 400
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "import",
    ):
        assert way not in script
    hosts = set(re.findall(r"https?://[\w.]+", script + (FOLDER / "bench.css").read_text()))
    assert hosts == {"http://www.w3.org"}  # the name of SVG
