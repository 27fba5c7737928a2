"""On a phone: what stays visible while typing, the number pad, targets for gloves."""

import os

import numpy as np
import pandas as pd
import pytest

import weal
from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, ids, measured, teach
from web.axe import COME
from web.browser import PHONE, chromium, visit
from web.conftest import begin
from web.test_request_sizes import shown, upload
from web.test_watch_explore import until
from web.visiting import Visitor

PICTURES = os.environ.get("WEAL_PICTURES")  # a folder to look at the pages in
KEYBOARD = {"width": 390, "height": 400}  # what an on-screen keyboard leaves
TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
TARGET = 44.0  # px
SETTLED = "() => !document.querySelector('.htmx-request, .htmx-settling, .htmx-swapping')"
# Links within a sentence, and points of a picture, are not held to it: their rows have pages.
TARGETS = """() => [...document.querySelectorAll(
    "a, button, summary, select, textarea, input:not([type=hidden]), label:has(> input)")]
    .filter(one => !one.closest("p, svg, .skip-link, .chart, dd, h1, h2")
        && !one.matches("label > [type=checkbox], label > [type=radio], label.field, label.drop")
        && one.checkVisibility({visibilityProperty: true}))
    .map(one => [one.outerHTML.slice(0, 160), one.getBoundingClientRect()])
    .map(([html, box]) => [html, box.width, box.height])"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def wide(url, n_inputs=18):
    """A campaign with many inputs, two of which matter, and rows of ann's."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0.0, 1.0, (60, n_inputs))
    y = 10.0 * np.sin(5.0 * x[:, 7]) + 6.0 * x[:, 11]
    table = {"id": [f"W-{k}" for k in range(60)], "place": ["hall 3"] * 60}
    table |= {f"input {k} [mm]": x[:, k] for k in range(n_inputs)}
    table["y"] = [None] * 60
    with weal.open_campaign(
        "wide", url, pool=pd.DataFrame(table), id_column="id", target="y", by="ann"
    ) as one:
        one.tell([f"W-{k}" for k in range(30)], y[:30])
        return one.ask(3)


def box(page, selector):
    return page.locator(selector).first.bounding_box()


def visible_while_typing(page, field):
    """The head of the row and the field are on the screen, and do not cover each other."""
    page.locator(field).first.focus()
    page.wait_for_function("() => new Promise(done => requestAnimationFrame(() => done(true)))")
    height = page.viewport_size["height"]
    head, typed = box(page, ".row-head"), box(page, field)
    assert head["y"] >= 0.0
    assert head["height"] < 0.45 * height
    assert head["y"] + head["height"] <= typed["y"] + 0.5
    assert typed["y"] + typed["height"] <= height
    return [one.inner_text() for one in page.locator(".row-head dt").all()]


def picture(page, name):
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png")


def test_the_row_stays_visible_while_a_result_is_typed(servers, browser, url):
    [first, *_] = wide(url)
    server = servers.start(url, worker="here")
    base = server["url"].split("/?")[0]
    with visit(browser, server, **{**TOUCH, "viewport": KEYBOARD}) as page:
        page.goto(f"{base}/c/wide/bench")
        page.locator(".key-cells").wait_for()
        assert page.locator(".big-id").inner_text() == first
        assert "place" not in visible_while_typing(page, "input.value")  # the same in all rows
        with Visitor(server) as hands:
            until(hands, "/c/wide/watch", "Important inputs")
        page.goto(f"{base}/c/wide/bench")
        for field in ("form[action$=tell] input[name=note]", "input.value"):
            assert visible_while_typing(page, field) == ["input 7 [mm]", "input 11 [mm]"]
            picture(page, f"typing-{field[-6:-1]}")
        assert page.evaluate("document.documentElement.scrollWidth") <= KEYBOARD["width"]
        assert page.locator("dl.cells dt").count() == 18 + 1  # all of them are below
        number = page.locator("input.value")
        assert number.get_attribute("inputmode") == "decimal"
        page.keyboard.type("2,5")
        page.get_by_role("button", name="Change the sign of y").tap()
        assert number.input_value() == "-2,5"
        page.locator("#as-saved", has_text="-2.5").wait_for()
        page.get_by_role("button", name="Change the sign of y").tap()
        assert number.input_value() == "2,5"
        assert page.evaluate("document.activeElement.name") == "value"


def test_a_long_id_and_a_long_input_leave_room_for_the_field(servers, browser, url):
    table = {"id": ["Ä" * 400, "B-2", "B-3"], "x" * 300: ["long " * 200, "b", "c"], "z": [1, 2, 4]}
    pool = pd.DataFrame({**table, "y": [None] * 3})
    with weal.open_campaign(
        "long", url, pool=pool, id_column="id", target="y", by="ann"
    ) as campaign:
        campaign.ask(3)
    server = servers.start(url, worker="here")
    with visit(browser, server, **{**TOUCH, "viewport": KEYBOARD}) as page:
        page.goto(server["url"].split("/?")[0] + f"/c/long/bench?id={'Ä' * 400}")
        page.locator(".key-cells").wait_for()
        page.wait_for_function(SETTLED)
        visible_while_typing(page, "input.value")
        assert page.evaluate("document.documentElement.scrollWidth") <= KEYBOARD["width"]


def test_a_sign_is_offered_where_a_number_may_be_negative(servers, url, tmp_path):
    with measured(YIELD, PURITY, CRYSTALLISED, store=url) as one:
        low = [own.quantity.to_json().get("low") for own in one.read_ledger().quantities.values()]
    begin(url, tmp_path)
    with Visitor(servers.start(url)) as hands:
        assert hands.get("/c/steel/bench?id=A-1").text.count("data-sign") == 1
        text = hands.get("/c/runs/bench?id=R-1").text
        assert text.count("data-sign") == sum(end is None or end < 0.0 for end in low[:2])


def test_targets_are_large_enough_for_gloves(servers, browser, url, tmp_path):
    """All pages at 390 px with a finger: 44 px and more, up to rounding."""
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="ann") as campaign:
        campaign.tell([f"A-{k}" for k in range(14)], [float(k % 5) for k in range(14)])
        campaign.skip("A-50", note="broke")
        campaign.ask(3)
    with measured(YIELD, PURITY, CRYSTALLISED, store=url) as several:
        teach(several, ids(0, 14))
        several.ask_for(["R-30", "R-31"], by="ann")
    server, small = servers.start(url, worker="here"), {}
    base = server["url"].split("/?")[0]
    pages = [
        f"/c/{name}/{one}"
        for name in ("steel", "runs")
        for one in ("bench", "watch", "explore", "settings", "print", "effects")
    ]
    with Visitor(server) as hands, visit(browser, server, **TOUCH) as page:
        sheet = shown(hands, upload(hands, "s.csv", b"sample,hardness\nA-20,1\n", "/c/steel/sheet"))
        table = shown(hands, upload(hands, "t.csv", b"id,x,y\na,1,2\nb,2,3\nc,4,\n"))
        until(hands, "/c/steel/watch", "Important inputs")
        addresses = [base + one for one in ("/", "/new", "/work", "/logout", *pages)]
        addresses += [f"{base}/c/steel/row?id=A-3", str(sheet.url), str(table.url)]
        for address in addresses:
            page.goto(address)
            page.wait_for_function(COME)
            page.evaluate(
                "document.querySelectorAll('main details').forEach(one => one.open = true)"
            )
            found = [one for one in page.evaluate(TARGETS) if min(one[1:]) < TARGET - 0.5]
            if found:
                small[address.removeprefix(base)] = found
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            picture(page, "touch-" + address.removeprefix(base).replace("/", "_")[:40])
    assert not small
