"""The whole story in a real browser: from a file to labels that count.

A file is dropped and becomes a campaign, rows are asked for, eight are labelled by keyboard, a typo
is noticed and taken back, a worksheet goes out and comes back, the curve moves in a second window,
the server is killed in the middle of it, started again, and the work goes on.
"""

import os
import signal

import pytest

from weal.samples import alloys, path
from weal.store.protocol import open_store
from web.browser import DESKTOP, PHONE, chromium, visit

LABELS = 8


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def focus(page):
    return page.locator(".big-id").inner_text()


def keep(page, text):
    """Type a number and press Enter; the next row comes into focus."""
    before = focus(page)
    enter(page, text)
    gone(page, before)


def enter(page, text):
    page.locator("input.value:focus").wait_for()
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def gone(page, row):
    """Another row is in focus, and its field."""
    page.wait_for_function(
        """row => {
            const now = document.querySelector(".big-id");
            return now && now.innerText !== row && document.activeElement.matches("input.value");
        }""",
        arg=row,
    )


def labels(url):
    found = {}
    for event in open_store(url).read("alloys"):
        if event.kind in ("told", "corrected"):
            found.setdefault(event.id, []).append(event.body["y"])
        elif event.kind == "withdrawn":
            found.pop(event.id, None)
    return found


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_the_whole_story(servers, browser, url, tmp_path, scheme, size):
    server = servers.start(url, worker=True)
    base = server["url"].split("/?")[0]
    with visit(browser, server, color_scheme=scheme, viewport=size) as page:
        make(page)
        page.get_by_label("Rows", exact=True).fill(str(LABELS + 3))
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".big-id").wait_for()
        second = page.context.new_page()
        second.goto(f"{base}/c/alloys/watch")
        second.get_by_text("12 labels").first.wait_for()
        before = second.locator("[data-chart]").get_attribute("data-chart")
        typo(page)
        for _ in range(LABELS - 1):
            keep(page, f"{alloys.measure(focus(page))}".replace(".", ","))
        assert sum(map(len, labels(url).values())) == 12 + LABELS
        second.get_by_text(f"{12 + LABELS} labels").first.wait_for()  # nobody has touched it
        second.wait_for_function(
            "before => document.querySelector('[data-chart]').dataset.chart !== before", arg=before
        )
        sheet(page, base, tmp_path)
        assert sum(map(len, labels(url).values())) == 12 + LABELS + 2
        last = killed(page, servers, server, url)
        assert labels(url)[last] == [alloys.measure(last)]
        second.get_by_text(f"{12 + LABELS + 3} labels").first.wait_for()
        fits(page, size)


def make(page):
    """Drop a file, see the plan, make the campaign."""
    page.get_by_role("link", name="Start with a CSV or Excel file").click()
    page.set_input_files("input[type=file]", path("alloys.csv"))
    page.wait_for_url("**/new/plan**")
    assert page.get_by_label("Column of ids").input_value() == "sample"
    assert page.get_by_label("Column to measure").input_value() == "hardness"
    assert page.get_by_label("Name of the campaign").input_value() == "alloys"
    assert "category of 4" in page.content()
    page.get_by_role("button", name="Create the campaign").click()
    page.wait_for_url("**/c/alloys/bench")


def typo(page):
    """A slip that is asked about, kept all the same, then taken back."""
    row = focus(page)
    right = f"{alloys.measure(row)}"
    enter(page, right.replace(".", ""))  # ten times too large
    page.locator("[data-question]").wait_for()
    page.get_by_role("button", name="Yes, save").click()
    gone(page, row)
    page.keyboard.press("Alt+u")
    page.locator(".big-id", has_text=row).wait_for()
    enter(page, right)
    gone(page, row)


def sheet(page, base, tmp_path):
    """The worksheet of two of the three rows that are left comes back filled in."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    lines = waiting.value.path().read_text(encoding="utf-8-sig").splitlines()
    header = lines[0].split(",")
    at = header.index("hardness")
    filled = [lines[0]]
    for line in lines[1:3]:
        cells = line.split(",")
        cells[at] = str(alloys.measure(cells[0]))
        filled.append(",".join(cells))
    back = tmp_path / "back.csv"
    back.write_text("\n".join([*filled, *lines[3:]]) + "\n")
    page.goto(f"{base}/c/alloys/bench")
    page.set_input_files("input[type=file]", back)
    page.get_by_role("button", name="Save 2 labels").click()
    page.get_by_text("2 labels saved.").wait_for()
    page.get_by_role("link", name="Back to labelling").click()


def killed(page, servers, server, url):
    """The server dies under a label that is being kept; the page sends it until it is."""
    row = focus(page)
    page.locator("input.value:focus").wait_for()
    os.kill(server["pid"], signal.SIGKILL)
    enter(page, f"{alloys.measure(row)}")
    page.locator("#lost").wait_for()
    servers.start(url, port=server["port"], worker=True)
    page.get_by_text("Last saved:").locator("..").get_by_text(row).wait_for()
    return row


def fits(page, size):
    """No page is wider than the screen."""
    base = page.url.split("/c/")[0]
    for place in (
        "/",
        "/new",
        *(f"/c/alloys/{one}" for one in ("bench", "watch", "explore", "settings")),
    ):
        page.goto(base + place)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], place
