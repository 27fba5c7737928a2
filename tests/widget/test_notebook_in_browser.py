"""The widget in a real notebook server and Chromium: JupyterLab and Notebook 7."""

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import TimeoutError

from web import axe
from web.browser import Watcher, chromium
from widget.notebooks import DARK, PATIENCE, QUIET, notebook, serving

pytestmark = pytest.mark.long

LEARNER = """
import numpy as np, weal
X = np.random.default_rng(0).uniform(0, 1, (60, 3))
ids = [f"r{n}" for n in range(59)] + ["<img src=x onerror=alert(1)>"]
learner = weal.ActiveLearner(X, ids=ids, target="yield [g]", n_start=5)
learner.tell(ids[:8], X[:8].sum(axis=1))
learner.widget()
"""
CAMPAIGN = """
import weal
from weal.samples import path
campaign = weal.open_campaign("alloys", "sqlite:///weal.db", pool=path("alloys.csv"),
    id_column="sample", target="hardness", by="ann")
campaign.widget()
"""
SLOW = """
import time, threading
for n in range(30):
    time.sleep(0.1)
    print("told" if learner.labels.by_name.get(waiting) else "not yet", end=" ")
"""


class Cells:
    """The cells of an open notebook: run one after the other, with what each prints."""

    def __init__(self, page):
        self.page, self.n = page, 0

    def run(self, wait=True):
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(self.n)
        self.start(cell)
        self.n += 1
        if wait:
            cell.locator(".jp-InputPrompt").filter(has_text=re.compile(r"\d")).wait_for()
        return cell

    def start(self, cell):
        """A notebook forgets a cell that is run before its kernel is there."""
        begun = cell.locator(".jp-InputPrompt").filter(has_text=re.compile(r"[\d*]"))
        for _ in range(20):
            cell.locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            try:
                return begun.wait_for(timeout=3000)
            except TimeoutError:
                continue
        return begun.wait_for()

    def out(self):
        return self.run().locator(".jp-OutputArea-output").last.inner_text().strip()


@contextmanager
def opened(app, folder, cells, settings=QUIET, **how):
    notebook(folder, "bench.ipynb", cells)
    with serving(app, folder, settings) as url, chromium() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 1400}, **how)
        context.set_default_timeout(1000 * PATIENCE)
        watcher = Watcher(context)
        page = context.new_page()
        tree = "lab/tree" if app == "lab" else "notebooks"
        page.goto(f"{url}{tree}/bench.ipynb")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        yield page, Cells(page)
        hosts = [one for one in watcher.trouble if "another host" in one or "dialog" in one]
        assert not [one for one in hosts if "blob:" not in one and "data:" not in one]


def typed(page, text, enter=True):
    """Type into the field of the row in focus."""
    field = page.locator(".weal-field input").first
    field.fill(text)
    if enter:
        field.press("Enter")
    return field


def test_a_label_typed_in_jupyterlab_is_in_python_and_one_told_there_is_in_the_widget(tmp_path):
    last = "print(*[(one.name, one.y) for one in learner.labels][8:])"
    cells = [
        LEARNER, last, last, "learner.tell(list(learner.pending)[0], 1.25)", last,
        "waiting = list(learner.pending)[0]", SLOW, last, "learner.widget()",
    ]  # fmt: skip
    with opened("lab", tmp_path, cells) as (page, run):
        run.run()
        bench = page.locator(".weal-bench").first
        bench.get_by_role("button", name="Ask for rows").click()
        bench.locator(".weal-rows button").nth(3).wait_for()
        type_and_undo(page, bench, run)
        tell_in_a_cell(page, bench, run)
        type_while_a_cell_runs(page, bench, run)

        run.run()  # a second display agrees
        both = page.locator(".weal-bench")
        both.nth(1).wait_for()
        shown = [both.nth(n).locator(".weal-rows").inner_text() for n in (0, 1)]
        assert shown[0] == shown[1]
        page.screenshot(path=tmp_path / "lab.png")


def type_and_undo(page, bench, run):
    rows = bench.locator(".weal-rows button")
    first = rows.nth(0).inner_text()
    typed(page, "5300")
    question = bench.locator(".weal-question")
    assert "far from its prediction" in question.inner_text()
    assert page.evaluate("document.activeElement.value") == "5300"
    page.keyboard.press("Enter")  # Enter twice keeps nothing
    page.locator(".weal-bench:not([aria-busy])").first.wait_for()
    assert question.is_visible()
    typed(page, "0,5")
    question.get_by_role("button").click()  # 0.5 is far too, and right
    rows.nth(3).wait_for(state="detached")
    assert f"Saved {first}: 0.5" in bench.locator(".weal-status").inner_text()
    assert run.out() == f"('{first}', 0.5)"

    assert bench.locator(".weal-foot button").inner_text() == f"Undo {first}: 0.5"
    rows.nth(0).focus()
    page.keyboard.press("u")
    rows.nth(3).wait_for()
    assert run.out() == ""


def tell_in_a_cell(page, bench, run):
    rows = bench.locator(".weal-rows button")
    told = rows.nth(0).inner_text()
    run.run()
    rows.nth(3).wait_for(state="detached")
    assert bench.locator(".weal-title").inner_text().endswith("9 labels, 60 candidates")
    assert run.out() == f"('{told}', 1.25)"
    page.locator(".weal-headline").filter(has_text="after 9 labels").wait_for()


def type_while_a_cell_runs(page, bench, run):
    """The label waits for the end of the cell, and is not lost."""
    rows = bench.locator(".weal-rows button")
    run.run()
    slow = run.run(wait=False)
    slow.get_by_text("not yet").wait_for()
    rows.nth(0).click()
    typed(page, bench.locator(".weal-hint").inner_text().split()[1])  # what is predicted
    rows.nth(2).wait_for(state="detached")
    assert "told" not in slow.locator(".jp-OutputArea-output").inner_text()
    assert run.out().count("(") == 2


def test_a_campaign_in_notebook_7_survives_a_restart_of_the_kernel(tmp_path):
    cells = [CAMPAIGN, "print(campaign.read_ledger().n_labels)", "import os; os._exit(1)", CAMPAIGN]
    with opened("notebook", tmp_path, cells, color_scheme="dark") as (page, run):
        run.run()
        bench = page.locator(".weal-bench")
        bench.get_by_role("button", name="Ask for rows").click()
        rows = bench.locator(".weal-rows button")
        rows.nth(3).wait_for()
        bench.get_by_label("Note").fill("bottle 3")
        typed(page, "300,5")
        rows.nth(3).wait_for(state="detached")
        skipped = rows.nth(0).inner_text()
        bench.get_by_text("Skip", exact=True).click()
        bench.get_by_role("button", name="no sample").click()
        rows.nth(2).wait_for(state="detached")
        assert bench.locator(".weal-foot button").inner_text() == f"Undo {skipped}: skipped"
        assert run.out() == "13"

        run.run(wait=False)
        page.get_by_role("dialog").get_by_role("button", name="Ok").click()  # it has died
        run.run()
        bench = page.locator(".weal-bench").last
        bench.get_by_role("button", name=f"Undo {skipped}: skipped").click()
        bench.locator(".weal-rows button").nth(2).wait_for()
        page.screenshot(path=tmp_path / "notebook.png")


AXE = """() => axe.run(document.querySelector(".weal-bench"), {resultTypes: ["violations"]})
    .then(found => found.violations.map(one => one.id + " " + one.nodes[0].html))"""


@pytest.mark.parametrize("settings", [QUIET, QUIET | DARK], ids=["light", "dark"])
def test_the_widget_breaks_no_rule_of_axe_and_has_targets_for_fingers(tmp_path, settings):
    how = {"has_touch": True, "is_mobile": True, "bypass_csp": True}
    with opened("lab", tmp_path, [CAMPAIGN], settings, **how) as (page, run):
        run.run()
        bench = page.locator(".weal-bench")
        bench.get_by_role("button", name="Ask for rows").click()
        bench.locator(".weal-row").wait_for()
        bench.locator(".weal-headline").wait_for()
        typed(page, "twelve")
        bench.locator(".weal-field .wrong").wait_for()
        typed(page, "5300")
        bench.locator(".weal-question").wait_for()
        for words in ("Options of the batch", "Why this row", "Skip"):
            bench.get_by_text(words, exact=True).click()
        for target in bench.locator("button:visible, input:visible, select:visible").all():
            assert target.bounding_box()["height"] >= 44
        page.evaluate(axe.source())
        assert page.evaluate(AXE) == []
        bench.evaluate("one => { one.style.width = '340px' }")  # as on a phone
        assert page.evaluate(AXE) == []
        assert bench.evaluate("one => one.scrollWidth <= one.clientWidth")
        bench.screenshot(path=tmp_path / "phone.png")
