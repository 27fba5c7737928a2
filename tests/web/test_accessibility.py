"""axe finds nothing on any page: light and dark, 390 and 1440 px.

Pages are found by their routes: a new one is tried without being named here. What a page shows
only after a form was sent, or to others, is listed.
"""

import re
from urllib.parse import quote

import pytest

import weal
from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, ids, measured, teach
from weal.store.protocol import open_store
from weal.web.access import Access, AccessPolicy
from weal.web.app import create_app
from web.axe import violations
from web.browser import chromium, visit
from web.conftest import begin
from web.test_request_sizes import shown, upload
from web.visiting import Visitor

CAMPAIGN_PAGES = ("watch", "explore", "settings", "print", "effects")
TABLE = b"batch,temp,kind,hardness\nB-1,3,a,5300\nB-2,4,b,12.5\nB-3,6,a,\n"
GOOD_SHEET = b"sample,hardness,note\nA-20,12.5,\nA-21,11,good\nA-22,,\n"
BAD_SHEET = b"sample,hardness\nA-20,hard\nB-7,3\n"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def store(url, tmp_path):
    """A campaign with a model and leased rows, and one with several results and failures."""
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="ann") as campaign:
        for k in range(14):
            campaign.tell(f"A-{k}", (k % 17 - 3.5) ** 2 + k % 5, note="a note")
        campaign.skip("A-50", note="broke")
        campaign.ask(3)
    with measured(YIELD, PURITY, CRYSTALLISED, store=url) as several:
        teach(several, ids(0, 14))
        several.ask_for(["R-30", "R-31", "R-33"], by="ann")
    return url


def addresses(url, tmp_path, name, id_):
    """All that answers to a GET, for a campaign and a row of it."""
    store = open_store(url)
    app = create_app(store, policy=AccessPolicy(Access(tmp_path, store), 1), folder=tmp_path)
    for path, own in app.openapi()["paths"].items():
        if "get" in own and re.findall(r"{(\w+)}", path) in ([], ["name"]):
            given = {one["name"] for one in own["get"].get("parameters", [])}
            query = f"?id={quote(id_)}" if "id" in given else ""
            yield path.replace("{name}", name) + query
    store.close()


def is_page(answer):
    kind = answer.headers.get("content-type", "")
    return answer.status_code == 200 and kind.startswith("text/html") and "<html" in answer.text


def test_axe_finds_nothing_on_any_page(servers, browser, store, tmp_path):
    server = servers.start(store, worker="here")
    base, found = server["url"].split("/?")[0], {}
    places = {
        *addresses(store, tmp_path, "steel", "A-3"),
        *addresses(store, tmp_path, "runs", "R-30"),
    }
    with Visitor(server) as hands, visit(browser, server) as page:
        for path in sorted(places):
            if is_page(hands.get(path)):
                page.goto(base + path)
                found[path] = violations(page)
    campaigns = {f"/c/{name}/{one}" for name in ("steel", "runs") for one in CAMPAIGN_PAGES}
    rows = {"/c/steel/bench?id=A-3", "/c/runs/bench?id=R-30", "/c/steel/row?id=A-3"}
    assert {"/", "/new", "/work", "/logout"} | campaigns | rows <= set(found)
    assert not {path: one for path, one in found.items() if one}


def look_at_changes(page, base):
    """Reasons of a skip, the button that undoes it, the form of a label, and its dialog."""
    found = {}
    page.goto(f"{base}/c/steel/bench?id=A-31")
    page.locator("summary", has_text="The run failed").click()
    page.locator("summary", has_text="Could not be measured").click()
    found["reasons"] = violations(page)
    page.get_by_role("button", name="no material").click()
    page.get_by_role("button", name="Undo: A-31 skipped").wait_for()
    found["undo"] = violations(page)
    page.goto(f"{base}/c/steel/row?id=A-3")
    page.locator("summary", has_text="Change").click()
    found["label"] = violations(page)
    page.goto(f"{base}/c/steel/explore")
    page.get_by_role("link", name="Change A-3", exact=True).click()
    page.locator("#labels-dialog input.value").fill("5300")
    page.keyboard.press("Enter")
    page.locator("#labels-dialog [data-question]").wait_for()
    found["dialog"] = violations(page)
    return found


def test_axe_finds_nothing_after_forms(servers, browser, store):
    """Questions, refusals, tables and worksheets that were uploaded, dialogs."""
    server = servers.start(store, worker="here")
    base, found = server["url"].split("/?")[0], {}
    with Visitor(server) as hands, visit(browser, server) as page:
        page.goto(f"{base}/c/steel/bench")
        found["rows of mine"] = violations(page)
        page.get_by_text("Limits of the batch").click()
        page.locator("input.value").fill("5300")
        page.locator("input.value").press("Enter")
        page.locator("[data-question]").wait_for()
        found["question"] = violations(page)
        page.locator("input.value").fill("hard")
        page.locator("input.value").press("Enter")
        page.locator("[aria-invalid]").wait_for()
        found["refused"] = violations(page)
        page.get_by_role("button", name="Keys").click()
        found["keys"] = violations(page)
        found |= look_at_changes(page, base)
        page.goto(f"{base}/c/runs/bench?id=R-30")
        page.get_by_label("yield [%]").fill("5300")
        page.get_by_label("yield [%]").press("Enter")
        page.locator("[data-question]").wait_for()
        found["questions"] = violations(page)
        for name, data in {"table": TABLE, "no candidates": b"id,x\n"}.items():
            page.goto(str(shown(hands, upload(hands, f"{name}.csv", data)).url))
            found[name] = violations(page)
        for data in (GOOD_SHEET, BAD_SHEET):
            page.goto(str(shown(hands, upload(hands, "s.csv", data, "/c/steel/sheet")).url))
            found[f"worksheet {data}"] = violations(page)
            save = page.get_by_role("button", name=re.compile("^Save"))
            if save.is_enabled():
                save.click()
                page.get_by_text("labels saved").wait_for()
                found["saved worksheet"] = violations(page)
        page.goto(str(shown(hands, upload(hands, "s.csv", TABLE, "/c/steel/add")).url))
        found["further candidates"] = violations(page)
    assert not {state: one for state, one in found.items() if one}


def test_axe_finds_nothing_for_others(servers, browser, store, url):
    """A stranger, a reader, an error, somebody without rows; a store without campaigns."""
    server = servers.start(store, read_only=True, worker="here")
    base, found = server["url"].split("/?")[0], {}
    empty = servers.start(f"{url}.empty")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{base}/c/steel/bench")
        assert page.get_by_label("Token").is_visible()
        found["log in"] = violations(page)
        page.goto(empty["url"])
        found["empty"] = violations(page)
    with visit(browser, server, None) as page:
        for path in ("/", "/c/steel/bench", "/c/steel/bench?id=A-20", "/c/steel/settings", "/no"):
            page.goto(base + path)
            found[path] = violations(page)
    assert not {state: one for state, one in found.items() if one}
