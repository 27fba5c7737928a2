"""Titles, archives and copies on the pages; who may do what; and help on every page."""

import re

import pytest

import weal
from weal.store.protocol import open_store
from weal.web.help_topics import TOPICS, WORDS
from web.conftest import begin
from web.test_request_sizes import shown
from web.test_tokens import Person, token
from web.visiting import Visitor, plain

HOSTILE = "<script>alert(1)</script> & \N{ARABIC LETTER ALEF}"


OF_EVERY_PAGE = {"Change", "Save", "Continue"}  # buttons that say what they do
WRONG_TOKENS = (
    {"name": ""}, {"may": []}, {"scope": "only"}, {"expires": "soon"}, {"name": "x" * 10_000},
    {"may": "all"}, {"name": "a\N{RIGHT-TO-LEFT OVERRIDE}"},
)  # fmt: skip


@pytest.fixture
def ann(servers, steel):
    with Visitor(servers.start(steel, worker="here")) as visitor:
        yield visitor


def settings_of(ann, **more):
    return ann.form("/c/steel/settings", "/c/steel/settings") | {"warp": "auto"} | more


def test_a_title_is_typed_shown_and_taken_back(ann):
    page = shown(ann, ann.post("/c/steel/settings", settings_of(ann, title=f" {HOSTILE}\n")))
    assert HOSTILE in plain(page.text)
    for address in ("/", "/c/steel/bench", "/c/steel/watch", "/c/steel/explore", "/c/steel/print"):
        text = ann.get(address).text
        assert HOSTILE in plain(text), address
        assert "<script>alert" not in text
    assert "steel" in plain(ann.get("/").text)
    for title, words in (("x" * 10_000, "at most 200 characters"), ("a\x1bb", "control")):
        answer = ann.post("/c/steel/settings", settings_of(ann, title=title))
        assert answer.status_code == 422
        assert words in plain(answer.text)
    page = shown(ann, ann.post("/c/steel/settings", settings_of(ann, title="  ")))
    assert "<h1><bdi>steel</bdi></h1>" in page.text


def test_an_archived_campaign_is_listed_apart_and_takes_labels(ann, steel):
    form = ann.form("/c/steel/settings", "/c/steel/archive")
    ann.post("/c/steel/archive", form)
    listed = ann.get("/").text
    assert listed.index('class="card archived"') < listed.index("/c/steel/watch")
    assert "No campaigns yet" not in plain(listed)
    bench = plain(ann.get("/c/steel/bench").text)
    assert "This campaign is archived" in bench
    refused = shown(
        ann, ann.post("/c/steel/ask", {"form": form["form"], "n": "1", "key": "0" * 32})
    )
    assert refused.status_code == 409
    assert "This campaign is archived" in plain(refused.text)
    assert "Open again" in plain(refused.text)
    assert ann.tell("steel", "A-3", "7.5", form["form"], "k").status_code in (200, 303)
    assert [event.kind for event in open_store(steel).read("steel")][-1] == "told"
    ann.post("/c/steel/archive", ann.form("/", "/c/steel/archive"))
    assert "archived" not in plain(ann.get("/c/steel/bench").text)


def test_a_campaign_is_copied_once_with_and_without_labels(ann, steel):
    with weal.open_campaign("steel", steel) as campaign:
        campaign.tell("A-1", 7.5)
    form = ann.form("/c/steel/settings", "/c/steel/copy")
    assert form["new"] == "steel-2"
    for _ in range(2):
        page = shown(ann, ann.post("/c/steel/copy", form))
        assert page.url.path == "/c/steel-2/bench"
    fresh = ann.form("/c/steel/settings", "/c/steel/copy") | {"new": " fresh "}
    fresh.pop("labels")
    assert shown(ann, ann.post("/c/steel/copy", fresh)).url.path == "/c/fresh/bench"
    numbers = {}
    for name in ("steel", "steel-2", "fresh"):
        with weal.open_campaign(name, steel) as campaign:
            numbers[name] = campaign.read_ledger().n_labels
    assert numbers == {"steel": 1, "steel-2": 1, "fresh": 0}
    assert "A copy of <bdi>steel</bdi> after its event" in ann.get("/c/fresh/settings").text
    taken = ann.form("/c/steel/settings", "/c/steel/copy") | {"new": "fresh"}
    refused = shown(ann, ann.post("/c/steel/copy", taken))
    assert "choose another name" in plain(refused.text)
    odd = ann.form("/c/steel/settings", "/c/steel/copy") | {"new": "../x"}
    assert ann.post("/c/steel/copy", odd).status_code == 422


def test_tokens_are_made_limited_and_revoked_and_shown_once(servers, steel, tmp_path):
    begin(steel, tmp_path, "other")
    server = servers.start(steel)
    with Visitor(server) as ann:
        form = ann.form("/tokens", "/tokens")["form"]
        given = {"form": form, "name": "robot <1>", "may": ["read", "ask", "tell"]}
        given |= {"scope": "only", "campaign": ["steel"], "expires": "30d"}
        made = ann.post("/tokens", given)
        secret = re.search(r'class="secret">(weal_[\w-]+)<', made.text)[1]
        assert made.headers["cache-control"] == "no-store"
        assert secret not in ann.get("/tokens").text
        page = ann.get("/tokens").text
        assert "robot <1>" in plain(page)
        assert "<1>" not in page
        again = ann.post("/tokens", {"form": form, "name": "ROBOT <1>", "may": "read"})
        assert again.status_code == 422
        assert "there is a token" in plain(again.text)
        for wrong in WRONG_TOKENS:
            given = {"form": form, "name": "bo", "may": "read", "scope": "all", **wrong}
            assert ann.post("/tokens", given).status_code == 422, wrong
        unknown = {"form": form, "name": "bo", "may": "read", "scope": "only", "campaign": "nobody"}
        assert ann.post("/tokens", unknown).status_code == 404
        with Person(server, secret, by_form=True) as robot:
            assert robot.get("/c/steel/bench").status_code == 200
            assert robot.get("/c/other/bench").status_code == 404
            assert robot.get("/tokens").status_code == 403
            more = {"form": form, "name": "robot <1>", "may": ["read", "manage"]}
            assert "cannot extend a token" in plain(ann.post("/tokens/limit", more).text)
            less = {"form": form, "name": "robot <1>", "may": ["read"], "expires": "1h"}
            assert ann.post("/tokens/limit", less).status_code == 303
            [kept] = open_store(steel).tokens()
            assert kept.may == {"read"}
            assert kept.campaigns == {"steel"}
            assert robot.get("/c/steel/bench").status_code == 200
            ann.post("/tokens/revoke", {"form": form, "name": "robot <1>"})
            assert robot.get("/c/steel/bench").status_code == 401
        assert "revoked" in plain(ann.get("/tokens").text)


def test_only_who_manages_all_campaigns_makes_tokens_and_none_that_outlive_theirs(servers, steel):
    ends = token(steel, "ends", "manage", seconds=3600.0)
    some = token(steel, "some", "manage", ["steel"])
    reads = token(steel, "reads", "read")
    server = servers.start(steel)
    for secret in (some, reads):
        with Person(server, secret, by_form=True) as other:
            assert other.get("/tokens").status_code == 403
            given = {"name": "bo", "may": "manage", "scope": "all"}
            assert other.post("/tokens", **given).status_code == 403
            assert other.post("/tokens/revoke", name="ends").status_code == 403
    with Person(server, ends, by_form=True) as boss:
        late = {"name": "bo", "may": "manage", "scope": "all", "expires": "2d"}
        assert "your own token ends" in plain(boss.post("/tokens", **late).text)
        boss.post("/tokens", **{**late, "expires": ""})
    tokens = {one.name: one for one in open_store(steel).tokens()}
    assert tokens["bo"].expires <= tokens["ends"].expires
    assert len(tokens) == 4


def test_every_page_has_help_of_its_own(ann):
    addresses = {
        "/": "campaigns", "/new": "new", "/tokens": "tokens", "/work": "jobs", "/logout": "session",
        "/c/steel/bench": "label", "/c/steel/print": "label", "/c/steel/watch": "watch",
        "/c/steel/explore": "explore", "/c/steel/row?id=A-1": "row", "/c/steel/effects": "effects",
        "/c/steel/settings": "settings",
    }  # fmt: skip
    for address, topic in addresses.items():
        assert f'href="/help/{topic}"' in ann.get(address).text, address
    for name, topic in TOPICS.items():
        page = ann.get(f"/help/{name}")
        assert page.status_code == 200
        text = plain(page.text)
        assert all(what in text for _, what in topic.actions)
        assert all(WORDS[word] in text for word in topic.words)
        assert "http" not in page.text.replace("http-equiv", "")
    overview = plain(ann.get("/help").text)
    assert all(word in overview for word in WORDS)
    assert ann.get("/help/nothing").status_code == 404


def test_help_names_the_buttons_of_its_page(ann):
    pages = {"/": "campaigns", "/tokens": "tokens", "/c/steel/settings": "settings", "/new": "new"}
    for address, name in pages.items():
        text = ann.get(address).text
        found = {plain(one).strip() for one in re.findall(r"<button[^>]*>(.*?)</button>", text)}
        said = " ".join(entry for entry, _ in TOPICS[name].actions)
        unknown = {one for one in found - OF_EVERY_PAGE if one not in said}
        assert not unknown, name
