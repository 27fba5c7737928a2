"""In a browser: the login form below a root path, and labels that a proxy or a limit held up."""

import pytest

import weal
from weal.store.protocol import open_store
from web.browser import PHONE, Watcher, chromium
from web.test_tokens import token
from web.visiting import PATIENCE

ROOT = "/weal"
ANSWERS = [
    {"status": 429, "headers": {"Retry-After": "1"}, "body": "Too many requests"},
    {"status": 502, "body": "<html><h1>502 Bad Gateway</h1></html>"},
    {"status": 504, "body": "<html><h1>504 Gateway Time-out</h1></html>"},
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def labels(url):
    store = open_store(url)
    found = [(one.id, one.body["y"], one.who) for one in store.read("steel") if one.kind == "told"]
    store.close()
    return found


def test_a_person_logs_in_and_a_label_that_was_held_up_is_saved_once(servers, browser, steel):
    server = servers.start(steel, root_path=ROOT, named_only=True)
    with weal.open_campaign("steel", steel, by="zoe") as campaign:
        [row, _] = campaign.ask(2)
    secret = token(steel, "zoe", "measure")
    context = browser.new_context(viewport=PHONE)
    context.set_default_timeout(1000 * PATIENCE)
    watcher, page = Watcher(context), context.new_page()
    page.goto(f"{server['url']}c/steel/bench")
    page.get_by_label("Token").fill(secret)
    page.keyboard.press("Enter")
    page.locator(".big-id", has_text=row).wait_for()
    page.wait_for_load_state()  # before its scripts have run the form is sent without them
    assert secret not in page.url
    assert page.get_by_label("Your name or initials").count() == 0
    left = list(ANSWERS)

    def answer(route):
        route.fulfill(**left.pop(0)) if left else route.continue_()

    page.route("**/c/steel/tell", answer)
    page.locator("input.value").fill("12.5")
    page.keyboard.press("Enter")
    page.locator("#lost").wait_for()
    assert page.locator("input.value").input_value() == "12.5"
    assert page.get_by_text("Bad Gateway").count() == 0
    page.locator(".big-id", has_text=row).wait_for(state="detached")
    page.locator("#lost").wait_for(state="hidden")
    assert left == []
    assert labels(steel) == [(row, 12.5, "zoe")]
    context.close()
    trouble = [one for one in watcher.trouble if "Response Status Error Code" not in one]
    assert not trouble, trouble
