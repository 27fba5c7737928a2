"""Tokens with a name in the API: permissions, campaigns of their own, names in events, ends."""

import threading

import pytest

from weal.store.actors import PERMISSIONS
from weal.web import app  # noqa: F401, registers the operations
from weal.web.api.operations import OPERATIONS
from web.api.conftest import Client, code_of
from web.conftest import begin
from web.test_tokens import events, expire, revoke, token
from web.visiting import PATIENCE

OF_A_CAMPAIGN = [one for one in OPERATIONS if "{name}" in one.path]


def send(client, operation, name):
    """The answer to an operation on a campaign with an empty body: it is refused before that."""
    path = f"/api/v1{operation.path.replace('{name}', name)}"
    more = {} if operation.method == "GET" else {"json": {}}
    return client.http.request(operation.method, path, **more)


@pytest.fixture
def two(url, tmp_path):
    begin(url, tmp_path)
    begin(url, tmp_path, name="secret-alloy")
    return url


def test_an_operation_needs_its_permission_and_no_other(servers, steel):
    server = servers.start(steel)
    before = events("steel", steel)
    for word in PERMISSIONS:
        others = ",".join(one for one in PERMISSIONS if one not in (word, "manage"))
        with Client(server, token(steel, f"without {word}", others)) as client:
            for operation in OF_A_CAMPAIGN:
                if operation.may == word:
                    answer = send(client, operation, "steel")
                    assert code_of(answer, 403) == "not_permitted", operation.id
                    assert "weal token add" in answer.json()["detail"]
    assert events("steel", steel) == before


def test_an_operation_needs_nothing_but_its_permission(servers, steel):
    server = servers.start(steel, worker="here")
    for word in PERMISSIONS:
        with Client(server, token(steel, f"only {word}", word)) as client:
            for operation in OF_A_CAMPAIGN:
                if operation.may == word:
                    assert send(client, operation, "steel").status_code not in (401, 403)


def test_campaigns_outside_a_token_do_not_exist(servers, two):
    server = servers.start(two)
    with Client(server, token(two, "bo", "manage", ["steel"])) as bo:
        assert [one["name"] for one in bo.get().json()] == ["steel"]
        assert "secret" not in bo.get("", params={"all": "true"}).text
        for operation in OF_A_CAMPAIGN:
            hidden, absent = (send(bo, operation, name) for name in ("secret-alloy", "absent"))
            assert code_of(hidden, 404) == code_of(absent, 404) == "unknown_campaign", operation.id
            said = hidden.json()["detail"].replace("secret-alloy", "absent")
            assert said == absent.json()["detail"]
            assert "secret" not in absent.text
        body = {"name": "secret-alloy", "rows": [{"x": 1.5}, {"x": 2.25}], "target": "y"}
        assert code_of(bo.post("", body), 404) == "unknown_campaign"
    assert len(events("secret-alloy", two)) == 2


def test_the_name_of_a_token_is_recorded_whatever_the_body_says(servers, steel):
    with Client(servers.start(steel), token(steel, "robot-1", "ask,tell")) as robot:
        body = {"id": "A-1", "value": 2.5, "by": "ann"}
        assert robot.post("/steel/tell", body).status_code == 200
    assert events("steel", steel)[-1].who == "robot-1"


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_token_that_ends_during_a_long_poll_gets_no_event(servers, steel, end):
    server = servers.start(steel)
    last, answers = len(events("steel", steel)), []
    with (
        Client(server, token(steel, "bo", "read")) as bo,
        Client(server, token(steel, "zoe", "measure", seconds=None)) as zoe,
        Client(server) as owner,
    ):
        wait = {"since": last, "wait": 20}
        poll = threading.Thread(target=lambda: answers.append(bo.get("/steel/events", params=wait)))
        poll.start()
        assert zoe.get("/steel/events", params={"since": last, "wait": 1}).json() == []
        revoke(steel, "bo") if end == "revoked" else expire(steel)
        owner.post("/steel/tell", {"id": "A-1", "value": 2.5, "by": "ann"})
        poll.join(PATIENCE)
    assert code_of(answers[0], 401) == "not_authenticated"


def test_a_stream_ends_with_its_token_and_is_not_held_back_by_a_proxy(servers, steel):
    server, ended = servers.start(steel), threading.Event()
    began, seen = threading.Event(), []

    def listen():
        with Client(server, token(steel, "bo", "read")) as bo:
            headers = {"Accept": "text/event-stream"}
            place = "/api/v1/campaigns/steel/events"
            with bo.http.stream("GET", place, headers=headers) as stream:
                seen.append(stream.headers["x-accel-buffering"])
                for line in stream.iter_lines():
                    seen.append(line)
                    began.set()
        ended.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert began.wait(PATIENCE)
    revoke(steel, "bo")
    with Client(server) as owner:
        owner.post("/steel/tell", {"id": "A-1", "value": 2.5, "by": "ann"})
    assert ended.wait(PATIENCE)
    thread.join()
    assert seen[0] == "no"
    assert not any('"A-1"' in line for line in seen)
