"""Requests that are refused before anything is done, each with a problem; and who may do what."""

import gzip
import json

import httpx
import pytest

from web.api.conftest import Client, code_of
from web.visiting import Visitor

BASE = "/api/v1/campaigns"
JSON = {"Content-Type": "application/json"}


def test_malformed_requests_are_problems(api):
    http = api.http

    def post(path, content, **headers):
        return http.post(f"{BASE}{path}", content=content, headers=headers or JSON)

    for text in (
        "", "{", "[1", '{"n": NaN}', '{"n": Infinity}', '{"n": -Infinity}', '{"n": 1e999}',
        '{"n": 1, "n": 2}', "[" * 100_000, '{"n": 1} x', "\ufeff{}", '{"n": 01}', "'n'",
    ):  # fmt: skip
        assert code_of(post("/steel/ask", text), 400) == "malformed_json", text[:20]
    assert code_of(post("/steel/ask", b'{"by": "\xff"}'), 400) == "malformed_json"
    assert code_of(post("/steel/ask", "9" * 5000), 400) == "malformed_json"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "text/csv", "bad",
                 "application/json; charset=utf-16"):  # fmt: skip
        found = post("/steel/ask", "{}", **{"Content-Type": kind})
        assert code_of(found, 415) == "unsupported_media_type"
        assert "application/json" in found.headers["accept-post"]
    assert code_of(post("/steel/tell", "", **{"X-Nothing": "1"}), 415) == "unsupported_media_type"


def test_numbers_beyond_floats_are_problems_in_every_field(api):
    huge = "1" + "0" * 400
    for path, text in (
        ("/steel/ask", '{"n": HUGE}'),
        ("/steel/ask", '{"at_most": {"temp": HUGE}}'),
        ("/steel/ask", '{"lease": HUGE}'),
        ("/steel/tell", '{"id": "A-1", "value": -HUGE}'),
        ("/steel/withdraw", '{"ids": ["A-1"], "event": HUGE}'),
        ("", '{"name": "box", "target": "y", "box": {"inputs": {"a": [0, HUGE]}}}'),
    ):
        content = text.replace("HUGE", huge)
        answer = api.http.post(f"{BASE}{path}", content=content, headers=JSON)
        assert code_of(answer, 400) == "malformed_json", text
    answer = api.http.patch(
        f"{BASE}/steel/settings", content=f'{{"weights": {{"y": {huge}}}}}', headers=JSON
    )
    assert code_of(answer, 400) == "malformed_json"


def test_a_compressed_body_is_refused(api):
    for kind, text in (("application/json", b'{"n": 1}'), ("text/csv", b"id,y\n")):
        headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
        answer = api.http.post(f"{BASE}/steel/tell", content=gzip.compress(text), headers=headers)
        assert code_of(answer, 415) == "unsupported_media_type"
        assert "not compressed" in answer.json()["detail"]


def test_a_malformed_form_says_what_to_send(api):
    for files in (
        [("table", ("a.csv", b"")), ("table", ("b.csv", b""))],
        [("table", ("a.csv", b"")), ("options", ("o.json", b"{}"))],
    ):
        answer = api.http.post(f"{BASE}/steel/tell", files=files)
        assert code_of(answer, 400) == "malformed_body"
        assert "`options` as JSON text" in answer.json()["detail"]


def test_the_head_of_a_download_leaves_no_file(api, tmp_path):
    for path in ("export?what=events", "export?what=candidates&format=parquet"):
        answer = api.http.head(f"{BASE}/steel/{path}")
        assert (answer.status_code, answer.content) == (200, b"")
        assert api.http.get(f"{BASE}/steel/{path}").content
    (files,) = (tmp_path / "state").rglob("files")
    assert list(files.iterdir()) == []


def test_addresses_and_methods(api):
    http = api.http
    for path in ("/api", "/api/", "/api/v2", "/api/v1", "/api/v1/", "/api/v1/nothing", f"{BASE}/",
                 f"{BASE}/steel/", f"{BASE}/steel/nothing", f"{BASE}/a%2Fb/ask/x",
                 f"{BASE}/a%0Ab/nothing", "/api/v1/openapi.json/"):  # fmt: skip
        assert code_of(http.get(path), 404) == "not_found", path
    found = http.delete(f"{BASE}/steel")
    assert code_of(found, 405) == "method_not_allowed"
    assert set(found.headers["allow"].split(", ")) == {"GET", "HEAD", "PATCH"}
    assert code_of(http.options(f"{BASE}/steel/ask"), 405) == "method_not_allowed"
    assert code_of(http.request("BREW", f"{BASE}"), 405) == "method_not_allowed"
    for path in ("", "/asked", "/settings", "/events", "/status", "/export", "/row?id=a"):
        assert code_of(http.get(f"{BASE}/no%0A%C3%BC{path}"), 404) == "unknown_campaign"
    head = http.head(f"{BASE}/steel")
    assert head.content == b""
    assert head.headers["etag"] == http.get(f"{BASE}/steel").headers["etag"]
    assert http.head(f"{BASE}/bronze").status_code == 404


def test_parameters_are_checked(api):
    for query in ("limit=0", "limit=x", "limit=1.5", "limit=", "limit=1&limit=2", "lmit=1",
                  "all=yes", "limit=99999999999999999999", "after=%FF", "token=abc"):  # fmt: skip
        assert code_of(api.get(f"?{query}"), 422) == "invalid_request", query
    assert code_of(api.get("/steel/row"), 422) == "invalid_request"
    assert code_of(api.get("/steel/status?goal=win"), 422) == "invalid_value"
    assert code_of(api.get(f"?after={'x' * 60_000}"), 414) == "address_too_long"
    found = api.get("?lmit=1").json()
    assert found["errors"] == [{"pointer": "lmit", "detail": found["errors"][0]["detail"]}]


def test_sizes_are_limited(api):
    big = json.dumps({"note": "x" * 2**20, "ids": ["A-1"]})
    answer = api.http.post(f"{BASE}/steel/skip", content=big, headers=JSON)
    assert code_of(answer, 413) == "body_too_large"

    def parts():
        for _ in range(40):
            yield b" " * 2**20

    answer = api.http.post(f"{BASE}/steel/tell", content=parts(), headers=JSON)
    assert code_of(answer, 413) == "body_too_large"
    many = {"ids": [f"A-{n}" for n in range(10_001)]}
    assert code_of(api.post("/steel/skip", many), 422) == "invalid_request"


def test_a_write_needs_a_bearer_token_whatever_the_cookie(server):
    with Visitor(server) as ann:
        path = f"{BASE}/steel"
        assert ann.get(path).status_code == 200  # a person may look
        answer = ann.client.post(f"{path}/ask", json={}, headers={"Origin": ann.base})
        assert code_of(answer, 401) == "not_authenticated"
        assert answer.headers["www-authenticate"] == "Bearer"
        form = {"form": ann.secret(), "id": "A-1", "value": "5"}
        answer = ann.client.post(f"{path}/tell", data=form, headers={"Origin": ann.base})
        assert code_of(answer, 401) == "not_authenticated"
        for site in ("cross-site", "same-site"):
            answer = ann.get(path, headers={"Sec-Fetch-Site": site})
            assert code_of(answer, 401) == "not_authenticated"
        assert ann.get(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_nobody_and_other_sites_are_refused(server, api_server):
    with Client(server, "x" * 43) as nobody, Client(server) as known:
        assert code_of(nobody.get(), 401) == "not_authenticated"
        assert code_of(nobody.http.get("/api/v1/openapi.json"), 401) == "not_authenticated"
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            answer = known.post("/steel/ask", {}, headers={"Origin": origin})
            assert code_of(answer, 403) == "cross_site"
        answer = known.get(headers={"Host": "evil.example"})
        assert code_of(answer, 400) == "wrong_host"
        answer = known.get()
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_a_read_only_server_writes_nothing(servers, steel):
    server = servers.start(steel, read_only=True, worker="here")
    with Client(server) as api:
        assert api.get("/steel").status_code == 200
        for path, body in (("/steel/ask", {}), ("/steel/tell", {"id": "A-1", "value": 5})):
            assert code_of(api.post(path, body), 403) == "not_allowed"
        answer = api.post("/steel/predictions", {"rows": [{"temp": 1, "hours": 2}]})
        assert code_of(answer, 409) == "no_model"  # nothing is saved: it is allowed


@pytest.mark.parametrize("name", ["Größe 10 %", "a&b?c=d", "日本", "-n", "...", "a+b c"])
def test_unicode_names_and_ids_with_slashes(api, name):
    if name == "...":
        assert code_of(api.post("", {"name": name, "rows": [{"a": 1}]}), 422) == "invalid_value"
        return
    ids = ["a/b", "ß 1", "x?y=1&z", "日/本", "-1", "../c"]
    rows = [{"id": one, "temp": 10.5 * n, "hours": n % 3} for n, one in enumerate(ids)]
    body = {"name": name, "rows": rows, "id_column": "id", "target": "y", "key": "ü/1"}
    made = api.post("", body)
    assert made.status_code == 201, made.text
    assert api.post("", body).json()["candidates"] == 6
    other = api.post("", {**body, "target": "z"})
    assert code_of(other, 409) == "reused_key"
    assert code_of(api.post("", {**body, "key": "other"}), 409) == "campaign_exists"
    address = made.headers["location"]
    http: httpx.Client = api.http
    assert http.get(address).json()["name"] == name
    for one in ids:
        told = http.post(f"{address}/tell", json={"id": one, "value": 5.0, "key": f"k {one}"})
        assert told.json()["new"] == 1
        assert http.get(f"{address}/row", params={"id": one}).json()["id"] == one
