"""Odd requests: hosts, origins, headers and addresses that are not quite ours."""

import http.client
import socket
import time

from shell import events
from weal.web.refusals import POLICY
from web.visiting import PATIENCE, Visitor, client_of, token_of

HEADERS = ("content-security-policy", "x-content-type-options", "referrer-policy")
HOSTS = [
    "evil@127.0.0.1", "evil:x@127.0.0.1:80", "127.0.0.1:80@evil", "127.0.0.1:", "127.0.0.1:8x",
    "127.0.0.1:1:1", "127.0.0.1/", "127.0.0.1?x", "127.0.0.1#x", "127.0.0.1\\evil",
    "localhost.", "[127.0.0.1]x", "[::1", "::1", "[::1%25lo]", "127.0.0.1, evil",
    "127.0.0.1 evil", "%31", "//127.0.0.1", "http://127.0.0.1",
]  # fmt: skip
ORIGINS = [
    "file://{host}", "https://{host}", "ftp://{host}", "//{host}", "{host}", "http://{host}/",
    "http://evil@{host}", "http://{host}.evil", "http://{host}, http://evil", "null", "",
    "http://{host}#", "http:{host}",
]  # fmt: skip


def test_odd_hosts_are_refused(ann):
    for host in HOSTS:
        for path in ("/", "/healthz"):
            assert ann.get(path, headers={"Host": host}).status_code == 400, host


def test_plain_hosts_are_ours(ann):
    for host in ("127.0.0.1", "LOCALHOST:1", "[::1]:8765"):
        assert ann.get("/healthz", headers={"Host": host}).status_code == 200


def test_odd_origins_are_refused(ann, steel):
    """The scheme counts, and nothing but scheme, host and port may stand there."""
    host, before, form = ann.base.removeprefix("http://"), events("steel", steel), ann.secret()
    for n, origin in enumerate(ORIGINS):
        headers = {"Origin": origin.format(host=host)}
        data = {"form": form, "key": f"k{n}", "id": "A-1", "value": "3"}
        answer = ann.client.post("/c/steel/tell", data=data, headers=headers)
        assert answer.status_code == 403, origin
    assert events("steel", steel) == before


def sends_by_https(visitor, id_, **headers):
    """The status and text of a form that a page at https:// sends."""
    form = {"form": visitor.secret(), "key": f"k-{id_}", "id": id_, "value": "3"}
    said = {"Origin": visitor.base.replace("http:", "https:"), **headers}
    answer = visitor.client.post("/c/steel/tell", data=form, headers=said)
    return answer.status_code, answer.text


def test_a_proxy_that_speaks_https_says_so(servers, steel):
    """The page came by https: the header of a proxy that was named is believed, and of no other."""
    with Visitor(servers.start(steel, proxies=["127.0.0.1"])) as ann:
        status, text = sends_by_https(ann, "A-1")
        assert status == 403
        assert "X-Forwarded-Proto" in text
        assert sends_by_https(ann, "A-1", **{"X-Forwarded-Proto": "https"})[0] == 303
    for proxies in ([], ["192.0.2.7"]):
        with Visitor(servers.start(steel, proxies=proxies)) as bo:
            status, text = sends_by_https(bo, "A-2", **{"X-Forwarded-Proto": "https"})
            assert status == 403
            assert "--proxy" in text


def test_a_stray_authorization_header_is_no_form_token(servers, steel):
    """Of a proxy, of another program, with a token that is not valid or only for reading."""
    server, reading = servers.start(steel), servers.start(steel, read_only=True)
    before = events("steel", steel)
    with Visitor(server) as ann:
        for said in ("Basic eDp5", "Bearer", "Bearer wrong", "x", f"Bearer {token_of(reading)}"):
            for form in ("", "0" * 64):
                data = {"form": form, "key": "k", "id": "A-1", "value": "3"}
                answer = ann.post("/c/steel/tell", data, Authorization=said)
                assert answer.status_code == 403, said
    assert events("steel", steel) == before


def test_the_token_itself_needs_no_form_token(server, steel):
    headers = {"Authorization": f"Bearer {token_of(server)}", "Cookie": "weal-who=robot"}
    with client_of(server) as client:
        data = {"key": "k", "id": "A-1", "value": "3"}
        assert client.post("/c/steel/tell", data=data, headers=headers).status_code == 303
        foreign = {**headers, "Origin": "http://evil.example"}
        assert client.post("/c/steel/tell", data=data, headers=foreign).status_code == 403


def test_headers_that_came_twice_say_nothing(server, ann):
    """Two origins, two types, two tokens: none of them is believed."""
    own = [("Cookie", ann.session()), ("Origin", ann.base)]
    kind = [("Content-Type", "application/x-www-form-urlencoded")]
    body = f"form={ann.secret()}&key=k&id=A-1&value=3"
    for more in ([("Origin", ann.base)], kind):
        line = http.client.HTTPConnection("127.0.0.1", server["port"], timeout=PATIENCE)
        line.putrequest("POST", "/c/steel/tell")
        for key, value in (*own, *kind, *more, ("Content-Length", str(len(body)))):
            line.putheader(key, value)
        line.endheaders(body.encode())
        assert line.getresponse().status == 403
        line.close()


THEN = [
    "/c/steel/bench\r\nSet-Cookie: weal-who=eve", "/c/steel\n", "/c/\x00", "/c/\u00fc\u4e2d",
    "/c/\u2028x", "/c/a b", "/new\\evil", "/c/\x7f", "/c/\U0001f600",
]  # fmt: skip


def finished_work(ann):
    """The id of a job that has ended."""
    answer = ann.get("/c/steel/export", params={"what": "labels", "ending": "csv"})
    place = answer.headers["location"]
    work = place.partition("/work/")[2].partition("?")[0] or place.partition("work=")[2]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if ann.get(f"/work/{work}", params={"then": "/c/steel/x"}).is_redirect:
            return work
        time.sleep(0.05)
    raise AssertionError("the work does not end")


def test_addresses_to_go_to_are_no_headers(servers, steel):
    """`then=` of a job that has ended, and the address after one's name."""
    with Visitor(servers.start(steel, worker="here")) as ann:
        work, form = finished_work(ann), ann.secret()
        for then in THEN:
            for part in ({}, {"HX-Request": "true"}):
                answer = ann.get(f"/work/{work}", params={"then": then}, headers=part)
                assert answer.status_code in (204, 303), then
                found = answer.headers.get("location") or answer.headers["hx-redirect"]
                assert found.isascii()
                assert found.isprintable()
                assert " " not in found
                assert "set-cookie" not in answer.headers
            said = {"form": form, "name": "ann", "back": then}
            assert ann.post("/who", said).status_code == 303
        for then in ("//evil", "https://evil", "/static/x", "javascript:alert(1)", ""):
            assert ann.get(f"/work/{work}", params={"then": then}).status_code == 404


def test_a_mistake_of_ours_has_the_security_headers(servers, steel):
    """500, as a page and as a part of one; without details."""
    with Visitor(servers.start(steel, breaks=True)) as ann:
        for part in ({}, {"HX-Request": "true"}):
            answer = ann.get("/c/steel/bench", headers=part)
            assert answer.status_code == 500
            assert "RuntimeError" in answer.text
            assert "a detail" not in answer.text
            assert answer.headers["content-security-policy"] == POLICY
            assert all(name in answer.headers for name in (*HEADERS, "cache-control"))
            assert answer.headers["content-type"].startswith("text/html")
            assert ("<html" in answer.text) is not bool(part)
        assert ann.get("/logout").status_code == 200  # and the server goes on


def test_pages_that_are_open_to_all_give_no_form_away(server):
    """An error below /static, to somebody without a token."""
    with client_of(server) as client:
        answer = client.get("/static/nothing")
    assert answer.status_code == 404
    assert 'name="form"' not in answer.text


def test_what_is_no_request_is_refused(server):
    for words in (b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server["port"]), timeout=PATIENCE) as line:
            line.sendall(words)
            line.shutdown(socket.SHUT_WR)
            assert line.recv(4096)[9:12] in (b"400", b"")
