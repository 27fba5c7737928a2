"""Who comes in, and what may be sent: W1, W3, W4, W6, W8 against a real server."""

import hashlib
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from campaign.lab import campaign
from shell import events
from weal.errors import NotAllowed
from weal.store.events import Draft
from weal.store.protocol import open_store
from weal.web.access import Access, AccessPolicy
from weal.web.app import create_app
from weal.web.job_context import read_only_store
from weal.web.refusals import POLICY
from web.visiting import Visitor, client_of, token_of

UPS = [
    "..", "../", "..%2f", "%2e%2e", "%2e%2e%2f", "..%5c", "..\\", "%2e%2e%5c", "....//", "..;/",
    "..%252f", "%252e%252e%252f", "..%c0%af", "%c0%ae%c0%ae%c0%af", "..%00", "..%0d%0a", "..%09",
    "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "%2fetc%2fpasswd",
    "file:///etc/passwd", "..%ef%bc%8f", "%u002e%u002e", "..%e2%88%95", "C:%5cWindows", ".%2e/",
    "%2e./", "..././", "~root",
]  # fmt: skip
SQL = [
    "' OR 1=1 --", "'; DROP TABLE weal_event; --", '" OR ""="', "1; DELETE FROM weal_campaign",
    "') UNION SELECT hash FROM weal_event --", "\\'; DROP TABLE weal_event; --", "%27%20OR%201=1",
    "admin'--", "' AND SLEEP(5) --", "'; ATTACH DATABASE 'x.db' AS x; --", "1' ORDER BY 9 --",
    "'; PRAGMA writable_schema=1; --", "$1", "?", ":id", "%s", "{0}", "$$; DROP TABLE t; $$",
    "' || (SELECT token FROM weal_event) || '", "'; VACUUM; --", "/* */", "--", "' GROUP BY seq --",
    "';UPDATE weal_event SET body='{}';--", "x' AND 1=CAST((SELECT 1) AS INT)--", "' LIKE '%", "_%",
    "a'/**/OR/**/1=1--", "\u00b4; DROP TABLE t; --", "'; COMMIT; DROP TABLE weal_event; --",
]  # fmt: skip


def routes():
    """Every route of the app with its methods; names filled in."""
    app = create_app(
        open_store("memory:"),
        policy=AccessPolicy(Access(Path("nowhere")), 80),
        folder=Path("nowhere"),
    )
    found = [
        (method.upper(), path.replace("{name}", "steel").replace("{id_}", "ab"))
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    ]
    return [*found, ("GET", "/c/steel/news")]


ROUTES = routes()


def refused(answer):
    return answer.status_code in (401, 403)


@pytest.fixture
def stranger(server):
    with client_of(server) as client:
        yield client


def test_no_route_answers_without_the_token(stranger, server):
    """W1: all but static files and /healthz; the documentation of FastAPI is not there at all."""
    origin = {"Origin": str(stranger.base_url)}
    for method, path in ROUTES:
        if path != "/healthz":
            assert refused(stranger.request(method, path, headers=origin)), path
    for path in ("/docs", "/redoc", "/openapi.json", "/nothing"):
        assert refused(stranger.get(path))
    wrong = token_of(server)[:-1] + "?"
    for given in (wrong, "x", token_of(server)[:-1], "\u00e9" * 43, token_of(server) + "x"):
        assert refused(stranger.get("/", params={"token": given}))
        assert refused(stranger.get("/", headers={"Authorization": f"Bearer {given}".encode()}))
    for given in (wrong, token_of(server)):  # what 0.2 kept in the cookie is no session
        cookie = f"weal-{server['port']}={given}".encode()
        assert refused(stranger.get("/", headers={"Cookie": cookie}))
    assert stranger.get("/healthz").text == "ok\n"
    assert stranger.get("/static/weal.css").status_code == 200
    assert refused(stranger.post("/healthz"))


def test_the_token_leaves_the_address_for_a_cookie(stranger, server):
    """W1."""
    answer = stranger.get("/c/steel/bench", params={"token": token_of(server), "id": "A-1"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/c/steel/bench?id=A-1"
    cookie = answer.headers["set-cookie"]
    assert re.match(rf"weal-{server['port']}=[\w-]{{43}}; Path=/; Max-Age=\d+;", cookie)
    assert token_of(server) not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert stranger.get("/c/steel/bench").status_code == 200
    elsewhere = stranger.get("//evil.example/x", params={"token": token_of(server)})
    assert not elsewhere.headers["location"].startswith(("//", "http"))


def test_fastapi_shows_no_pages_of_its_own(ann):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert ann.get(path).status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "[", "a@b"]
)
def test_a_foreign_host_is_refused(server, ann, host):
    """W3: a name of somebody else's that leads to this machine."""
    for path in ("/", "/healthz", "/static/weal.css", "/c/steel/bench"):
        assert ann.get(path, headers={"Host": host}).status_code == 400


def test_names_that_were_allowed_are_ours(servers, steel):
    server = servers.start(steel, allowed=["lab-pc.example.org"])
    with Visitor(server) as ann:
        port = server["port"]
        for host in (
            f"lab-pc.example.org:{port}",
            f"LAB-PC.example.org:{port}",
            f"localhost:{port}",
        ):
            assert ann.get("/healthz", headers={"Host": host}).status_code == 200
        assert ann.get("/healthz", headers={"Host": "other.example.org"}).status_code == 400


def posts():
    return [path for method, path in ROUTES if method == "POST"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {},
        {"Origin": "own", "Content-Type": "text/plain"},
        {"Origin": "own", "Content-Type": "application/json"},
        {"Origin": "own", "Content-Type": ""},
    ],
)
def test_forged_posts_are_refused(ann, steel, headers):
    """W4: with the cookie, but from elsewhere, or as what no form of ours sends."""
    before, form = events("steel", steel), ann.secret()
    body = f"form={form}&key=k&id=A-1&value=3&name=eve&n=1&event=1"
    own = {"Content-Type": "application/x-www-form-urlencoded"}
    said = {key: ann.base if value == "own" else value for key, value in headers.items()}
    for path in posts():
        answer = ann.client.post(path, content=body, headers={**own, **said})
        assert answer.status_code == 403, path
    assert events("steel", steel) == before


def test_a_form_of_another_page_is_refused(ann, steel):
    """W4: the right origin, without the field that our own forms have."""
    before = events("steel", steel)
    for form in ("", "x" * 64, "0" * 64):
        for path in posts():
            data = {"form": form, "key": "k", "id": "A-1", "value": "3", "name": "eve", "n": "1"}
            assert ann.post(path, data).status_code in (403, 422), path
        assert ann.tell("steel", "A-1", "3", form, "k").status_code == 403
    assert events("steel", steel) == before


def test_no_get_writes(ann, steel, tmp_path):
    """W4: the store's file has the same bytes after every page was looked at."""
    before = hashlib.sha256((tmp_path / "weal.db").read_bytes()).hexdigest()
    for method, path in ROUTES:
        if method == "GET" and not path.endswith("/news"):
            for query in ("", "?id=A-1&value=3&n=2&key=k&what=labels&ending=csv"):
                ann.get(path + query)
                ann.client.head(path + query)
    assert hashlib.sha256((tmp_path / "weal.db").read_bytes()).hexdigest() == before


def test_a_server_for_reading_refuses_every_write(servers, steel):
    server = servers.start(steel, read_only=True)
    before = events("steel", steel)
    with Visitor(server) as ann:
        for path in posts():
            assert (
                ann.post(path, {"form": "x", "id": "A-1", "value": "3", "key": "k"}).status_code
                == 403
            )
        page = ann.get("/c/steel/bench").text
        assert 'method="post"' not in page
        assert "<form" not in ann.get("/").text
    assert events("steel", steel) == before


def test_a_store_for_reading_refuses_or_drops_whatever_writes():
    store = campaign("memory:").store
    reading, draft = read_only_store(store), Draft("settings", {"changes": {}})
    before = store.head("lab")
    with pytest.raises(NotAllowed):
        reading.create("other", [draft])
    with pytest.raises(NotAllowed):
        reading.transact("lab", lambda tx: [draft])
    reading.write_snapshot("lab", "status", *before, b"{}")
    assert (reading.head("lab"), reading.campaigns()) == (before, ["lab"])
    assert store.read_snapshot("lab", "status") is None


def test_paths_lead_nowhere_else(ann, steel):
    """W6: the campaign and every key are names; nothing in them is a path."""
    for up in UPS:
        for path in (f"/c/{up}/bench", f"/static/{up}", f"/static/vendor/{up}{up}etc/passwd"):
            status, text = ann.raw(path)
            assert status in (400, 404), path
            assert "root:" not in text
        for query in (
            f"/c/steel/file?key={up}",
            f"/new/plan?file={up}",
            f"/work/{quote(up, safe='')}",
        ):
            assert ann.raw(query)[0] in (400, 404, 422), query


def test_names_of_uploads_are_not_paths(ann, tmp_path):
    """W6: an upload is kept under a name of ours, in the folder of the server."""
    form = ann.secret()
    before = {path for path in tmp_path.rglob("*") if "files" not in path.parts}
    for up in UPS:
        files = {"table": (f"{up}x.csv", b"id,a\n1,2\n", "text/csv")}
        answer = ann.client.post(
            "/new", data={"form": form}, files=files, headers={"Origin": ann.base}
        )
        assert answer.status_code in (303, 400, 422)
    after = {path for path in tmp_path.rglob("*") if "files" not in path.parts}
    assert after == before
    kept = [path.name for path in tmp_path.rglob("files/*")]
    assert kept
    assert all(re.fullmatch(r"[0-9a-f]{32}\.csv", name) for name in kept)


def test_sql_in_text_stays_text(ann, steel):
    """W8: in every text parameter; nothing but the labels and notes that were meant is written."""
    form, before = ann.secret(), events("steel", steel)
    for n, text in enumerate(SQL):
        assert ann.get(f"/c/{quote(text, safe='')}/settings").status_code in (400, 404)
        ann.get("/c/steel/bench", params={"id": text})
        ann.get("/c/steel/typed", params={"id": text, "value": text})
        assert ann.tell("steel", text, "3", form, f"k{n}").status_code == 404
        assert ann.tell("steel", "A-1", text, form, f"k{n}").status_code == 422
        assert ann.post("/c/steel/skip", {"form": form, "id": text}).status_code == 404
    assert events("steel", steel) == before
    for n, text in enumerate(SQL):
        ann.client.cookies.set("weal-who", quote(text, safe=""))
        noted = {"note": text, "sure": "true"}
        assert ann.tell("steel", f"A-{n}", "3", form, f"{text}{n}", **noted).status_code == 303
    told = open_store(steel).read("steel")[-len(SQL) :]
    assert [event.body["note"] for event in told] == [text.strip() for text in SQL]
    assert [event.who for event in told] == [text.strip() for text in SQL]


def test_every_answer_has_the_policy(ann, stranger):
    """W5: pages, errors and files alike."""
    for answer in (
        ann.get("/"),
        ann.get("/nothing"),
        stranger.get("/"),
        ann.get("/static/weal.js"),
    ):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; form-action 'self'"
    )


def test_who_is_asked_before_anything_is_written(server, steel):
    before = events("steel", steel)
    with Visitor(server, who="") as nobody:
        assert "Who are you?" in nobody.get("/").text
        form = nobody.secret()
        assert nobody.tell("steel", "A-1", "3", form, "k").status_code == 422
        assert events("steel", steel) == before
        answer = nobody.post("/who", {"form": form, "name": " Zoë <b> ", "back": "//evil.example"})
        assert answer.headers["location"] == "/"
        assert nobody.tell("steel", "A-1", "3", form, "k").status_code == 303
    assert open_store(steel).read("steel")[-1].who == "Zoë <b>"
