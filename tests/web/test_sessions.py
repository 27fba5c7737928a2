"""Tokens, one-time codes and sessions: what comes in, until when, and what ends it."""

import hashlib
import os
import re
import signal
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from constants import constants_json
from shell import events
from weal.store.actors import FULL_ACCESS, READ_ONLY
from weal.store.urls import read_name
from weal.web import access as access_module
from weal.web import sessions
from weal.web.access import TOKEN_FILES, Access, get_or_create_token
from weal.web.server_folder import server_folder
from web.test_exposure import serving
from web.visiting import PATIENCE, Visitor, client_of, token_of

TOKEN_OF_0_2 = "k" * 43


def cookie_of(visitor, server):
    return visitor.client.cookies[f"weal-{server['port']}"]


def code_of(server):
    return urlsplit(server["once"]).query.removeprefix("code=")


def log_in(server, **query):
    with client_of(server) as client:
        return client.get("/", params=query)


def test_the_cookie_is_a_session_that_is_kept_as_a_digest(server, tmp_path):
    with Visitor(server) as ann, Visitor(server) as bo:
        ids = [cookie_of(ann, server), cookie_of(bo, server)]
    assert len({*ids, token_of(server)}) == 3
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    held = {path: path.read_text() for path in files}
    assert not [path for path, text in held.items() if any(id_ in text for id_ in ids)]
    assert [path.name for path, text in held.items() if token_of(server) in text] == ["token"]
    digests = {hashlib.sha256(id_.encode()).hexdigest() for id_ in ids}
    kept = {path.name: path for path in files if path.parent.name == "sessions"}
    assert digests <= set(kept)
    assert {path.stat().st_mode & 0o777 for path in kept.values()} == {0o600}


def test_a_code_logs_in_once(server):
    with client_of(server) as client:
        answer = client.get("/c/steel/bench", params={"code": code_of(server), "id": "A-1"})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/c/steel/bench?id=A-1"
        assert client.get("/c/steel/bench").status_code == 200
        again = client.get("/", params={"code": code_of(server)})  # from the history
        assert again.headers["location"] == "/"
        assert "set-cookie" not in again.headers
    used = log_in(server, code=code_of(server))
    assert used.status_code == 401
    assert "works only once" in used.text
    assert log_in(server, code="").status_code == 401
    assert log_in(server, code=code_of(server), token=token_of(server)).status_code == 303


def test_a_code_dies_by_itself(servers, steel):
    server = servers.start(steel, set=constants_json(access_module, CODE_SECONDS=0.0))
    assert log_in(server, code=code_of(server)).status_code == 401


def test_asking_for_the_head_does_not_use_up_a_code(server):
    """A program that looks whether the link leads anywhere is not the browser."""
    with client_of(server) as client:
        assert client.head("/", params={"code": code_of(server)}).status_code == 401
    assert log_in(server, code=code_of(server)).status_code == 303


def test_open_puts_no_token_on_the_command_line(steel, tmp_path):
    """What `weal serve --open` starts, as the system's own program would be started."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program, said = folder / "xdg-open", tmp_path / "said"
    program.write_text(f'#!/bin/sh\necho "$@" > {said}.draft && mv {said}.draft {said}\n')
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    with serving(tmp_path, "--port", "0", "--store", steel, "--open", PATH=path) as server:
        end = time.monotonic() + PATIENCE
        while not said.exists() and time.monotonic() < end:
            time.sleep(0.02)
        opened = said.read_text().strip()
        assert token_of(server) not in opened
        assert re.fullmatch(rf"http://127\.0\.0\.1:{server['port']}/\?code=[\w-]{{43}}", opened)
        code = opened.partition("code=")[2]
        assert log_in(server, code=code).status_code == 303
        assert log_in(server, code=code).status_code == 401


def test_a_session_expires(servers, steel):
    server = servers.start(steel, set=constants_json(sessions, SESSION_SECONDS=0))
    with Visitor(server) as ann:
        assert ann.get("/").status_code == 401
    assert log_in(server, token=token_of(server)).status_code == 303


def test_a_session_survives_a_restart(servers, steel):
    server = servers.start(steel)
    with Visitor(server) as ann:
        form = ann.secret()
        os.kill(server["pid"], signal.SIGKILL)
        servers.start(steel, port=server["port"])
        assert ann.tell("steel", "A-1", "3", form, "k").status_code == 303


def test_logging_out_ends_one_session_or_all(server):
    with Visitor(server) as ann, Visitor(server) as bo, Visitor(server) as cy:
        before = cookie_of(ann, server)
        page = ann.get("/logout").text
        assert "full access" in page
        assert ann.post("/logout", {"form": "0" * 64}).status_code == 403
        answer = ann.post("/logout", ann.form("/logout", "/logout"))
        assert answer.status_code == 303
        assert "Max-Age=0" in answer.headers["set-cookie"]
        stolen = {"Cookie": f"weal-{server['port']}={before}"}
        assert ann.client.get("/", headers=stolen).status_code == 401
        assert bo.get("/").status_code == 200
        bo.post("/logout", {**bo.form("/logout", "/logout"), "everywhere": "true"})
        assert (bo.get("/").status_code, cy.get("/").status_code) == (401, 401)
    assert log_in(server, token=token_of(server)).status_code == 303  # the token is as it was


def test_a_new_token_ends_sessions_of_running_servers(servers, steel):
    """Also a stream of news that is open, and the tokens and codes of before."""
    server, reading = servers.start(steel), servers.start(steel, read_only=True)
    with Visitor(server) as ann, Visitor(reading) as boss:
        with ann.client.stream("GET", "/c/steel/news") as news:
            parts = news.iter_text()
            next(parts)
            fresh = servers.start(steel, new_token=True)
            assert token_of(fresh) != token_of(server)
            for _ in parts:  # ends, where it never did before
                pass
        assert (ann.get("/").status_code, boss.get("/").status_code) == (401, 401)
    for one in (server, reading):
        assert log_in(one, token=token_of(one)).status_code == 401
        assert log_in(one, code=code_of(one)).status_code == 401
        assert log_in(one, token=token_of(fresh)).status_code == 303  # and need not start again


def test_reading_has_a_token_of_its_own(servers, steel):
    """It reads on every server of the store, and writes on none."""
    full, reading = servers.start(steel), servers.start(steel, read_only=True)
    assert token_of(full) != token_of(reading)
    before = events("steel", steel)
    with client_of(full) as client:
        client.get("/", params={"token": token_of(reading)})
        page = client.get("/c/steel/bench")
        assert page.status_code == 200
        assert "read-only" in page.text
        assert 'method="post"' not in page.text
    with Visitor({**full, "url": reading["url"]}) as boss:
        form = boss.form("/logout", "/logout")["form"]
        answer = boss.tell("steel", "A-1", "3", form, "k")
        assert answer.status_code == 403
        assert "read-only" in answer.text
        everywhere = {"form": form, "everywhere": "true"}
        assert boss.post("/logout", everywhere).status_code == 403
        assert boss.post("/logout", {"form": form}).status_code == 303
    with client_of(full) as client:
        bearer = {"Authorization": f"Bearer {token_of(reading)}", "Cookie": "weal-who=eve"}
        data = {"id": "A-1", "value": "3", "key": "k"}
        assert client.post("/c/steel/tell", data=data, headers=bearer).status_code == 403
    with Visitor({**reading, "url": full["url"]}) as ann:
        assert ann.tell("steel", "A-1", "3", "x", "k").status_code == 403
    assert events("steel", steel) == before


def test_the_token_of_an_older_server_goes_on(servers, steel, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = server_folder(read_name(steel)) / "token"
    path.write_text(f"{TOKEN_OF_0_2}\n")
    path.chmod(0o600)
    assert token_of(servers.start(steel)) == TOKEN_OF_0_2
    assert token_of(servers.start(steel, read_only=True)) != TOKEN_OF_0_2


def test_cookies_of_other_servers_do_not_lock_out(server):
    """Browsers send what other servers of this machine have set, however odd, and twice."""
    name = f"weal-{server['port']}"
    with Visitor(server) as ann:
        id_ = cookie_of(ann, server)
    with client_of(server) as client:
        for cookies in (
            f'a={{"x": [1]}}; {name}={id_}',
            f"{name}=eve; {name}={id_}",
            f"x;{name}={id_}",
        ):
            assert client.get("/", headers={"Cookie": cookies}).status_code == 200


def test_a_session_that_ended_is_said_beside_what_is_there(server):
    """A part of a page: what was typed stays, and the reason is shown above it."""
    with client_of(server) as client:
        answer = client.get("/c/steel/bench", headers={"HX-Request": "true"})
    assert answer.status_code == 401
    assert answer.headers["hx-retarget"] == "#notice"
    assert "<html" not in answer.text


def test_what_is_no_session_lets_nobody_in(server, tmp_path):
    """Files that were cut, emptied or put there; a folder that cannot be written."""
    folder = next((tmp_path / "state").rglob("token")).parent / "sessions"
    with Visitor(server) as ann:
        for text in (
            "",
            "{",
            "[]",
            '{"v": 1}',
            '{"v": 2, "token": "", "began": 0, "expires": 9e9}',
        ):
            for path in folder.iterdir():
                path.write_text(text)
            assert ann.get("/").status_code == 401
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("no folder")
    answer = log_in(server, token=token_of(server))
    assert answer.status_code == 503
    assert "cannot store a session" in answer.text


@pytest.fixture
def access(tmp_path):
    for actor in TOKEN_FILES:
        get_or_create_token(tmp_path, actor=actor)
    return Access(tmp_path)


def test_sessions_are_few_and_the_oldest_end_first(access, tmp_path, constants):
    constants(sessions, MAX_SESSIONS=3)
    token = access.tokens.digest(FULL_ACCESS)
    ids = [access.sessions.begin(token) for _ in range(5)]
    assert [bool(access.sessions.find(id_)) for id_ in ids] == [False, False, True, True, True]
    assert len(list((tmp_path / "sessions").iterdir())) == 3


def test_sessions_below_the_limit_and_of_other_tokens_stay(access, constants):
    constants(sessions, MAX_SESSIONS=10)
    full, reading = (access.tokens.digest(one) for one in (FULL_ACCESS, READ_ONLY))
    ids = [access.sessions.begin(full) for _ in range(9)]
    for _ in range(12):
        access.sessions.begin(reading)
    assert all(access.sessions.find(id_) for id_ in ids)


def test_a_session_has_the_actor_of_its_token(access, tmp_path):
    full, reading = (access.tokens.digest(one) for one in (FULL_ACCESS, READ_ONLY))
    one, two = access.sessions.begin(full), access.sessions.begin(reading)
    visits = [access.visit_by_session([id_]) for id_ in (one, two)]
    assert [visit.actor for visit in visits] == [FULL_ACCESS, READ_ONLY]
    assert visits[0].form_token != visits[1].form_token
    get_or_create_token(tmp_path, new=True)
    assert access.visit_by_session([one]) is None
    assert not access.is_valid(visits[0])
    assert access.is_valid(visits[1])
    (tmp_path / "token").unlink()
    with pytest.raises(ValueError, match="start weal serve again"):
        access.new_code(FULL_ACCESS)


def test_names_of_sessions_are_no_paths(access, tmp_path):
    Path(tmp_path / "sessions").mkdir()
    for id_ in ("../token", "", "\0", "x" * 70000, "\udcff", "/etc/passwd"):
        assert access.visit_by_session([id_]) is None
