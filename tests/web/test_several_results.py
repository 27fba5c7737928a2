"""The page with a yield, a purity, whether a run crystallised, and a failure: one story."""

import os

import pytest

from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, ids, measured, result, teach
from weal.campaign.campaign import open_campaign
from web.browser import DESKTOP, PHONE, chromium, visit
from web.visiting import Visitor

PICTURES = os.environ.get("WEAL_PICTURES")  # a folder to look at the pages in


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def taught(url):
    """A store with a campaign of 14 runs, some of which failed."""
    with measured(YIELD, PURITY, CRYSTALLISED, store=url) as one:
        teach(one, ids(0, 14))
        one.ask_for(["R-30", "R-31", "R-33"])
    return url


def picture(page, name, size):
    page.set_viewport_size(size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}-{size['width']}.png", full_page=True)


def look(page, name):
    for size in (DESKTOP, PHONE):
        picture(page, name, size)


def labels(url, name):
    with open_campaign("runs", url) as one:
        ledger = one.read_ledger()
        known = {**one.read_quantities(), **{"worked": ledger.failures.quantity}}
        return {
            key: [known[key].format(told.y) for told in several]
            for key, several in ledger.labels_of(name).items()
        }


def test_results_are_typed_and_undone_together(servers, browser, taught):
    server = servers.start(taught, worker="here")
    base = server["url"].split("/?")[0] + "/c/runs"
    with visit(browser, server, viewport=PHONE) as page:
        page.goto(f"{base}/bench?id=R-30")
        page.get_by_label("yield [%]").fill("61,5")
        page.get_by_text("will be saved as 61.5").wait_for()
        page.get_by_label("purity [%]").fill("95.2")
        page.get_by_label("yes", exact=True).check()
        page.get_by_label("Note", exact=True).fill("batch 7")
        look(page, "bench")
        page.get_by_role("button", name="Save Enter").click()
        if page.get_by_role("button", name="Yes, save").is_visible():
            page.get_by_role("button", name="Yes, save").click()
        page.get_by_text("Last saved: R-30").wait_for()
        assert labels(taught, "R-30") == {
            "yield": ["61.5"], "purity": ["95.2"], "crystallised": ["yes"]
        }  # fmt: skip
        said = "Undo: R-30 yield 61.5, purity 95.2, crystallised yes"
        page.get_by_role("button", name=said).click()
        page.locator(".big-id", has_text="R-30").wait_for()
        assert labels(taught, "R-30") == {}


def test_results_are_doubted_one_may_come_later_and_failures_are_kept(servers, browser, taught):
    server = servers.start(taught, worker="here")
    base = server["url"].split("/?")[0] + "/c/runs"
    with visit(browser, server, viewport=PHONE) as page:
        page.goto(f"{base}/bench?id=R-31")
        page.get_by_label("yield [%]").fill("999999")  # a slip
        page.get_by_role("button", name="Save Enter").click()
        page.locator("[data-question]").wait_for()
        assert labels(taught, "R-31") == {}
        look(page, "doubt")
        page.get_by_label("yield [%]").fill("64")
        page.get_by_label("purity [%]").fill("much")
        page.get_by_role("button", name="Save Enter").click()
        page.locator(".bad-text").first.wait_for()
        assert page.get_by_label("yield [%]").input_value() == "64"
        assert labels(taught, "R-31") == {}
        page.get_by_label("purity [%]").fill("")
        page.get_by_role("button", name="Save Enter").click()
        page.get_by_text("Last saved: R-31").wait_for()
        assert labels(taught, "R-31") == {"yield": ["64"]}  # the rest comes later
        page.goto(f"{base}/bench?id=R-31")
        page.get_by_text("saved: 64").wait_for()
        page.goto(f"{base}/bench?id=R-33")
        page.locator("summary", has_text="The run failed").click()
        page.get_by_label("Why it failed (optional)").fill("stirrer stopped")
        page.get_by_role("button", name="Save as failed").click()
        page.get_by_text("Last: R-33 failed: stirrer stopped").wait_for()
        assert labels(taught, "R-33") == {"worked": ["no"]}
        page.goto(f"{base}/row?id=R-33")
        page.get_by_text("stirrer stopped").first.wait_for()
        look(page, "failed-row")


def test_pages_are_about_the_quantity_that_is_chosen(servers, browser, taught):
    server = servers.start(taught, worker="here")
    base = server["url"].split("/?")[0] + "/c/runs"
    with visit(browser, server, viewport=DESKTOP) as page:
        page.goto(f"{base}/watch")
        page.get_by_role("heading", name="Where runs fail").wait_for()
        page.locator("[data-chart]").first.wait_for()
        look(page, "watch")
        page.set_viewport_size(DESKTOP)
        page.get_by_role("link", name="crystallised").first.click()
        page.get_by_text("Other estimates").click()
        page.get_by_text("log loss").wait_for()
        look(page, "watch-words")
        page.goto(f"{base}/explore?quantity=crystallised")
        page.get_by_text("P(yes)").first.wait_for()
        look(page, "explore")
        page.goto(f"{base}/row?id=R-2&quantity=purity")
        page.get_by_role("cell", name="crystallised").wait_for()
        page.locator("#near table").wait_for()
        look(page, "row")
        for part in ("purity", "crystallised", "worked"):
            page.goto(f"{base}/effects?x=temp+%5BC%5D&quantity={part}")
            page.locator("svg").first.wait_for()
        look(page, "effects")
        page.goto(f"{base}/effects?x=temp+%5BC%5D&y=time+%5Bh%5D&quantity=worked")
        page.locator("svg path.shade-0").first.wait_for()


def test_a_form_sent_twice_saves_once_and_with_other_content_nothing(servers, taught):
    server = servers.start(taught, worker="here")
    with Visitor(server) as ann:
        form = ann.form("/c/runs/bench?id=R-30", "/c/runs/results")
        sent = {**form, "id": "R-30", "q0": "61", "q2": "yes", "sure": "true"}
        for _ in range(2):
            assert ann.post("/c/runs/results", sent).status_code in (200, 303)
        assert labels(taught, "R-30") == {"yield": ["61"], "crystallised": ["yes"]}
        other = ann.post("/c/runs/results", {**sent, "q0": "62"})
        assert other.status_code == 409
        assert "was not saved" in other.text
        empty = ann.post("/c/runs/results", {**sent, "key": "0" * 32, "q0": " ", "q2": ""})
        assert (empty.status_code, "at least one result" in empty.text) == (422, True)
        wrong = ann.post("/c/runs/results", {**sent, "key": "1" * 32, "q0": "", "q2": "perhaps"})
        assert wrong.status_code == 422
        assert "write yes or no" in wrong.text
        failed = ann.post("/c/runs/failed", {**form, "id": "R-30", "key": "2" * 32})
        assert failed.status_code == 409  # it has labels
        assert labels(taught, "R-30") == {"yield": ["61"], "crystallised": ["yes"]}
        accident = {**form, "id": "R-31", "key": "3" * 32, "accident": "true", "note": "power cut"}
        assert ann.post("/c/runs/failed", accident).status_code in (200, 303)
        assert labels(taught, "R-31") == {}
        assert "R-31" in open_campaign("runs", taught).read_ledger().skipped
    assert result("R-30") is not None
