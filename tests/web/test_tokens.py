"""Tokens with a name: logging in, permissions, campaigns of their own, and what ends them."""

import json
import re
import threading
from dataclasses import replace

import httpx
import pytest

from weal.store.actors import parse_permissions
from weal.store.protocol import open_store
from weal.store.tokens import decide_add, decide_revoke, digest_of, new_secret
from web.conftest import begin
from web.visiting import PATIENCE, Visitor, client_of, plain, token_of

POSTS = {  # what each form needs
    "tell": ("tell", {"id": "A-1", "value": "3", "key": "k1"}),
    "results": ("tell", {"id": "A-1", "key": "k2"}),
    "failed": ("tell", {"id": "A-1", "key": "k3"}),
    "row/label": ("tell", {"id": "A-1", "event": "2", "seen": "2", "key": "k4", "what": "confirm"}),
    "row/unskip": ("skip", {"id": "A-1", "seen": "2", "key": "k5"}),
    "sheet": ("tell", {}),
    "keep": ("tell", {"file": "0" * 32}),
    "skip": ("skip", {"id": "A-1"}),
    "unskip": ("skip", {"id": "A-1"}),
    "ask": ("ask", {"n": "1"}),
    "row/ask": ("ask", {"id": "A-1"}),
    "settings": ("manage", {"acquisition": "auto", "lease": "3d"}),
    "archive": ("manage", {"on": "true"}),
    "copy": ("manage", {"new": "other"}),
    "add": ("manage", {}),
    "add/table": ("manage", {"file": "0" * 32}),
}
SEEN = ("", "watch", "bench", "explore", "settings", "row?id=A-1", "row/labels?id=A-1",
        "cells?id=A-1", "print",
        "export?what=labels&ending=csv", "worksheet?ending=csv", "effects", "standing", "news",
        f"file?key={'0' * 32}", "typed?id=A-1&value=3")  # fmt: skip


def token(url, name, may, campaigns=None, seconds=None):
    secret, store = new_secret(), open_store(url)
    only = None if campaigns is None else frozenset(campaigns)
    decide = decide_add(name, digest_of(secret), parse_permissions(may), only, seconds)
    store.write_tokens(decide)
    store.close()
    return secret


def revoke(url, name):
    store = open_store(url)
    store.write_tokens(decide_revoke(name))
    store.close()


def expire(url):
    """End all tokens now, by the clock of the store."""
    store = open_store(url)
    store.write_tokens(lambda tokens, now: [replace(one, expires=now) for one in tokens])
    store.close()


def events(name, url):
    store = open_store(url)
    found = store.read(name)
    store.close()
    return found


class Person:
    """Somebody with a token of their own, in a browser or a program."""

    def __init__(self, server, secret, by_form=True):
        self.client = client_of(server)
        self.base, self.secret = str(self.client.base_url), secret
        if by_form:
            self.answer = self.log_in(secret)
        else:
            self.client.headers["Authorization"] = f"Bearer {secret}"

    def log_in(self, secret, **more):
        headers = {"Origin": self.base, **more.pop("headers", {})}
        data = {"token": secret, "back": "/", **more}
        return self.client.post("/login", data=data, headers=headers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def get(self, path, **more):
        return self.client.get(path, **more)

    def post(self, path, **data):
        form = re.search(r'name="form" value="([0-9a-f]+)"', self.get("/logout").text)[1]
        return self.client.post(path, data={"form": form, **data}, headers={"Origin": self.base})


@pytest.fixture
def two(url, tmp_path):
    """A store with the campaigns steel and secret-alloy."""
    begin(url, tmp_path)
    begin(url, tmp_path, name="secret-alloy")
    return url


def test_a_person_logs_in_with_a_token_and_writes_under_its_name(servers, steel):
    secret = token(steel, "zoë", "measure")
    with Person(servers.start(steel), secret) as zoe:
        assert zoe.answer.status_code == 303
        assert zoe.answer.headers["location"] == "/"
        assert secret not in zoe.answer.headers["set-cookie"]
        page = zoe.get("/c/steel/bench").text
        assert "zoë" in page
        assert "Your name or initials" not in page
        zoe.client.cookies.set("weal-who", "eve")  # a note, where nobody logs in
        assert zoe.post("/c/steel/tell", id="A-1", value="3", key="k").status_code == 303
    assert events("steel", steel)[-1].who == "zoë"


def test_a_program_sends_its_token_and_writes_under_its_name(servers, steel):
    secret = token(steel, "robot-1", "ask,tell,read")
    with Person(servers.start(steel), secret, by_form=False) as robot:
        data = {"key": "k", "id": "A-1", "value": "3"}
        answer = robot.client.post("/c/steel/tell", data=data, headers={"Cookie": "weal-who=eve"})
        assert answer.status_code == 303
    assert events("steel", steel)[-1].who == "robot-1"


@pytest.mark.parametrize("may", ["read", "ask,read", "tell,read", "skip,read", "measure", "manage"])
def test_what_a_person_may_not_do_is_refused_and_not_offered(servers, steel, may):
    before, allowed = events("steel", steel), parse_permissions(may)
    with Person(servers.start(steel), token(steel, "bo", may)) as bo:
        for path, (needed, data) in POSTS.items():
            status = bo.post(f"/c/steel/{path}", **data).status_code if needed not in allowed else 0
            assert status in (0, 403), path
        if "manage" not in allowed:
            assert (
                bo.client.post(
                    "/new", files={"table": ("x.csv", b"a,b\n1,2\n")}, headers={"Origin": bo.base}
                ).status_code
                == 403
            )
        assert events("steel", steel) == before
        pages = [
            bo.get(f"/c/steel/{one}").text for one in ("bench?id=A-1", "settings", "row?id=A-2")
        ]
        offered = set(
            re.findall(r'(?:action|formaction|hx-post)="/c/steel/([\w/]+)"', " ".join(pages))
        )
        for path in offered & POSTS.keys():
            if path != "settings":  # shown without its button
                assert POSTS[path][0] in allowed, path
        assert ("New campaign" in bo.get("/").text) == ("manage" in allowed)


def test_campaigns_outside_a_token_do_not_exist(servers, two):
    server, secret = servers.start(two), token(two, "bo", "manage", ["steel"])
    for by_form in (True, False):
        with Person(server, secret, by_form) as bo:
            listed = bo.get("/").text
            assert "steel" in listed
            assert "secret" not in listed
            for path in SEEN:
                hidden, absent = (bo.get(f"/c/{one}/{path}") for one in ("secret-alloy", "absent"))
                assert hidden.status_code == absent.status_code == 404, path
                words = [plain(one.text).replace(name, "X") for one, name in
                         ((hidden, "secret-alloy"), (absent, "absent"))]  # fmt: skip
                assert re.sub(r"\w{64}", "", words[0]) == re.sub(r"\w{64}", "", words[1])
                assert "secret" not in absent.text
            for path, (_, data) in POSTS.items():
                form = {"key": "k", **data}
                answer = bo.client.post(
                    f"/c/secret-alloy/{path}", data=form, headers={"Origin": bo.base}
                )
                assert answer.status_code in (403, 404, 422), path
            assert bo.get("/c/steel/watch").status_code == 200
            assert "secret" not in bo.get("/work").text
    assert len(events("secret-alloy", two)) == 2


def test_a_token_for_a_campaign_that_was_not_made_yet_leaks_no_names(servers, two):
    secret = token(two, "bo", "manage", ["new-one"])
    with Person(servers.start(two), secret, by_form=False) as bo:
        answer = bo.get("/c/new-one/watch")
        assert answer.status_code == 404
        assert "secret" not in answer.text
        assert "weal.db" not in answer.text


def test_jobs_of_other_campaigns_do_not_exist(servers, two):
    server = servers.start(two)  # its worker never ends a job
    secret = token(two, "bo", "manage", ["steel"])
    with Visitor(server) as ann, Person(server, secret) as bo:
        form = {"form": ann.secret(), "n": "2", "key": "ab" * 16}
        moved = ann.post("/c/secret-alloy/ask", form).headers["location"]
        job = re.search(r"/work/([0-9a-f]+)", moved)[1]
        assert "Jobs <span" in ann.get("/").text
        assert "Jobs <span" not in bo.get("/").text
        assert job not in bo.get("/work").text
        assert bo.get(f"/work/{job}?then=/c/steel/bench").status_code == 404
        assert bo.post(f"/work/{job}/cancel").status_code == 404
        assert ann.get(f"/work/{job}?then=/c/steel/bench").status_code == 200


def test_a_token_with_campaigns_creates_none(servers, two):
    with Person(servers.start(two), token(two, "bo", "manage", ["steel"])) as bo:
        assert "New campaign" not in bo.get("/").text
        form = re.search(r'name="form" value="([0-9a-f]+)"', bo.get("/logout").text)[1]
        answer = bo.client.post(
            "/new", data={"form": form}, files={"table": ("x.csv", b"a,b\n1,2\n")},
            headers={"Origin": bo.base},
        )  # fmt: skip
        assert answer.status_code == 403
        assert "weal token add" in answer.text


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_token_that_ends_is_refused_at_once_on_every_server(servers, steel, how):
    """Also its sessions, and a stream that is open."""
    one, other = servers.start(steel), servers.start(steel)
    secret = token(steel, "bo", "measure", seconds=3600.0)
    began, ended = threading.Event(), threading.Event()

    def listen():
        with httpx.Client(base_url=f"http://127.0.0.1:{one['port']}", timeout=PATIENCE) as client:
            headers = {"Authorization": f"Bearer {secret}"}
            with client.stream("GET", "/c/steel/news", headers=headers) as stream:
                for _ in stream.iter_text():
                    began.set()
        ended.set()

    with Person(one, secret) as browser, Person(other, secret, by_form=False) as robot:
        assert browser.get("/").status_code == robot.get("/").status_code == 200
        stream = threading.Thread(target=listen)
        stream.start()
        assert began.wait(PATIENCE)
        if how == "revoked":
            revoke(steel, "bo")
        else:
            expire(steel)
        assert browser.get("/").status_code == robot.get("/").status_code == 401
        stream.join(PATIENCE)
        assert ended.is_set()
        assert browser.log_in(secret).status_code == 401


def test_a_name_that_is_used_again_is_another_token(servers, steel):
    server, old = servers.start(steel), token(steel, "bo", "manage")
    with Person(server, old) as bo:
        revoke(steel, "bo")
        new = token(steel, "bo", "read")
        assert bo.get("/").status_code == 401
        assert bo.log_in(new).status_code == 303
        assert "New campaign" not in bo.get("/").text


def test_a_token_with_a_name_is_not_taken_from_an_address(servers, steel):
    """Proxies log addresses, and a link of another person would log in under their name."""
    secret = token(steel, "eve", "manage")
    server = servers.start(steel)
    with client_of(server) as client:
        answer = client.get("/", params={"token": secret})
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert secret not in answer.text
    with Visitor(server) as ann:
        assert "eve" not in ann.get("/", params={"token": secret}).text
        assert "location" in ann.get("/", params={"token": secret}).headers


def test_the_form_is_taken_from_this_server_alone(servers, steel):
    """Another site cannot log a browser in as somebody else."""
    secret = token(steel, "eve", "manage")
    with Person(servers.start(steel), secret, by_form=False) as anybody:
        del anybody.client.headers["Authorization"]
        for origin in ("https://evil.example", "null", anybody.base + ".evil.example"):
            assert anybody.log_in(secret, headers={"Origin": origin}).status_code == 403
        data = {"token": secret}
        assert anybody.client.post("/login", data=data).status_code == 403
        headers = {"Origin": anybody.base, "Content-Type": "text/plain"}
        text = f"token={secret}"
        assert anybody.client.post("/login", content=text, headers=headers).status_code == 403
        assert anybody.client.cookies == {}


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "/\r\nX: y", "\x00"]
)
def test_a_login_leads_to_no_other_host(servers, steel, back):
    with Person(servers.start(steel), token(steel, "bo", "read")) as bo:
        answer = bo.log_in(bo.secret, back=back)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/"


def test_a_page_without_a_login_shows_the_form_and_leads_back(servers, steel):
    server, secret = servers.start(steel), token(steel, "bo", "read")
    with Person(server, secret, by_form=False) as bo:
        del bo.client.headers["Authorization"]
        page = bo.get("/c/steel/watch")
        assert page.status_code == 401
        assert 'action="/login"' in page.text
        back = re.search(r'name="back" value="([^"]*)"', page.text)[1]
        assert bo.log_in(secret, back=back).headers["location"] == "/c/steel/watch"
        assert bo.get("/login").status_code == 200
        assert 'type="password"' in bo.get("/login").text
        hostile = bo.get('/c/"><script>alert(1)</script>/watch?token=x')
        assert "<script>" not in hostile.text


def test_a_login_begins_a_new_session_and_ends_the_old_one(servers, steel):
    """No session that was there before, of anybody, is that of the person."""
    server = servers.start(steel)
    with Person(server, token(steel, "bo", "measure")) as bo:
        name = f"weal-{server['port']}"
        old = bo.client.cookies[name]
        assert bo.log_in(token(steel, "zoe", "measure")).status_code == 303
        assert bo.client.cookies[name] != old
        with client_of(server) as thief:
            assert thief.get("/", headers={"Cookie": f"{name}={old}"}).status_code == 401
        bo.client.cookies.clear()
        fixed = {"Cookie": f"{name}={'x' * 43}"}
        data = {"token": token(steel, "ann", "read")}
        answer = bo.client.post("/login", data=data, headers={"Origin": bo.base, **fixed})
        assert "x" * 43 not in answer.headers["set-cookie"]


def test_a_reader_with_a_token_of_their_own_logs_out_everywhere(servers, steel):
    server, secret = servers.start(steel), token(steel, "bo", "read")
    with Person(server, secret) as phone, Person(server, secret) as desk:
        assert phone.post("/logout", everywhere="true").status_code == 303
        assert desk.get("/").status_code == 401


def test_the_secret_is_in_no_page_and_no_file_of_the_server(servers, steel, tmp_path):
    server, secret = servers.start(steel), token(steel, "bo", "manage")
    with Person(server, secret) as bo:
        for path in ("/", "/c/steel/bench", "/logout", "/work", "/c/steel/settings", "/nothing"):
            assert secret not in bo.get(path).text
    for path in (tmp_path / "state").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_a_store_that_is_lost_lets_nobody_in_and_says_so(servers, steel, tmp_path):
    server, secret = servers.start(steel), token(steel, "bo", "read")
    with Person(server, secret) as bo:
        store = open_store(steel)
        change = "UPDATE weal_token SET body = replace(body, '\"read\"', '\"manage\"')"
        store.engine.write(lambda sql, _: sql.rows(change))
        store.close()
        answer = bo.get("/")
        assert answer.status_code == 503
        assert "weal doctor" in answer.text
        assert str(tmp_path) not in answer.text
        with Visitor(server) as ann:  # the token of the folder needs no store
            assert ann.get("/").status_code == 200


def test_a_bearer_token_counts_before_the_cookie_of_a_browser(servers, steel):
    server, secret = servers.start(steel), token(steel, "robot-1", "measure")
    with Visitor(server, who="ann") as ann:
        headers = {"Authorization": f"Bearer {secret}"}
        data = {"key": "k", "id": "A-1", "value": "3"}
        assert ann.client.post("/c/steel/tell", data=data, headers=headers).status_code == 303
    assert events("steel", steel)[-1].who == "robot-1"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "a\"b'c&d"])
def test_hostile_names_are_shown_as_text(servers, steel, name):
    with Person(servers.start(steel), token(steel, name, "measure")) as person:
        assert person.post("/c/steel/tell", id="A-1", value="3", key="k").status_code == 303
        for path in ("/", "/c/steel/bench", "/c/steel/watch", "/logout"):
            text = person.get(path).text
            assert "<script>alert" not in text
            assert "a\"b'c" not in text
    assert events("steel", steel)[-1].who == name


def test_the_token_of_the_printed_address_is_an_actor_without_a_name(servers, steel):
    server = servers.start(steel)
    with Person(server, token_of(server)) as somebody:
        assert somebody.answer.status_code == 303  # the form takes it too
        assert "Who are you?" in somebody.get("/").text
        answer = somebody.post("/c/steel/tell", id="A-1", value="3", key="k")
        assert answer.status_code == 422
    assert json.dumps([one.who for one in events("steel", steel)]) == '["ann", "ann"]'
