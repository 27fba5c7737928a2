"""What to do next, on the pages: after a batch, after a file, with few rows left, at the goal."""

import pytest

import weal
from web.browser import DESKTOP, PHONE, chromium, visit
from web.conftest import begin
from web.test_request_sizes import shown, upload
from web.test_watch_explore import until
from web.visiting import Visitor, plain

ASK = {"n": "8", "check": "", "same": "", "few": "4", "few_column": "", "where": "", "rows": ""}


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def words(hands, path):
    return " ".join(plain(hands.get(path, follow_redirects=True).text).split())


def test_more_rows_than_there_are_offers_what_there_is(servers, url, tmp_path):
    begin(url, tmp_path, rows=5)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        campaign.ask(2)
    with Visitor(servers.start(url, worker="here")) as ann:
        sent = {**ann.form("/c/steel/bench", "/c/steel/ask"), **ASK, "n": "8", "check": "true"}
        answer = ann.post("/c/steel/ask", sent)
        text = " ".join(plain(answer.text).split())
        assert answer.status_code == 409
        assert "3 rows are left, and 8 were asked for. Ask for the 3 that are left" in text
        assert 'name="n" min="1" max="500" value="8"' in answer.text  # as it was sent
        assert 'name="n" value="3"' in answer.text
        part = ann.post("/c/steel/ask", sent, **{"HX-Request": "true"})
        assert "<html" not in part.text
        assert "Ask for the 3 that are left" in part.text
        shown(ann, ann.post("/c/steel/ask", {**sent, "n": "3"}))
        assert "You have 3 rows left to measure." in words(ann, "/c/steel/bench")
        for row in weal.open_campaign("steel", url).read_ledger().leases:
            ann.tell("steel", row, "5", ann.secret(), f"{row}-key")
        assert "See the result" in words(ann, "/c/steel/bench")
        assert "All 5 candidates have a label." in words(ann, "/c/steel/watch")


@pytest.mark.parametrize("by_htmx", [True, False])
def test_an_ask_that_fails_keeps_what_was_typed(servers, url, tmp_path, by_htmx):
    begin(url, tmp_path, rows=30)
    with Visitor(servers.start(url, worker="here")) as ann:
        sent = ann.form("/c/steel/bench", "/c/steel/ask") | ASK
        sent |= {"n": "4", "where": "temperature < 3 <b>", "few": "2", "few_column": "hours"}
        if by_htmx:  # the page stays as it is, and gets a notice
            answer = ann.post("/c/steel/ask", sent, **{"HX-Request": "true"})
            assert answer.headers["hx-retarget"] in ("#notice", "#work")
            assert "temperature" in answer.text
            return
        answer = shown(ann, ann.post("/c/steel/ask", sent))
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert 'value="temperature &lt; 3 &lt;b&gt;"' in answer.text
        assert '<option value="hours" selected>' in answer.text
        assert 'max="500" value="4"' in answer.text


def test_a_file_is_followed_by_the_next_step(servers, url, tmp_path):
    begin(url, tmp_path, rows=12)
    with Visitor(servers.start(url, worker="here")) as ann:
        sheet = upload(ann, "s.csv", b"sample,hardness\nA-1,3\nA-2,4\n", "/c/steel/sheet")
        page = shown(ann, sheet)
        assert "left to ask for" not in page.text  # nothing is saved yet
        form = ann.form(str(page.url), "/c/steel/keep")
        saved = plain(shown(ann, ann.post("/c/steel/keep", form)).text)
        assert "2 labels saved." in saved
        assert "10 rows are left to ask for." in saved
        assert "Ask for 8 more rows" in saved


def test_the_goal_is_said_to_be_reached_by_the_model_too(servers, url, tmp_path):
    begin(url, tmp_path, rows=60, until="error < 50")
    with weal.open_campaign("steel", url, by="ann") as campaign:
        campaign.tell([f"A-{k}" for k in range(20)], [float(k % 17) for k in range(20)])
    with Visitor(servers.start(url, worker="here")) as ann:
        assert "40 rows are left to ask for." in words(ann, "/c/steel/bench")
        until(ann, "/c/steel/watch", "The goal is reached at [0-9]+ labels")
        text = words(ann, "/c/steel/bench")
        assert "(error &lt; 50). 40 rows" in text or "(error < 50). 40 rows" in text
        with weal.open_campaign("steel", url, by="ann") as campaign:
            campaign.change(until="labels = 500")
        assert "goal is reached" not in words(ann, "/c/steel/bench")  # another condition


def test_an_empty_store_offers_a_sample(servers, browser, url):
    server = servers.start(url, worker="here")
    with Visitor(server) as ann:
        key = ann.form("/", "/sample")
        first, again = ann.post("/sample", key), ann.post("/sample", key)  # sent twice
        assert shown(ann, first).url.path == shown(ann, again).url.path == "/c/sample-alloys/bench"
        assert "No campaigns yet" not in ann.get("/").text
        assert ann.post("/sample", key).headers["location"] == "/c/sample-alloys/bench"
    with weal.open_campaign("sample-alloys", url) as campaign:
        assert (campaign.status().candidates, campaign.status().labels) == (300, 12)
    with Visitor(servers.start(f"{url}.other", read_only=True)) as reader:
        assert "sample campaign" not in reader.get("/").text
        assert reader.post("/sample", {"form": ""}).status_code == 403


def test_a_refused_form_stays_as_it_was_typed(servers, browser, url, tmp_path):
    """Settings, and a new campaign."""
    begin(url, tmp_path)
    server = servers.start(url, worker="here")
    base = server["url"].split("/?")[0]
    table = tmp_path / "more.csv"
    table.write_text("id,x,y\na,1,\nb,2,\nc,4,3.5\n")
    with visit(browser, server, viewport=DESKTOP) as page:
        page.goto(f"{base}/c/steel/settings")
        page.get_by_label("Goal").fill("maximise happiness")
        page.get_by_label("Stop when").fill("labels = 80")
        page.locator("form[action$=settings] button").click()
        page.locator("#notice .bad").wait_for()
        assert page.locator("#notice").is_visible()
        assert page.get_by_label("Goal").input_value() == "maximise happiness"
        assert page.get_by_label("Stop when").input_value() == "labels = 80"
        page.get_by_label("Goal").fill("maximise")
        page.locator("form[action$=settings] button").click()
        page.wait_for_url("**/settings?work=*")
        assert page.get_by_label("Stop when").input_value() == "labels = 80"
        page.goto(f"{base}/new")
        page.set_input_files("input[type=file]", table)
        page.wait_for_url("**/new/plan**work=*")
        page.get_by_label("Name of the campaign").fill("a/b")
        page.get_by_label("Stop when").fill("labels = 3")
        page.get_by_role("button", name="Create the campaign").click()
        page.locator("#notice .bad").wait_for()
        assert page.get_by_label("Name of the campaign").input_value() == "a/b"
        assert page.get_by_label("Stop when").input_value() == "labels = 3"
        page.get_by_label("Name of the campaign").fill("ab")
        page.get_by_role("button", name="Create the campaign").click()
        page.wait_for_url("**/c/ab/bench")


def test_a_refused_ask_and_a_refused_name_stay_as_they_were_typed(servers, browser, steel):
    server = servers.start(steel, worker="here")
    with visit(browser, server, viewport=PHONE) as page:
        page.goto(server["url"].split("/?")[0] + "/c/steel/bench")
        page.get_by_text("Limits of the batch").click()
        page.get_by_label("Only rows with").fill("kelvin > 3")
        page.get_by_label("Rows", exact=True).fill("4")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".note.bad").wait_for()
        assert page.get_by_label("Only rows with").input_value() == "kelvin > 3"
        page.get_by_label("Only rows with").fill("temp > 3")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("You have 4 rows left to measure.").wait_for()
        page.locator("details summary").first.click()
        page.get_by_label("Your name or initials").fill(" ")
        page.get_by_role("button", name="Change").click()
        page.locator("#notice .bad").wait_for()
        assert page.get_by_label("Your name or initials").input_value() == " "
