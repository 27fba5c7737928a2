"""Behind a proxy: a real nginx with the documented recipe, a root path, headers of strangers."""

import re
import shutil
import ssl
import subprocess
import threading
import time

import httpx
import pytest

from shell import typed
from weal.web.request_body import MAX_UPLOAD_BYTES
from weal.web.server import Address, check_address
from web import nginx
from web.test_tokens import events, token
from web.visiting import PATIENCE, Visitor, client_of, token_of

ROOT = "/weal"


class Proxied:
    """A browser that comes through nginx, by https, with a token of its own."""

    def __init__(self, folder, port, secret=None):
        # The name of the recipe leads to this machine.
        self.base = f"https://{nginx.HOST}:{port}"
        context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        transport = httpx.HTTPTransport(verify=context, retries=0)
        self.client = httpx.Client(
            transport=_Here(transport), base_url=self.base, timeout=PATIENCE, trust_env=False
        )
        if secret:
            self.answer = self.post("/login", token=secret)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def get(self, path, **more):
        return self.client.get(ROOT + path, **more)

    def post(self, path, **data):
        headers = {"Origin": self.base}
        return self.client.post(ROOT + path, data=data, headers=headers)

    def form(self):
        return re.search(r'name="form" value="([0-9a-f]+)"', self.get("/logout").text)[1]


class _Here(httpx.BaseTransport):
    """Sends requests for the host of the recipe to this machine; TLS asks for the host's name."""

    def __init__(self, transport):
        self.transport = transport

    def handle_request(self, request):
        here = httpx.Request(
            request.method,
            request.url.copy_with(host="127.0.0.1"),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": nginx.HOST},
        )
        return self.transport.handle_request(here)

    def close(self):
        self.transport.close()


@pytest.fixture
def behind(servers, steel, tmp_path):
    """Folder and port of an nginx before a server of the store, and the server."""
    options = {"root_path": ROOT, "proxies": ["127.0.0.1"], "allowed": [nginx.HOST]}
    server = servers.start(steel, named_only=True, worker="here", **options)
    folder = tmp_path / "nginx"
    folder.mkdir()
    with nginx.running(folder, server["port"]) as port:
        yield folder, port, server


def crawl(person):
    """Every address that a page names, followed; all are below the root path."""
    seen, todo = set(), {f"{ROOT}/"}
    while todo and len(seen) < 60:
        path = todo.pop()
        seen.add(path)
        answer = person.client.get(path)
        assert answer.status_code in (200, 303, 422), path
        places = re.findall(r'(?:href|src|action|hx-get|hx-post|data-news)="([^"#]*)"', answer.text)
        places += [
            answer.headers[one] for one in ("location", "hx-redirect") if one in answer.headers
        ]
        for place in places:
            assert place.startswith(f"{ROOT}/"), (path, place)
        if answer.headers["content-type"].startswith("text/html"):
            todo |= {one.partition("?")[0] for one in places if _is_page(one)} - seen
    return seen


def _is_page(address):
    """Whether an address answers a GET, and ends."""
    forms = (
        r"/(news|ask|tell|skip|failed|undo|results|sheet|keep|add|unskip|cancel|who|copy|archive|label"
        r"|another|sample|limit|revoke)$"
    )
    return not re.search(forms, address)


def test_the_recipe_serves_all_pages_below_the_root_path(behind, steel):
    folder, port, _ = behind
    with Proxied(folder, port, token(steel, "zoe", "manage")) as zoe:
        assert zoe.answer.status_code == 303
        cookie = zoe.answer.headers["set-cookie"]
        assert f"Path={ROOT}/;" in cookie
        assert cookie.endswith("; Secure")
        seen = crawl(zoe)
        assert {f"{ROOT}/c/steel/{one}" for one in ("bench", "watch", "explore")} <= seen
        assert f"{ROOT}/static/weal.css" in seen
        assert zoe.client.get(ROOT).headers["location"].endswith(f"{ROOT}/")


def test_a_label_goes_through_the_proxy_and_the_address_of_the_client_too(behind, steel):
    folder, port, _ = behind
    with Proxied(folder, port, token(steel, "zoe", "measure")) as zoe:
        answer = zoe.post("/c/steel/tell", form=zoe.form(), key="k", id="A-1", value="3,5")
        assert answer.status_code == 303
        assert answer.headers["location"].startswith(f"{ROOT}/c/steel/")
        zoe.client.headers["X-Forwarded-Proto"] = "http"  # nginx says what is true
        zoe.client.headers["X-Forwarded-For"] = "192.0.2.1"
        zoe.client.headers["X-Forwarded-Host"] = "evil.example"
        answer = zoe.post("/c/steel/tell", form=zoe.form(), key="k2", id="A-2", value="3.5")
        assert answer.status_code == 303
        assert "evil" not in answer.headers["location"]
    assert [one.who for one in events("steel", steel)][-2:] == ["zoe", "zoe"]


def test_programs_reach_the_api_through_the_proxy(behind, steel):
    folder, port, _ = behind
    with Proxied(folder, port) as robot:
        secret = token(steel, "robot-1", "ask,tell", ["steel"])
        robot.client.headers["Authorization"] = f"Bearer {secret}"
        place, content = f"{ROOT}/api/v1/campaigns/steel/tell", {"id": "A-3", "value": 2.5}
        answer = robot.client.post(place, json=content, headers={"Idempotency-Key": "k-1"})
        assert answer.status_code == 200, answer.text
        refused = robot.client.get(f"{ROOT}/api/v1/campaigns/steel/status")
        assert refused.status_code == 403
        assert refused.json()["code"] == "not_permitted"
        hidden = robot.client.get(f"{ROOT}/api/v1/campaigns/other/status")
        assert hidden.status_code == 404
    assert events("steel", steel)[-1].who == "robot-1"


def test_events_are_passed_on_at_once(behind, steel):
    """Through the proxy a page hears of a label while the stream is open."""
    folder, port, _ = behind
    secret, heard = token(steel, "zoe", "measure"), threading.Event()
    told = threading.Event()

    def listen():
        place = f"{ROOT}/c/steel/news"
        with (
            Proxied(folder, port, secret) as eyes,
            eyes.client.stream("GET", place) as stream,
        ):
            states = set()
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    states.add(line)
                    told.set()
                if len(states) > 1:
                    heard.set()
                    return

    thread = threading.Thread(target=listen)
    thread.start()
    assert told.wait(PATIENCE)
    with Proxied(folder, port, secret) as zoe:
        zoe.post("/c/steel/tell", form=zoe.form(), key="k", id="A-1", value="3")
    assert heard.wait(PATIENCE)
    thread.join(PATIENCE)


def test_large_tables_pass_up_to_the_limit_of_both(behind, steel):
    folder, port, _ = behind
    limit = re.search(r"client_max_body_size (\d+)m;", nginx.RECIPE)[1]
    assert int(limit) * 2**20 == MAX_UPLOAD_BYTES
    with Proxied(folder, port, token(steel, "zoe", "manage")) as zoe:
        form, headers = zoe.form(), {"Origin": zoe.base}
        for size, status in ((MAX_UPLOAD_BYTES - 4096, 303), (MAX_UPLOAD_BYTES + 4096, 413)):
            table = b"a,b\n" + b"1,2\n" * (size // 4)
            answer = zoe.client.post(
                f"{ROOT}/new", data={"form": form}, files={"table": ("x.csv", table)},
                headers=headers,
            )  # fmt: skip
            assert answer.status_code == status, size


def test_no_secret_is_in_a_log_of_the_proxy(behind, steel):
    folder, port, _ = behind
    secret = token(steel, "zoe", "manage")
    with Proxied(folder, port, secret) as zoe:
        zoe.get("/c/steel/explore?q=private-words")
        zoe.get("/", params={"token": secret})
        session = "; ".join(one.value for one in zoe.client.cookies.jar)
    log = (folder / "access.log").read_text()
    assert f"GET {ROOT}/c/steel/explore 200" in log
    for hidden in (secret, session, "private-words"):
        assert hidden not in log + (folder / "error.log").read_text()


def test_a_server_that_is_gone_and_back_keeps_the_session(behind, servers, steel):
    folder, port, server = behind
    with Proxied(folder, port, token(steel, "zoe", "measure")) as zoe:
        servers.end()
        assert zoe.get("/").status_code == 502
        options = {"root_path": ROOT, "proxies": ["127.0.0.1"], "allowed": [nginx.HOST]}
        servers.start(steel, port=server["port"], named_only=True, **options)
        for _ in range(100):  # nginx waits after a failure
            if (status := zoe.get("/").status_code) != 502:
                break
            time.sleep(0.2)
        assert status == 200


def test_a_proxy_may_remove_the_root_path(servers, steel, tmp_path):
    options = {"root_path": ROOT, "proxies": ["127.0.0.1"], "allowed": [nginx.HOST]}
    server, folder = servers.start(steel, named_only=True, **options), tmp_path / "nginx"
    folder.mkdir()
    proxied = f"proxy_pass http://127.0.0.1:{server['port']}/;"
    with (
        nginx.running(folder, server["port"], proxied) as port,
        Proxied(folder, port, token(steel, "zoe", "measure")) as zoe,
    ):
        assert f'href="{ROOT}/c/steel/bench"' in zoe.get("/").text
        assert zoe.get("/c/steel/bench").status_code == 200
        assert zoe.get("/static/weal.css").status_code == 200


def test_the_unit_is_one_that_systemd_understands(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd here")
    (tmp_path / "opt").mkdir()
    weal = tmp_path / "opt" / "weal"
    weal.write_text("#!/bin/sh\n")
    weal.chmod(0o755)
    unit = tmp_path / "weal.service"
    unit.write_text(
        nginx.changed(nginx.UNIT, **{"/opt/weal/bin/weal": str(weal), "User=weal\n": ""})
    )
    done = subprocess.run(
        [program, "verify", str(unit)], capture_output=True, text=True, check=False
    )
    if "Failed to" in done.stderr and "bus" in done.stderr:
        pytest.skip("systemd does not run here")
    assert "weal.service" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


def test_the_options_of_the_unit_and_of_the_page_are_those_of_the_command():
    words = set(re.findall(r"--[a-z-]+", nginx.UNIT))
    help_text = typed("serve", "--help").out
    assert words <= set(re.findall(r"--[a-z-]+", help_text))


def test_headers_of_a_proxy_that_was_not_named_are_ignored(servers, steel):
    """Whoever connects directly cannot forge an address, or https."""
    server = servers.start(steel)
    with client_of(server) as client:
        statuses = [
            client.get("/", headers={
                "Authorization": f"Bearer wrong{n}", "X-Forwarded-For": f"192.0.2.{n}",
            }).status_code
            for n in range(40)
        ]  # fmt: skip
        answer = client.get(
            "/", params={"token": token_of(server)}, headers={"X-Forwarded-Proto": "https"}
        )
    assert 429 in statuses  # one address, whatever it claims
    assert "Secure" not in answer.headers.get("set-cookie", "")


def test_a_named_proxy_tells_the_addresses_of_its_clients_apart(servers, steel):
    server = servers.start(steel, proxies=["127.0.0.1"])
    with client_of(server) as client:

        def status(address):
            headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": address}
            return client.get("/", headers=headers).status_code

        assert [status("192.0.2.1") for _ in range(40)][-1] == 429
        assert status("192.0.2.2") == 401
        assert status("6.6.6.6, 192.0.2.1") == 429  # what the client claims comes before


def test_a_root_path_without_a_proxy(servers, steel):
    server = servers.start(steel, root_path=ROOT)
    assert f"{ROOT}/?token=" in server["url"]
    with client_of(server) as client:
        answer = client.get(f"{ROOT}/c/steel/bench", params={"token": token_of(server)})
        assert answer.headers["location"] == f"{ROOT}/c/steel/bench"
        assert f"Path={ROOT}/;" in answer.headers["set-cookie"]
        page = client.get(f"{ROOT}/")
        assert page.status_code == 200
        assert (
            client.get("/healthz").status_code == client.get(f"{ROOT}/healthz").status_code == 200
        )
        assert client.get("/wealth").status_code == 401  # not the root path, and no cookie for it
        who = client.post(
            f"{ROOT}/who", headers={"Origin": str(client.base_url)},
            data={"name": "ann", "back": "/c/steel/bench",
                  "form": re.search(r'name="form" value="([0-9a-f]+)"', page.text)[1]},
        )  # fmt: skip
        assert who.headers["location"] == f"{ROOT}/c/steel/bench"
        assert f"Path={ROOT}/" in who.headers["set-cookie"]
        out = client.get(f"{ROOT}/logout").text
        assert f'action="{ROOT}/logout"' in out


def test_the_session_of_another_root_path_is_none(servers, steel, url, tmp_path):
    """Two servers of different stores on one host: the cookie of one opens nothing on the other."""
    from web.conftest import begin

    other = f"sqlite:///{tmp_path}/other.db"
    begin(other, tmp_path)
    one, two = servers.start(steel, root_path="/a"), servers.start(other, root_path="/b")
    with Visitor(one) as ann, client_of(two) as client:
        ann.client.get("/a/", params={"token": token_of(one)})
        value = next(one.value for one in ann.client.cookies.jar if one.name.startswith("weal-"))
        for name in (f"weal-{one['port']}", f"weal-{two['port']}"):
            assert client.get("/b/", headers={"Cookie": f"{name}={value}"}).status_code == 401


@pytest.mark.parametrize(
    "path", ["weal", "/", "/a//b", "/a/../b", "/a b", "/<x>", "/a?b", "/c", "/api/x"]
)
def test_root_paths_that_cannot_be_are_refused_with_the_way_out(path):
    with pytest.raises(ValueError, match=r"--root-path .*/weal"):
        check_address(Address(root_path=path))


@pytest.mark.parametrize("proxy", ["*", "0.0.0.0/0", "::/0", "localhost", "", "127.0.0.1:80"])
def test_proxies_that_are_not_named_are_refused_with_the_way_out(proxy):
    with pytest.raises(ValueError, match=r"--proxy .*127\.0\.0\.1"):
        check_address(Address(proxies=(proxy,)))


def test_a_server_for_named_tokens_prints_none_and_takes_no_other(servers, steel):
    shared = servers.start(steel)
    server = servers.start(steel, named_only=True)
    assert "token" not in server["url"]
    with client_of(server) as client:
        for given in ({"params": {"token": token_of(shared)}},
                      {"headers": {"Authorization": f"Bearer {token_of(shared)}"}}):  # fmt: skip
            assert client.get("/", **given).status_code == 401
        headers = {"Authorization": f"Bearer {token(steel, 'bo', 'read')}"}
        assert client.get("/", headers=headers).status_code == 200
    done = typed("serve", "--store", steel, "--named-only", "--new-token")
    assert "weal token revoke" in done.complaint
