"""Campaigns by the API: lists, tables and boxes, candidates, settings, files, events."""

import csv
import io
import json
import threading
import time

import pytest

import weal
from weal.store.protocol import open_store
from web.api.conftest import Client, code_of

ROWS = [{"id": f"S-{n}", "temp": 20 + 7 * n % 50, "acid": "HCl" if n % 3 else "HBr"}
        for n in range(12)]  # fmt: skip


def events(url, name="steel"):
    store = open_store(url)
    try:
        return store.read(name)
    finally:
        store.close()


def upload(api, path, text, name="table.csv", options=None, **more):
    data = {} if options is None else {"options": json.dumps(options)}
    files = {"table": (name, text)}
    return api.http.post(f"/api/v1/campaigns{path}", data=data, files=files, **more)


def test_the_list_comes_in_pages(api, steel):
    for name in ("b", "a", "ü", "c&d"):
        assert api.post("", {"name": name, "rows": ROWS, "target": "y"}).status_code == 201
    api.patch("/b", {"archived": True})
    names, address = [], "?limit=2"
    while address:
        answer = api.get(address)
        page = answer.json()
        assert len(page) <= 2
        names += [one["name"] for one in page]
        link = answer.links.get("next")
        address = link["url"] if link else None
    assert names == ["a", "c&d", "steel", "ü"]
    every = api.get("?all=true").json()
    assert [one["archived"] for one in every] == [False, True, False, False, False]


def test_a_campaign_of_an_uploaded_table(api):
    text = "sample,temp,yield\n" + "".join(f"R/{n},{20 + n * 3},\n" for n in range(9))
    options = {"name": "salts", "id_column": "sample", "target": "yield", "key": "k"}
    made = upload(api, "", text, options=options)
    assert made.status_code == 201
    assert made.json()["candidates"] == 9
    assert upload(api, "", text, options=options).status_code == 201
    assert code_of(upload(api, "", text + "R/9,99,\n", options=options), 409) == "reused_key"
    assert code_of(upload(api, "", text, options={**options, "key": "x"}), 409) == "campaign_exists"
    assert code_of(upload(api, "", text), 422) == "invalid_request"
    assert (
        code_of(upload(api, "", text, name="table.exe", options=options), 422) == "invalid_request"
    )
    wrong = upload(api, "", "a;b\n", options={"name": "no", "target": "y"})
    assert wrong.status_code == 422
    assert "/files/" not in wrong.text
    more = "sample,temp\nR/10,55.5\nR/11,56.5\n"
    head = {"Content-Type": "text/csv", "Idempotency-Key": "more"}
    for added in (2, 0):
        answer = api.http.post("/api/v1/campaigns/salts/candidates", content=more, headers=head)
        assert answer.json()["added"] == added
        assert answer.json()["candidates"] == 11
    answer = api.http.post(
        "/api/v1/campaigns/salts/candidates", content=more, headers={"Content-Type": "text/csv"}
    )
    assert code_of(answer, 422) == "invalid_value"


def test_a_campaign_of_a_box(api):
    box = {"inputs": {"temp": [20, 200], "acid": ["HCl", "HBr"]}, "constraints": ["temp < 150"]}
    made = api.post("", {"name": "box", "target": "y", "n": 30, "box": box})
    assert made.status_code == 201
    assert made.json()["candidates"] == 30
    both = api.post("", {"name": "no", "target": "y", "box": box, "rows": ROWS})
    assert code_of(both, 422) == "invalid_request"
    assert code_of(api.post("", {"name": "no", "target": "y"}), 422) == "invalid_request"
    wrong = {"name": "no", "target": "y", "box": {"inputs": {"temp": [200, 20]}}}
    assert code_of(api.post("", wrong), 422) == "invalid_value"


def test_settings_change_once(api, steel):
    tag = api.get("/steel/settings").headers["etag"]
    body = {"lease": "3d", "goal": "maximise", "key": "s"}
    done = api.patch("/steel/settings", body, headers={"If-Match": tag})
    assert done.json()["lease"] == 3 * 86400.0
    assert done.json()["goal"]["text"] == "maximise"
    before = len(events(steel))
    assert api.patch("/steel/settings", body).json() == done.json()
    assert len(events(steel)) == before
    assert code_of(api.patch("/steel/settings", {**body, "lease": "2d"}), 409) == "reused_key"
    lost = api.patch("/steel/settings", {"lease": "2d"}, headers={"If-Match": tag})
    assert code_of(lost, 412) == "changed"
    assert code_of(api.patch("/steel/settings", {"seed": 3}), 422) == "invalid_request"
    assert code_of(api.patch("/steel/settings", {"goal": "win"}), 422) == "invalid_value"
    assert code_of(api.patch("/steel/settings", {}), 422) == "invalid_request"
    same = {"If-None-Match": done.headers["etag"]}
    assert api.get("/steel/settings", headers=same).status_code == 304


def test_many_labels_are_saved_all_or_none(api, steel):
    labels = [{"id": f"A-{n}", "value": 300 + n, "noise": 0.5} for n in range(5)]
    labels += [{"id": "A-5", "value": "failed", "note": "leak"}, {"id": "A-6", "value": "<0.1"}]
    look = api.post("/steel/tell", {"labels": labels, "dry_run": True}).json()
    assert (look["event"], look["new"]) == (0, 5)
    before = len(events(steel))
    wrong = api.post("/steel/tell", {"labels": [*labels, {"id": "A-99", "value": 1}]})
    assert code_of(wrong, 404) == "unknown_id"
    assert "line 8" in wrong.json()["detail"]
    assert len(events(steel)) == before
    for new in (5, 0):
        found = api.post("/steel/tell", {"labels": labels, "key": "m"}).json()
        assert found["new"] == new
    assert [row["action"] for row in look["rows"]][-2:] == ["failed", "skipped"]
    other = api.post("/steel/tell", {"labels": labels[:3], "key": "m"})
    assert code_of(other, 409) == "reused_key"


def test_a_file_of_labels(api, steel):
    text = "sample,hardness,note\nA-1,301.5,batch 8\nA-2,,\nA-3,failed,leak\n"
    found = upload(api, "/steel/tell", text, options={"key": "f"}).json()
    assert (found["new"], found["failed"], found["empty"]) == (1, 1, 1)
    again = upload(api, "/steel/tell", text, options={"key": "f"}).json()
    assert again["new"] == 0
    tag = api.get("/steel").headers["etag"]
    upload(api, "/steel/tell", "sample,hardness\nA-7,5\n")
    lost = upload(api, "/steel/tell", "sample,hardness\nA-8,5\n", headers={"If-Match": tag})
    assert code_of(lost, 412) == "changed"
    assert (
        code_of(upload(api, "/steel/tell", text, options={"id": "A-1"}), 422) == "invalid_request"
    )


def test_an_implausible_label_is_refused_where_it_is_not_wanted(api, steel):
    labels = {f"A-{n}": 300.0 + n % 5 for n in range(12)}
    for id_, value in labels.items():
        api.post("/steel/tell", {"id": id_, "value": value})
    before = len(events(steel))
    body = {"id": "A-20", "value": 30_000, "plausible": True}
    assert code_of(api.post("/steel/tell", body), 409) == "implausible_label"
    many = {"labels": [{"id": "A-20", "value": 30_000}], "plausible": True}
    assert code_of(api.post("/steel/tell", many), 409) == "implausible_label"
    assert len(events(steel)) == before
    found = api.post("/steel/tell", {**body, "plausible": False}).json()
    assert found["new"] == 1
    assert found["doubts"]


@pytest.fixture
def taught(api, steel):
    with weal.open_campaign("steel", steel, by="ann") as campaign:
        campaign.tell({f"A-{n}": 300.0 + n % 17 - 2.0 * (n % 5) for n in range(16)})
    return api


def test_predictions_and_exports(taught):
    lines = taught.get("/steel/predictions")
    assert lines.headers["content-type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in lines.text.splitlines()]
    assert len(rows) == 40
    assert {"id", "mean", "sd", "low", "high", "label"} <= set(rows[0])
    parquet = taught.get("/steel/predictions", headers={"Accept": "application/vnd.apache.parquet"})
    assert parquet.content[:4] == b"PAR1"
    table = list(csv.DictReader(io.StringIO(taught.get("/steel/export").text)))
    assert len(table) == 16
    asked = {"rows": [{"temp": 3.5, "hours": 2}, {"temp": -1.5, "hours": 4}], "level": 0.8}
    found = taught.post("/steel/predictions", asked).json()
    assert [row["id"] for row in found["predictions"]] == ["row 1", "row 2"]
    with_lines = taught.post(
        "/steel/predictions", asked, headers={"Accept": "application/x-ndjson"}
    )
    assert [json.loads(one) for one in with_lines.text.splitlines()] == found["predictions"]
    best = taught.get("/steel/best", params={"n": 3, "goal": "maximise"}).json()
    assert len(best["rows"]) == 3
    assert code_of(taught.get("/steel/best"), 422) == "invalid_value"


def test_before_there_is_a_model(api):
    assert code_of(api.get("/steel/predictions"), 409) == "no_model"
    assert code_of(api.get("/steel/best?goal=maximise"), 409) == "no_model"
    assert (
        code_of(api.post("/steel/predictions", {"rows": [{"temp": 1, "hours": 2}]}), 409)
        == "no_model"
    )


def test_events_come_in_pages_and_after_a_number(api, steel):
    every = api.get("/steel/events").json()
    assert [one["seq"] for one in every] == list(range(1, len(every) + 1))
    first = api.get("/steel/events?limit=1")
    assert first.links["next"]["url"] == "?since=1&limit=1"
    assert api.get(f"/steel/events?since={len(every)}").json() == []


def test_a_long_poll_ends_with_the_event_of_another_writer(api, api_server, steel):
    last = api.get("/steel/events").json()[-1]["seq"]
    assert api.get(f"/steel/events?since={last}&wait=0.2").json() == []
    found = []
    with Client(api_server) as other:
        wait = threading.Thread(
            target=lambda: found.extend(other.get(f"/steel/events?since={last}&wait=60").json())
        )
        wait.start()
        time.sleep(0.3)
        with weal.open_campaign("steel", steel, by="bo") as campaign:  # another process, as it were
            campaign.tell("A-1", 5.0)
        wait.join()
    assert [(one["kind"], one["who"]) for one in found] == [("told", "bo")]


def test_a_stream_continues_after_the_last_event_that_was_seen(api, steel):
    head = {"Accept": "text/event-stream"}
    seen = []

    def listen(n, **more):
        path = "/api/v1/campaigns/steel/events"
        with api.http.stream("GET", path, headers={**head, **more}) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    seen.append(int(line[4:]))
                    n -= 1
                if not n:
                    return  # hangs up

    there = len(events(steel))
    listen(there)
    assert seen == list(range(1, there + 1))
    with weal.open_campaign("steel", steel, by="bo") as campaign:
        campaign.tell("A-1", 5.0)
        thread = threading.Thread(target=listen, args=(2,), kwargs={"Last-Event-ID": str(there)})
        thread.start()
        time.sleep(0.5)
        campaign.tell("A-2", 6.0)
        thread.join()
    assert seen == list(range(1, there + 3))
    assert api.get("/steel").status_code == 200


def test_a_client_that_hangs_up_leaves_the_server_as_it_was(api, api_server, steel):
    with Client(api_server) as short:
        short.http.timeout = 0.05
        for _ in range(5):
            for path in ("/steel/ask", "/steel/tell"):
                try:
                    short.post(
                        path, {"n": 1} if path.endswith("ask") else {"id": "A-1", "value": 5}
                    )
                except Exception:  # noqa: BLE001  it may or may not be in time
                    continue
    assert api.post("/steel/ask", {"only_ids": True}).status_code == 200
    out = [one["id"] for one in api.get("/steel/asked").json()]
    assert len(out) == len(set(out))


def test_a_title_an_archive_and_a_copy(api, steel):
    settings = api.patch("/steel/settings", {"title": " Steel,\n <b>round</b> 2 "})
    assert settings.json()["title"] == "Steel, <b>round</b> 2"
    assert api.patch("/steel/settings", {"title": "x" * 10_000}).status_code == 422
    assert api.get("/steel/settings").json()["title"] == "Steel, <b>round</b> 2"
    [row] = api.get("").json()
    assert row["title"] == "Steel, <b>round</b> 2"
    copy = {"new": "steel 2", "labels": False, "key": "c"}
    made = api.post("/steel/copies", copy)
    assert made.status_code == 201
    assert made.headers["location"].endswith("/campaigns/steel%202")
    assert made.json()["copied_from"]["campaign"] == "steel"
    assert made.json()["labels"] == 0
    assert api.post("/steel/copies", copy).status_code == 201  # a retry
    assert api.post("/steel/copies", {"new": "steel 2"}).json()["code"] == "campaign_exists"
    api.patch("/steel", {"archived": True})
    assert [one["name"] for one in api.get("").json()] == ["steel 2"]
    refused = api.post("/steel/ask", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "archived")
    assert api.get("/steel").json()["archived"] is True
