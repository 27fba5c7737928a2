"""Rows by the API: ask, tell, skip, withdraw, release; keys, preconditions, and every refusal."""

import json

import pytest

from weal.store.protocol import open_store
from web.api.conftest import Client, code_of


def events(url, name="steel"):
    store = open_store(url)
    try:
        return store.read(name)
    finally:
        store.close()


def test_a_loop_of_ask_and_tell(api, steel):
    asked = api.post("/steel/ask", {"n": 3, "by": "robot"})
    assert asked.status_code == 200
    rows = asked.json()
    assert [row["who"] for row in rows] == ["robot"] * 3
    assert {"temp", "hours"} <= set(rows[0]["row"])
    told = api.post("/steel/tell", {"id": rows[0]["id"], "value": 312.5, "by": "robot"})
    assert told.json() == {"event": told.json()["event"], "labels": 1, "new": 1, "doubts": []}
    out = api.get("/steel/asked", params={"by": "robot"}).json()
    assert {row["id"] for row in out} == {row["id"] for row in rows[1:]}
    last = events(steel)[-1]
    assert (last.kind, last.id, last.who) == ("told", rows[0]["id"], "robot")


def test_ids_alone(api):
    found = api.post("/steel/ask", {"n": 2, "only_ids": True, "key": "k"}).json()
    assert len(found["ids"]) == 2
    assert api.post("/steel/ask", {"n": 2, "only_ids": True, "key": "k"}).json() == found


def test_an_ask_needs_no_body(api):
    assert len(api.http.post("/api/v1/campaigns/steel/ask").json()) == 1


@pytest.mark.parametrize("value", ["312.5", 312])
def test_numbers_and_their_texts(api, value):
    assert api.post("/steel/tell", {"id": "A-1", "value": value}).json()["new"] == 1
    again = api.post("/steel/tell", {"id": "A-1", "value": float(str(value).replace(",", "."))})
    assert again.json()["new"] == 0


def test_a_failed_run_and_a_bound(api):
    found = api.post("/steel/tell", {"id": "A-1", "value": "failed", "note": "leak"}).json()
    assert found["failed"] == ["A-1"]
    found = api.post("/steel/tell", {"id": "A-2", "value": "<0.1"}).json()
    assert found["skipped"] == ["A-2"]
    assert found["note"].startswith("<0.1")
    assert code_of(api.post("/steel/tell", {"id": "A-3", "value": "n/a"}), 422) == "invalid_value"


REFUSED = [
    ("/steel/tell", {"id": "A-99", "value": 1.0}, 404, "unknown_id"),
    ("/steel/tell", {"id": "A-1", "value": "soft"}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1", "value": "312,5"}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1"}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1", "value": 1.0, "values": {"hardness": 1.0}}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1", "values": {"hardnes": 1.0}}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1", "value": 1.0, "noise": -1}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1", "value": 1.0, "accident": True}, 422, "invalid_value"),
    (
        "/steel/tell",
        {"id": "A-1", "value": 1.0, "replace": True, "repeat": True},
        422,
        "invalid_value",
    ),
    ("/steel/tell", {"id": "A-1", "vaule": 1.0}, 422, "invalid_request"),
    ("/steel/tell", {"id": "", "value": 1.0}, 422, "invalid_request"),
    ("/steel/tell", {"id": True, "value": 1.0}, 422, "invalid_request"),
    ("/steel/tell", {"id": "a\ud800", "value": 1.0}, 422, "invalid_request"),
    ("/steel/tell", {"id": "a\0b", "value": 1.0}, 422, "invalid_value"),
    ("/steel/tell", {"id": "A-1", "value": None}, 422, "invalid_request"),
    ("/steel/tell", [1], 422, "invalid_request"),
    ("/steel/ask", {"n": 0}, 422, "invalid_request"),
    ("/steel/ask", {"n": 501}, 422, "invalid_request"),
    ("/steel/ask", {"n": 1.5}, 422, "invalid_request"),
    ("/steel/ask", {"n": 400}, 409, "exhausted"),
    ("/steel/ask", {"lease": "soon"}, 422, "invalid_value"),
    ("/steel/skip", {"ids": []}, 422, "invalid_request"),
    ("/steel/skip", {}, 422, "invalid_request"),
    ("/steel/skip", {"ids": ["A-99"]}, 404, "unknown_id"),
    ("/steel/withdraw", {"ids": ["A-1"]}, 422, "invalid_value"),
    ("/steel/withdraw", {"ids": ["A-1"], "event": 3}, 422, "invalid_value"),
    ("/bronze/tell", {"id": "A-1", "value": 1.0}, 404, "unknown_campaign"),
    ("/bronze/ask", {}, 404, "unknown_campaign"),
]


def test_refusals_have_codes_and_write_nothing(api, steel):
    before = len(events(steel))
    for path, body, status, code in REFUSED:
        answer = api.http.post(
            f"/api/v1/campaigns{path}",
            content=json.dumps(body),  # with half a character escaped, as httpx would not send it
            headers={"Content-Type": "application/json"},
        )
        assert code_of(answer, status) == code, body
    assert len(events(steel)) == before


def test_a_label_that_is_there(api):
    api.post("/steel/tell", {"id": "A-1", "value": 5.0})
    assert code_of(api.post("/steel/tell", {"id": "A-1", "value": 6.0}), 409) == "already_labelled"
    assert api.post("/steel/tell", {"id": "A-1", "value": 6.0, "replace": True}).json()["new"] == 1
    assert api.post("/steel/tell", {"id": "A-1", "value": 7.0, "repeat": True}).json()["new"] == 1


def test_skip_and_back_release_and_withdraw(api):
    assert api.post("/steel/skip", {"ids": ["A-1", "A-2"]}).json() == {"skipped": ["A-1", "A-2"]}
    assert api.post("/steel/skip", {"ids": ["A-1"], "undo": True}).json() == {"back": ["A-1"]}
    [row] = api.post("/steel/ask", {"by": "ann"}).json()
    assert api.post("/steel/release", {"ids": [row["id"]], "by": "bo"}).json() == {"released": []}
    found = api.post("/steel/release", {"ids": [row["id"]], "by": "ann"}).json()
    assert found == {"released": [row["id"]]}
    api.post("/steel/tell", {"id": "A-3", "value": 5.0})
    assert api.post("/steel/withdraw", {"ids": ["A-3"]}).json() == {"withdrawn": ["A-3"]}


def test_the_same_key_writes_once(api, steel):
    body = {"id": "A-1", "value": 5.0}
    head = {"Idempotency-Key": '"lims-1"'}
    first = api.post("/steel/tell", body, headers=head)
    before = len(events(steel))
    again = api.post("/steel/tell", {**body, "key": "lims-1"}, headers=head)
    assert again.json() == {**first.json(), "new": 0}
    assert len(events(steel)) == before
    other = api.post("/steel/tell", {**body, "id": "A-2"}, headers=head)
    assert code_of(other, 409) == "reused_key"
    wrong = api.post("/steel/tell", {**body, "key": "lims-2"}, headers=head)
    assert code_of(wrong, 422) == "invalid_request"


def test_two_clients_write_only_if_nothing_has_changed(api_server):
    with Client(api_server) as one, Client(api_server) as two:
        tag = one.get("/steel").headers["etag"]
        assert two.get("/steel").headers["etag"] == tag
        done = one.post("/steel/tell", {"id": "A-1", "value": 5.0}, headers={"If-Match": tag})
        assert done.status_code == 200
        lost = two.post("/steel/tell", {"id": "A-2", "value": 5.0}, headers={"If-Match": tag})
        assert code_of(lost, 412) == "changed"
        lost = two.post("/steel/ask", {}, headers={"If-Match": tag})
        assert code_of(lost, 412) == "changed"
        same = two.post("/steel/tell", {"id": "A-1", "value": 6.0}, headers={"If-Match": tag})
        assert code_of(same, 412) == "changed"
        now = done.headers["etag"]
        assert now == one.get("/steel").headers["etag"]
        done = two.post("/steel/tell", {"id": "A-2", "value": 5.0}, headers={"If-Match": now})
        assert done.status_code == 200


def test_a_retry_with_its_key_is_no_change(api):
    tag = api.get("/steel").headers["etag"]
    head = {"If-Match": tag, "Idempotency-Key": "k"}
    for _ in range(2):
        found = api.post("/steel/tell", {"id": "A-1", "value": 5.0}, headers=head)
        assert found.status_code == 200
    for _ in range(2):
        head["If-Match"] = f'"0-0", {found.headers["etag"]}'
        found = api.post("/steel/ask", {"only_ids": True, "key": "k"}, headers=head)
        assert found.status_code == 200
