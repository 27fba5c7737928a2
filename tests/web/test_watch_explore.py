"""Pages that look: Watch, Explore, a row's own, effects; against a real server with its worker."""

import re
import time

import pytest

import weal
from campaign.whole_experiment import PURITY, YIELD, ids, measured, teach
from weal.errors import AlreadyLabelled, Conflict, UnknownId
from web.conftest import begin
from web.visiting import PATIENCE, Visitor, plain

ODD = [
    "sort=c9999", "sort=n;DROP", "after=[1,2]", "after=%00", "least-c0=nan", "most-mean=1e999",
    "least-c99=1", "only=x", "down=perhaps", "is-c0=%27",
]  # fmt: skip


@pytest.fixture
def labelled(url, tmp_path):
    """A campaign with a model."""
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        for k in range(14):
            campaign.tell(f"A-{k}", (k % 17 - 3.5) ** 2 + k % 5)
    return url


@pytest.fixture
def eve(servers, labelled):
    with Visitor(servers.start(labelled, worker="here")) as visitor:
        yield visitor


def until(visitor, path, words):
    """The page once these words are on it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        text = visitor.get(path, follow_redirects=True).text
        if re.search(words, text):
            return text
        time.sleep(0.2)
    raise AssertionError(f"{words!r} did not come up on {path}: {text[-2000:]}")


def test_watch_says_at_once_that_it_looks_and_then_what_it_found(eve):
    first = eve.get("/c/steel/watch")
    assert first.status_code == 200
    until(eve, "/c/steel/watch", "data-chart")
    text = until(eve, "/c/steel/watch", "mean only")
    assert "Important inputs" in text
    text = until(eve, "/c/steel/watch", "Predicted against measured")
    assert 'href="/c/steel/row?id=A-3"' in text
    assert "bob" in text


@pytest.mark.filterwarnings("ignore:A-20. .* is far from the labels so far")
def test_a_label_that_looks_wrong_is_pointed_out(servers, url, tmp_path):
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        for k in range(30):
            right = 100.0 + (k % 17 - 3.5) ** 2 + k % 5
            campaign.tell(f"A-{k}", right * (10.0 if k == 20 else 1.0))
        assert [one.id for one in campaign.suspects()] == ["A-20"]
    with Visitor(servers.start(url, worker="here")) as eve:
        text = plain(until(eve, "/c/steel/watch", "Labels to check"))
    assert re.search(r"A-20\s+:\s+[\d.]+, but the other labels predict", text)
    assert "10 times too large?" in text


def test_labels_that_contradict_the_others_are_pointed_out(servers, url, tmp_path):
    begin(url, tmp_path, rows=60)
    with weal.open_campaign("steel", url, by="bob") as campaign:
        for k in range(40):
            right = 100.0 + (k % 17 - 3.5) ** 2 + k % 5
            campaign.tell(f"A-{k}", 111.25 if 20 <= k < 27 else right)
    with Visitor(servers.start(url, worker="here")) as eve:
        text = until(eve, "/c/steel/watch", "Labels to check")
    assert re.search(r"7 labels in a row are 111.25, which the others contradict", plain(text))
    assert re.search(
        r"error of the other labels [\d.]+ with them, [\d.]+ without them", plain(text)
    )
    part = text[text.index("Labels to check") :]
    assert 'href="/c/steel/row?id=A-23"' in part[: part.index("</section>")]


def test_explore_sorts_filters_and_pages(eve):
    until(eve, "/c/steel/explore", "60 rows")
    down = eve.get("/c/steel/explore", params={"sort": "c0", "down": "true", "only": "open"}).text
    assert "46 rows" in down
    shown = [
        float(one) for one in re.findall(r'<td class="number"><bdi>([-\d.]+)</bdi></td><td', down)
    ]
    assert shown == sorted(shown, reverse=True)
    page = eve.get("/c/steel/explore").text
    (more,) = re.findall(r'href="([^"]+)" rel="next"', page)
    rest = eve.get(more.replace("&amp;", "&")).text
    assert len(re.findall(r"row\?id=A-", rest)) == 10
    assert "No row matches" in eve.get("/c/steel/explore", params={"q": "nothing like this"}).text
    few = eve.get("/c/steel/explore", params={"least-c0": "3,5", "most-c0": "5", "is-c1": "2"})
    assert few.status_code == 200


def test_what_nobody_would_wish_is_no_mistake_of_ours(eve):
    until(eve, "/c/steel/explore", "60 rows")
    for query in ODD:
        assert eve.get(f"/c/steel/explore?{query}").status_code in (200, 422), query


def test_a_row_has_a_page_with_its_story_and_can_be_asked_for(eve, labelled):
    until(eve, "/c/steel/explore", "60 rows")
    assert eve.get("/c/steel/row", params={"id": "nobody"}).status_code == 404
    measured = eve.get("/c/steel/row", params={"id": "A-3"}).text
    assert "measured 3" in measured
    assert "Measure this row" not in measured
    near = until(eve, "/c/steel/row/near?id=A-30", "this row")
    assert "A-13" in near
    form = eve.form("/c/steel/row?id=A-30", "/c/steel/row/ask")
    asked = eve.post("/c/steel/row/ask", form)
    assert asked.status_code == 303, asked.text
    until(eve, "/c/steel/row?id=A-30", "Reserved for")
    with weal.open_campaign("steel", labelled) as campaign:
        (asked,) = campaign.asked()
        assert (asked.id, asked.who) == ("A-30", "ann")
        assert asked.why.startswith("Requested by id. ")


def test_effects_and_maps_come_when_they_are_found(eve):
    assert "Effects of inputs" in eve.get("/c/steel/effects").text
    assert "polyline" in until(eve, "/c/steel/effects/picture?x=temp", "<svg")
    map_ = until(eve, "/c/steel/effects/picture?x=temp&y=hours", "circles are measured rows")
    assert map_.count('class="mark"') == 14
    assert eve.get("/c/steel/effects/picture?x=nothing").status_code in (200, 422)
    for query in ("x=temp", "x=temp&y=hours"):
        assert eve.get(f"/c/steel/picture/effect.svg?{query}").content.startswith(b"<?xml")
        assert eve.get(f"/c/steel/picture/effect.png?{query}").content.startswith(b"\x89PNG")
    table = eve.get("/c/steel/picture/effect.csv?x=temp&y=hours").text.splitlines()
    assert table[0] == "temp,hours,predicted"
    assert len(table) == 1 + 21 * 5  # temperatures and hours
    for bad in ("effect.svg?x=nothing", "effect.exe?x=temp", "effect.svg"):
        assert eve.get(f"/c/steel/picture/{bad}").status_code == 404


def test_rows_that_cannot_be_asked_for_are_refused_and_none_is_taken(labelled):
    with weal.open_campaign("steel", labelled, by="ann") as campaign:
        assert campaign.ask_for(["A-20", "A-21"]) == ["A-20", "A-21"]
        campaign.skip("A-25")
        for ids, error in (
            (["A-40", "A-3"], AlreadyLabelled),
            (["A-40", "A-20"], Conflict),
            (["A-40", "A-25"], ValueError),
            (["A-40", "nobody"], UnknownId),
        ):
            with pytest.raises(error):
                campaign.ask_for(ids)
        assert set(campaign.read_ledger().leases) == {"A-20", "A-21"}
        before = campaign.read_learner().state.log_omega.tolist()
    with weal.open_campaign("steel", labelled) as again:
        assert again.read_learner().state.log_omega.tolist() == before
        assert again.ask() not in ("A-20", "A-21", "A-25")


def test_a_goal_typed_on_the_settings_page_is_what_the_watch_page_speaks_of(eve, labelled):
    fields = {**eve.form("/c/steel/settings", "/c/steel/settings"), "who": "eve"}
    assert (fields["goal"], fields["until"]) == ("learn", "")
    wrong = eve.post("/c/steel/settings", {**fields, "goal": "above"})
    assert wrong.status_code == 422 or "without a level" in wrong.text
    given = {**fields, "goal": "above 20,5", "until": "labels = 40"}  # a decimal comma is read here
    assert eve.post("/c/steel/settings", given).status_code in (200, 303)
    text = until(eve, "/c/steel/watch", "Goal: above 20.5")
    assert "wrong side" in text
    assert "until labels = 40: 26 to come" in text
    assert "expected F1 of the rows above 20.5" in text
    assert "expected F1 of the rows above 20.5" in plain(eve.get("/").text)
    with weal.open_campaign("steel", labelled) as campaign:
        assert campaign.read_ledger().settings["goal"] == "above 20.5"


def test_a_goal_over_two_results_is_set_and_watched_on_the_page(eve, labelled):
    with measured(YIELD, PURITY, store=labelled) as campaign:
        teach(campaign, ids(0, 24))
    fields = {**eve.form("/c/runs/settings", "/c/runs/settings"), "who": "eve"}
    wrong = eve.post("/c/runs/settings", {**fields, "goal": "maximise yeild"})
    assert "did you mean yield?" in plain(wrong.text)
    both = "maximise yield and maximise purity subject to purity >= 90,5"
    assert eve.post("/c/runs/settings", {**fields, "goal": both}).status_code in (200, 303)
    until(eve, "/c/runs/settings", r"subject to purity (&gt;|>)= 90\.5")
    text = until(eve, "/c/runs/watch", "Goal: maximise yield and maximise purity")
    assert "purity >= 90.5" in plain(text)
    assert "Pareto rows" in text
    assert "hypervolume of the measured rows" in text
