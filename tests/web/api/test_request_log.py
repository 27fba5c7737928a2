"""Requests in the log: their ids, their outcome, and never a secret, wherever a client puts one."""

import asyncio
import io
import json
import logging

import httpx
import pandas as pd
import pytest

import weal
from weal import logs
from weal.store.protocol import open_store
from weal.web.access import Access, AccessPolicy, get_or_create_token
from weal.web.app import create_app


@pytest.fixture
def listening():
    out = io.StringIO()
    root, handler = logging.getLogger("weal"), logging.StreamHandler(out)
    handler.setFormatter(logs.make_formatter("json"))
    root.addHandler(handler)
    level = root.level
    root.setLevel("DEBUG")
    yield out
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.fixture
def visit(tmp_path):
    """A function that sends requests to an app in this process, and the token."""
    store = open_store("memory:")
    pool = pd.DataFrame({"temp": [20, 80, 30, 95, 41, 50, 66, 71]}, index=list("abcdefgh"))
    weal.open_campaign("steel", store, pool=pool, by="ann")
    token = get_or_create_token(tmp_path)
    policy = AccessPolicy(Access(tmp_path, store), 80)
    app = create_app(store, policy=policy, folder=tmp_path)

    def send(*requests):
        async def every():
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", timeout=300
            ) as client:
                return [await client.request(*one[:2], **one[2]) for one in requests]

        return asyncio.run(every())

    yield send, token
    app.state.server.worker.close()


def records(out):
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    return [one for one in found if one["message"] == "request"]


def test_a_request_has_one_record_and_its_id_is_in_the_answer(visit, listening):
    send, token = visit
    own = {"Authorization": f"Bearer {token}"}
    path = "/api/v1/campaigns/steel"
    named, strange, lost = send(
        ("GET", path, {"headers": {**own, "X-Request-ID": "job-7.a_B"}}),
        ("GET", path, {"headers": {**own, "X-Request-ID": "a b\x01" + "x" * 200}}),
        ("POST", f"{path}/tell", {"headers": own, "json": {"id": "z", "value": 1}}),
    )
    assert named.headers["x-request-id"] == "job-7.a_B"
    assert len(strange.headers["x-request-id"]) == 16
    assert lost.json()["request_id"] == lost.headers["x-request-id"]
    found = records(listening)
    assert [one["status"] for one in found] == [200, 200, 404]
    assert [one["request_id"] for one in found] == [
        one.headers["x-request-id"] for one in (named, strange, lost)
    ]
    assert found[0]["path"] == path
    assert found[0]["ms"] >= 0


def test_the_records_of_a_job_carry_the_id_of_the_request_that_started_it(visit, listening):
    send, token = visit
    headers = {"Authorization": f"Bearer {token}", "X-Request-ID": "robot-3"}
    [answer] = send(("POST", "/api/v1/campaigns/steel/ask", {"headers": headers, "json": {"n": 1}}))
    assert answer.status_code == 200
    every = [json.loads(line) for line in listening.getvalue().splitlines()]
    assert {one["request_id"] for one in every if one["logger"] == "weal.web.jobs"} == {"robot-3"}
    assert logs.current_request() == ""


def test_no_secret_reaches_the_log_wherever_it_is_put(visit, listening):
    send, token = visit
    own = {"Authorization": f"Bearer {token}"}
    path = "/api/v1/campaigns"
    answers = send(
        ("GET", path, {"headers": own, "params": {"token": token}}),
        ("GET", "/", {"params": {"token": token}}),
        ("GET", "/", {"params": {"code": token}}),
        ("GET", f"{path}/{token}", {"headers": own}),
        ("GET", f"{path}/{token}/ask", {"headers": {"Authorization": f"Basic {token}"}}),
        ("GET", path, {"headers": {**own, "X-Request-ID": token}}),
        ("GET", path, {"headers": {**own, "X-Request-ID": token[:20]}}),
        ("GET", path, {"headers": {"Authorization": f"Bearer x{token}"}}),
        ("GET", path, {"headers": {"Cookie": f"weal-80={token}"}}),
        ("POST", f"{path}/steel/tell", {"headers": own, "json": {"id": token, "value": token}}),
        ("POST", f"{path}/steel/tell", {"headers": own, "json": {"token": token}}),
        ("POST", f"{path}/steel/skip", {"headers": own, "json": {"ids": ["a"], "note": token}}),
        ("POST", f"{path}/steel/ask", {"headers": own, "json": {"lease": token}}),
        ("BREW", f"/{token}", {"headers": own}),
        ("GET", f"/static/{token}", {}),
    )
    assert len(answers) == len(records(listening)) == 15
    text = listening.getvalue()
    assert token not in text
    assert token[:20] not in text


def test_a_bug_is_in_the_log_with_the_id_that_the_client_sees(visit, listening, monkeypatch):
    send, token = visit
    from weal.web.ledger_cache import LedgerCache

    def fail(*_):
        raise RuntimeError("a detail that nobody is to see")

    monkeypatch.setattr(LedgerCache, "ledger", fail)
    headers = {"Authorization": f"Bearer {token}"}
    [answer] = send(("GET", "/api/v1/campaigns/steel", {"headers": headers}))
    assert answer.status_code == 500
    found = answer.json()
    assert found["code"] == "bug"
    assert "detail that nobody" not in answer.text
    every = [json.loads(line) for line in listening.getvalue().splitlines()]
    [own] = [one for one in every if "traceback" in one]
    assert own["request_id"] == found["request_id"]
    assert "a detail that nobody is to see" in own["traceback"]
