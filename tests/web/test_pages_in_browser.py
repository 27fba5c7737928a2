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


def history(url, since):
    """The events after that number: kind, row, label, reason."""
    found = open_store(url).read("steel", since)
    return [(e.kind, e.id, e.body.get("y"), e.body.get("note")) for e in found]


def selected(page):
    """What is selected in the field that has the focus."""
    return page.evaluate(
        "() => document.activeElement.value.slice("
        "document.activeElement.selectionStart, document.activeElement.selectionEnd)"
    )


def press_enter(page):
    """Press Enter, and wait for the question that is asked anew."""
    page.evaluate("() => document.querySelector('.card.focus').setAttribute('data-old', '')")
    page.keyboard.press("Enter")
    page.locator(".card.focus:not([data-old]) [data-question]").wait_for()


def type_numbers(page, ids):
    """A comma, a reload, letters in the field of the number, a typo."""
    field, row = page.locator("input.value"), page.locator(".big-id")
    assert row.inner_text() == ids[0]
    page.keyboard.type("12,5")
    page.get_by_text("will be saved as").wait_for()
    assert "12.5" in page.locator("#as-saved").inner_text()
    page.reload()  # a draft survives
    assert field.input_value() == "12,5"
    page.keyboard.press("Enter")
    row.get_by_text(ids[1], exact=True).wait_for()
    page.keyboard.type("missed, suffix jku")  # letters are letters
    assert field.input_value() == "missed, suffix jku"
    assert row.inner_text() == ids[1]
    assert not page.locator("details[open]").count()
    field.fill("125000")
    for _ in range(3):  # far from the labels so far: Enter alone never keeps it
        press_enter(page)
        assert page.evaluate("() => document.activeElement.matches('input.value')")
        assert selected(page) == "125000"
    page.keyboard.type("11.5")  # in the place of what is selected
    page.keyboard.press("Enter")
    row.get_by_text(ids[2], exact=True).wait_for()


def undo_two(page, ids):
    """A label undone and typed again; a row skipped; both undone."""
    row = page.locator(".big-id")
    page.get_by_role("button", name=f"Undo: {ids[1]} 11.5").wait_for()
    page.keyboard.press("Alt+u")  # the focus is in the field
    row.get_by_text(ids[1], exact=True).wait_for()
    page.keyboard.type("11")
    page.keyboard.press("Enter")
    row.get_by_text(ids[2], exact=True).wait_for()
    page.locator("input.value:focus").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.locator("button:focus", has_text="sample broken").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # no material
    row.get_by_text(ids[3], exact=True).wait_for()
    page.get_by_text(f"Last: {ids[2]} skipped: no material").wait_for()
    for said, then in ((f"{ids[2]} skipped", ids[2]), (f"{ids[1]} 11", ids[1])):
        page.get_by_role("button", name=f"Undo: {said}", exact=False).wait_for()
        page.locator("input.value:focus").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("u")
        row.get_by_text(then, exact=True).wait_for()
    page.get_by_text(f"Undone: {ids[1]} 11.").wait_for()
    assert page.locator("ul.rows a").all_inner_texts()[0].split()[0] == ids[1]


def fail_one(page, ids):
    """A run that failed, undone after a reload, and the list of keys."""
    row, focus = page.locator(".big-id"), page.locator(":focus")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    row.get_by_text(ids[2], exact=True).wait_for()
    page.locator("input.value:focus").wait_for()  # the new page is ready
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.get_by_label("Why it failed (optional)").and_(focus).wait_for()
    page.keyboard.type("too cold")
    page.keyboard.press("Enter")
    page.get_by_text(f"Last: {ids[2]} failed: too cold").wait_for()
    page.reload()  # what can be undone is in the store
    page.locator("input.value:focus").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.get_by_text(f"Undone: {ids[2]} failed.").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.locator("#keys").wait_for()
    page.keyboard.press("Escape")
    page.locator("#keys").wait_for(state="hidden")


def test_the_keys_and_the_dialog_work_without_a_mouse(servers, browser, steel):
    """Keyboard only, on a phone: a comma, a typo, a row skipped with a reason, all undone."""
    server = servers.start(steel, worker="here")
    with weal.open_campaign("steel", steel, by="ann") as campaign:
        ids = campaign.ask(4)
        known = [one for one in ("A-30", "A-31", "A-32") if one not in ids]
        campaign.tell(known, [10.0, 11.0, 12.5][: len(known)])
        begun = campaign.read_ledger().seq
    with visit(browser, server, viewport=PHONE) as page:
        page.goto(server["url"].split("?")[0] + "c/steel/bench")
        type_numbers(page, ids)
        undo_two(page, ids)
        fail_one(page, ids)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"]
    assert history(steel, begun) == [
        ("told", ids[0], 12.5, None),
        ("told", ids[1], 11.5, None),
        ("withdrawn", ids[1], None, "undone"),
        ("told", ids[1], 11.0, None),
        ("skipped", ids[2], None, "no material"),
        ("skipped", ids[2], None, "undone"),
        ("withdrawn", ids[1], None, "undone"),
        ("told", ids[2], 0.0, "too cold"),
        ("withdrawn", ids[2], None, "undone"),
    ]


def test_a_number_that_was_asked_about_is_kept_by_a_tap_on_yes(servers, browser, steel):
    """Yes is for the number that was asked about, and not for one that was typed since."""
    server = servers.start(steel)
    with weal.open_campaign("steel", steel, by="ann") as campaign:
        campaign.tell({f"A-{n}": 10.0 + n / 4 for n in range(30, 36)})
    with visit(browser, server, viewport=PHONE) as page:
        field = page.locator("input.value")
        page.goto(server["url"].split("?")[0] + "c/steel/bench?id=A-1")
        field.fill("5300")
        page.keyboard.press("Enter")
        page.locator("[data-question]", has_text="5300").wait_for()
        field.fill("6400")
        page.get_by_role("button", name="Yes, save 5300").click()
        page.locator("[data-question]", has_text="6400").wait_for()
        assert len(open_store(steel).read("steel")) == 8
        page.get_by_role("button", name="Yes, save 6400").click()
        page.get_by_text("Last saved: A-1 6400").wait_for()


def test_labels_are_changed_where_they_are_seen(servers, browser, steel):
    """Watch, Explore, the row's page and its history; two windows; a line that is lost."""
    server = servers.start(steel, worker="here")
    base = server["url"].split("/?")[0] + "/c/steel"
    with weal.open_campaign("steel", steel, by="bob") as campaign:
        table = {f"A-{k}": 10.0 + (k % 17 - 3.5) / 4 + (k % 5) / 8 for k in range(24)}
        with pytest.warns(UserWarning, match="A-9: 66 is far"):
            campaign.tell({**table, "A-9": 66.0})
        campaign.skip("A-30", note="lost")
        begun = campaign.read_ledger().seq
    with visit(browser, server, viewport=DESKTOP) as page:
        dialog = page.locator("#labels-dialog")
        in_watch(page, dialog, base)
        page.goto(f"{base}/explore")
        page.get_by_role("link", name="Change A-4", exact=True).click()
        dialog.get_by_role("button", name="It is right: confirm").click()
        dialog.get_by_text("confirmed").first.wait_for()
        with page.expect_navigation():  # a dialog that changed a label loads the page again
            page.keyboard.press("Escape")
        page.goto(f"{base}/row?id=A-30")
        page.get_by_role("button", name="Bring it back").click()
        page.get_by_role("button", name="Undo: A-30 brought back").wait_for()
        page.keyboard.press("u")
        page.locator("#labels").get_by_text("Could not be measured: lost").wait_for()
        two_windows(page, base)
        page.goto(f"{base}/row?id=A-6")
        page.locator(".lately").get_by_role("link", name="Change A-6").click()
        dialog.get_by_role("button", name="Second measurement: keep both").click()
        dialog.get_by_role("button", name=f"Undo: A-6 {table['A-6']:.7g}").wait_for()
    assert [(kind, id_, y) for kind, id_, y, _ in history(steel, begun)] == [
        ("corrected", "A-9", 11.5), ("withdrawn", "A-9", None), ("told", "A-9", 11.5),
        ("told", "A-4", table["A-4"]), ("skipped", "A-30", None), ("skipped", "A-30", None),
        ("corrected", "A-5", 10.25), ("told", "A-6", table["A-6"]),
    ]  # fmt: skip


def in_watch(page, dialog, base):
    """A label to check is corrected; in the recent events it is withdrawn, and that undone."""
    page.goto(f"{base}/watch")
    check = page.locator("section", has=page.get_by_role("heading", name="Labels to check"))
    check.get_by_role("link", name="Change A-9").first.click()
    dialog.get_by_text("66").first.wait_for()
    page.wait_for_function("() => document.activeElement.matches('#labels-dialog input.value')")
    page.keyboard.type("660")  # the old number is selected
    page.keyboard.press("Enter")
    dialog.locator("[data-question]").wait_for()
    assert selected(page) == "660"
    page.keyboard.type("11.5")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Undo: A-9 corrected to 11.5").wait_for()
    dialog.get_by_role("button", name="Close").click()
    page.locator("li", has_text="A-9 corrected to 11.5").get_by_role(
        "link", name="Change A-9"
    ).click()
    page.context.set_offline(True)
    dialog.get_by_role("button", name="Withdraw").click()
    page.locator("#lost:not([hidden])").wait_for(state="attached")
    page.context.set_offline(False)  # the same button is sent again, and nothing else
    dialog.get_by_role("button", name="Undo: A-9 withdrawn").click()
    dialog.get_by_text("Undone: A-9 withdrawn.").wait_for()


def two_windows(page, base):
    """The second window says that the label has changed, shows it, and writes nothing."""
    other = page.context.new_page()
    for one in (page, other):
        one.goto(f"{base}/row?id=A-5")
        one.locator("summary", has_text="Change").click()
    page.get_by_label("New value").fill("10.25")
    page.get_by_role("button", name="Correct").click()
    page.get_by_role("button", name="Undo: A-5 corrected to 10.25").wait_for()
    other.get_by_label("New value").fill("11")
    other.get_by_role("button", name="Correct").click()
    other.get_by_text("A-5 has changed since: corrected to 10.25 (you).").wait_for()
    assert other.get_by_label("New value").input_value() == "11"
    assert other.locator("#labels .big-id").inner_text() == "10.25"
    other.close()


def test_from_an_empty_store_to_the_goal_on_a_phone(servers, browser, url):
    """The sample in one tap, a batch, labels, the goal; the next step of each."""
    server = servers.start(url, worker="here")
    base = server["url"].split("/?")[0]
    touch = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with visit(browser, server, **touch) as page:
        page.get_by_role("button", name="Try the sample campaign").tap()
        page.wait_for_url("**/c/sample-alloys/bench")
        page.get_by_text("288 rows are left to ask for.").wait_for()
        page.get_by_role("button", name="Ask for 8 more rows").tap()
        page.get_by_text("You have 8 rows left to measure.").wait_for()
        page.locator(".row-head .key-cells dt").first.wait_for()
        assert page.locator(".row-head .key-cells dt").count() == 2
        page.goto(f"{base}/c/sample-alloys/settings")
        page.get_by_label("Stop when").fill("labels = 14")
        page.locator("form[action$=settings] button.primary").tap()
        page.wait_for_url("**/settings?work=*")
        page.goto(f"{base}/c/sample-alloys/bench")
        for n in (7, 6):
            page.locator("input.value").fill(f"4{n}0")
            page.locator("input.value").press("Enter")
            page.get_by_text(f"You have {n} rows left to measure.").wait_for()
        page.get_by_text("The goal is reached at 14 labels (labels = 14).").wait_for()
        page.goto(f"{base}/c/sample-alloys/watch")
        page.get_by_role("link", name="Label the next row").tap()
        page.wait_for_url("**/bench")
        page.goto(f"{base}/c/sample-alloys/print")
        assert page.locator(".sheet-id").count() == 6
        assert page.locator(".write").count() >= 12
