"""The pages in a real Chromium: data never runs (W5), nothing is fetched from elsewhere (W11)."""

from urllib.parse import quote

import pandas as pd
import pytest

import weal
from soak import count
from weal.store.protocol import open_store
from web.browser import DESKTOP, PHONE, chromium, visit
from web.test_request_sizes import shown, upload
from web.visiting import Visitor

RUN = "alert(1)"
PAYLOADS = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f'"><script>{RUN}</script>',
    f"'><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"javascript:{RUN}",
    f'" onmouseover="{RUN}',
    f"' onfocus='{RUN}' autofocus='",
    f"<iframe src=javascript:{RUN}>",
    f"<body onload={RUN}>",
    f"<a href=javascript:{RUN}>x</a>",
    f"<details open ontoggle={RUN}>",
    f"<math><mi//xlink:href='javascript:{RUN}'>",
    f"<input autofocus onfocus={RUN}>",
    "{{7*7}}",
    "{% include 'base.html' %}",
    "${7*7}",
    "#{7*7}",
    f"<style>@import 'javascript:{RUN}'</style>",
    f"<link rel=stylesheet href=javascript:{RUN}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    f"<object data=javascript:{RUN}>",
    f"<embed src=javascript:{RUN}>",
    f"<form action=javascript:{RUN}><button>x",
    "<base href='//evil.example/'>",
    f"<div hx-get='/' hx-trigger='load' hx-on::load='{RUN}'>",
    f"<p hx-vals='js:{{a:{RUN}}}' hx-get='/' hx-trigger=load>",
    f"<x data-hx-on:click={RUN}>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script>{RUN}</script>",
    f"\u202e<script>{RUN}</script>",
    f"<scr\u200bipt>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f"--><script>{RUN}</script>",
    f"<!--<script>{RUN}</script>",
    f"<template><script>{RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<video><source onerror={RUN}>",
]
ONE_BY_ONE = count(PAYLOADS[::4], long=PAYLOADS)  # lists and charts show all of them in every run


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def test_a_one_time_link_comes_in_and_logging_out_leads_out(browser, servers, steel, tmp_path):
    server = servers.start(steel)
    with visit(browser, {**server, "url": server["once"]}, viewport=PHONE) as page:
        assert "code" not in page.url
        name = f"weal-{server['port']}"
        cookie = next(one for one in page.context.cookies() if one["name"] == name)
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.get_by_role("link", name="Log out").click()
        page.get_by_role("button", name="Log out this browser").click()
        page.get_by_text("Open the address that weal serve printed").wait_for()
        assert name not in [one["name"] for one in page.context.cookies()]
        page.goto(server["once"])  # from the history
        page.get_by_text("works only once").wait_for()


def named(text):
    """The payload as a campaign can be called; letters that names have not are left out."""
    return text.replace("/", "|").replace("..", ".")[:100]


def hostile(url):
    """Payloads as names of campaigns, columns, units, categories, ids, notes and people."""
    assert len(set(PAYLOADS)) == 40
    ids = "id <script>alert(1)</script>"
    for text in PAYLOADS[1:]:
        pool = pd.DataFrame({"id": ["a", "b", "c"], text: [1, 2, 4]})
        weal.open_campaign(named(text), url, pool=pool, id_column="id", by=text).close()
    table = {ids: PAYLOADS, "kind": [PAYLOADS[k % 20] for k in range(40)]}
    for n, text in enumerate(PAYLOADS):
        table[f"{text} [{text}]"] = [float((k * (n + 3)) % 7) for k in range(40)]
    target = f"hardness <svg onload={RUN}>"
    given = {"pool": pd.DataFrame({**table, target: [None] * 40}), "id_column": ids}
    name = named(PAYLOADS[0])
    with weal.open_campaign(name, url, **given, target=target, by=PAYLOADS[0]) as campaign:
        for n, text in enumerate(PAYLOADS[:20]):
            campaign.tell(text, float(n % 5), note=text, by=PAYLOADS[n + 20])
        for n, text in enumerate(PAYLOADS[20:38]):
            campaign.skip(text, note=text, by=PAYLOADS[n])
        campaign.ask(2, by=PAYLOADS[1])
    return name


def test_nothing_in_the_data_runs(servers, browser, url):
    """W5: everywhere that data is shown; W11: every page works with all other hosts cut off."""
    name = hostile(url)
    server = servers.start(url, worker="here")
    base, place = server["url"].split("/?")[0], f"/c/{quote(name, safe='')}"
    with (
        Visitor(server) as hands,
        visit(browser, server, who=PAYLOADS[1], viewport=DESKTOP) as page,
    ):
        pages = [f"{place}/{one}" for one in ("watch", "explore", "settings", "print", "effects")]
        for path in ("/", *pages, f"/c/{quote(named(PAYLOADS[3]), safe='')}x/bench"):
            page.goto(base + path)
            assert page.locator("h1").count() == 1
        page.goto(f"{base}{place}/watch")
        page.locator("[data-chart]").first.wait_for()
        page.goto(f"{base}{place}/explore")
        page.locator("table.list tbody tr").first.wait_for()
        for n, text in enumerate(ONE_BY_ONE):
            page.goto(f"{base}{place}/bench?id={quote(text, safe='')}")
            assert text in page.locator(".big-id").inner_text().replace("\u00a0", " ")
            page.goto(f"{base}{place}/row?id={quote(text, safe='')}")
            assert page.locator("h1").count() == 1
            page.goto(str(brought(hands, text, n).url))
            assert page.get_by_role("button", name="Create the campaign").is_visible()


def brought(hands, text, n):
    """The plan of a table of that name, with the payload in it."""
    lines = pd.DataFrame({text: [text, "b", "c"], "x": [1, 2, 4]}).to_csv(index=False)
    return shown(hands, upload(hands, f"{text}{n}.csv", lines.encode()))


def test_a_file_chosen_before_the_script_has_come_is_sent(servers, browser, url, tmp_path):
    """A slow line: the form is there, the script that sends it is not yet. Back is no trap."""
    table = tmp_path / "steel.csv"
    table.write_text("id,x,y\na,1,\nb,2,\nc,4,\n")
    with visit(browser, servers.start(url, worker=True), viewport=PHONE) as page:
        late = []
        page.route("**/weal.js*", lambda route: late.append(route), times=1)
        page.goto(page.url + "new", wait_until="commit")
        page.set_input_files("input[type=file]", table)
        page.wait_for_function("() => document.querySelector('input[type=file]').files.length")
        assert page.url.endswith("/new")
        late.pop().continue_()
        page.wait_for_url("**/new/plan**work=*")
        page.go_back()
        page.wait_for_function("() => document.readyState === 'complete'")
        page.wait_for_timeout(300)
        assert page.url.endswith("/new")


def test_a_number_typed_while_the_script_comes_is_whole(servers, browser, steel):
    """A slow line: whoever has begun to type goes on, and no digit is lost."""
    server = servers.start(steel)
    with weal.open_campaign("steel", steel, by="ann") as campaign:
        campaign.ask(2)
    with visit(browser, server, viewport=PHONE) as page:
        late = []
        page.route("**/weal.js*", lambda route: late.append(route), times=1)
        page.goto(server["url"].split("?")[0] + "c/steel/bench", wait_until="commit")
        page.locator("input.value").click()
        page.keyboard.type("1")
        late.pop().continue_()
        page.wait_for_load_state()
        page.keyboard.type("2.5")
        assert page.locator("input.value").input_value() == "12.5"


def test_the_keys_and_the_dialog_work_without_a_mouse(servers, browser, steel):
    """Keyboard only, on a phone: a comma, a question, a row skipped, one taken back."""
    server = servers.start(steel, worker="here")
    with weal.open_campaign("steel", steel, by="ann") as campaign:
        ids = campaign.ask(4)
        known = [one for one in ("A-30", "A-31", "A-32") if one not in ids]
        campaign.tell(known, [10.0, 11.0, 12.5][: len(known)])
    with visit(browser, server, viewport=PHONE) as page:
        page.goto(server["url"].split("?")[0] + "c/steel/bench")
        assert page.locator(".big-id").inner_text() == ids[0]
        page.keyboard.type("12,5")
        page.get_by_text("will be saved as").wait_for()
        assert "12.5" in page.locator("#as-saved").inner_text()
        page.reload()  # a draft survives
        assert page.locator("input.value").input_value() == "12,5"
        page.keyboard.press("Enter")
        page.locator(".big-id", has_text=ids[1]).wait_for()
        page.keyboard.type("125000")
        page.keyboard.press("Enter")
        page.locator("[data-question]").wait_for()  # far from the labels so far: asks once
        assert page.locator("input.value").input_value() == "125000"
        page.locator("input.value").fill("11.5")
        page.keyboard.press("Enter")
        page.locator(".big-id", has_text=ids[2]).wait_for()
        page.keyboard.press("u")
        page.locator(".big-id", has_text=ids[1]).wait_for()
        page.keyboard.type("11")
        page.keyboard.press("Enter")
        page.locator(".big-id", has_text=ids[2]).wait_for()
        page.keyboard.press("s")
        page.locator(".big-id", has_text=ids[3]).wait_for()
        page.keyboard.press("?")
        page.locator("#keys").wait_for()
        page.keyboard.press("Escape")
        page.locator("#keys").wait_for(state="hidden")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"]
    history = [
        (one.kind, one.id, one.body.get("y")) for one in open_store(steel).read("steel")[-5:]
    ]
    assert history == [
        ("told", ids[0], 12.5),
        ("told", ids[1], 11.5),
        ("withdrawn", ids[1], None),
        ("told", ids[1], 11.0),
        ("skipped", ids[2], None),
    ]
