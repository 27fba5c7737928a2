"""Connections that never become requests, bodies that nobody wants: raw sockets, real servers."""

import resource
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from constants import constants_json
from shell import typed
from weal.web import server as server_module
from weal.web.request_body import DRAIN_BYTES, MAX_FORM_BYTES, MAX_UPLOAD_BYTES
from weal.web.server import MAX_ANONYMOUS, anonymous_limit
from web.test_exposure import serving
from web.visiting import PATIENCE, Visitor, client_of, token_of

HALF_OPEN = 1000  # connections
FILES = 512  # that the server may open in these tests: fewer than those connections
SOON = 60.0  # seconds: hundreds of times what an answer takes, far less than what hangs
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def connect(server):
    line = socket.create_connection(("127.0.0.1", server["port"]), timeout=PATIENCE)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def is_closed(line, wait=0.0):
    """Whether the server has closed the connection, within that many seconds."""
    line.settimeout(max(wait, 1e-6))
    try:
        while line.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def answer_of(line):
    """The status of the answer, whatever becomes of the connection then."""
    return line.recv(65536)[9:12].decode()


def open_files(server):
    return len(list(Path(f"/proc/{server['pid']}/fd").iterdir()))


@pytest.fixture
def many_files():
    """This process may open as many files as it can be allowed to."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    if before[1] != resource.RLIM_INFINITY and before[1] < HALF_OPEN + 200:
        pytest.skip(f"this process may open {before[1]} files only")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
def test_a_thousand_half_open_connections_leave_the_server_answering(steel, tmp_path, many_files):
    """Headers never finished, no token; `weal serve` as it is typed, with few files to open."""
    few = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))"
    with (
        serving(tmp_path, "--port", "0", "--store", steel, before=few) as server,
        Visitor(server) as ann,
        ExitStack() as crowd,
    ):
        for _ in range(HALF_OPEN):
            crowd.enter_context(connect(server)).sendall(HALF)
        begin = time.monotonic()
        assert ann.get("/c/steel/bench").status_code == 200  # in spite of those that came before
        with Visitor(server) as bo:  # and a new visitor comes in
            assert bo.get("/").status_code == 200
        assert time.monotonic() - begin < SOON
        assert open_files(server) < FILES // 4 + 60  # the cap, and what the server itself opens


def test_authenticated_connections_are_exempt(servers, steel):
    """The cap closes the oldest anonymous connection, and no other."""
    limits = constants_json(server_module, MAX_ANONYMOUS=4, HEADER_SECONDS=600.0)
    server = servers.start(steel, set=limits)
    with Visitor(server) as ann, ExitStack() as stack:
        head = f"GET /c/steel/news HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {ann.session()}\r\n\r\n"
        news = head.encode()
        known, anonymous = [], []
        for _ in range(8):
            known.append(stack.enter_context(connect(server)))
            known[-1].sendall(news)
            assert answer_of(known[-1]) == "200"
        for _ in range(8):
            anonymous.append(stack.enter_context(connect(server)))
            anonymous[-1].sendall(HALF)
        assert all(is_closed(line, SOON) for line in anonymous[:4])
        assert not any(is_closed(line) for line in anonymous[4:])
        assert not any(is_closed(line) for line in known)
        assert ann.get("/").status_code == 200


def test_headers_have_a_time_limit(servers, steel):
    """For the first request and for one that follows; a request under way has none."""
    server = servers.start(steel, set=constants_json(server_module, HEADER_SECONDS=5.0))
    with Visitor(server) as ann, ExitStack() as stack:
        silent, slow, later = (stack.enter_context(connect(server)) for _ in range(3))
        slow.sendall(HALF)
        later.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert answer_of(later) == "200"
        later.sendall(HALF)
        assert all(is_closed(line, SOON) for line in (silent, slow, later))
        with ann.client.stream("GET", "/c/steel/news") as news:
            parts = news.iter_text()
            next(parts)
            time.sleep(6.0)
            ann.tell("steel", "A-1", "3", ann.secret(), "k")
            assert "moved" in next(parts)


def post(path="/c/steel/tell", length=None, cookie="", kind="application/x-www-form-urlencoded"):
    """The headers of a form."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
        f"Cookie: {cookie}\r\nContent-Type: {kind}\r\n{size}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (post(length=10 * 2**20) + b"x", "401"),
        (post() + b"1\r\nx\r\n", "401"),
        (post().replace(b"127.0.0.1", b"evil") + b"1\r\nx\r\n", "400"),
        (post("/healthz").replace(b"POST", b"GET") + b"1\r\nx\r\n", "400"),
    ],
)
def test_a_slow_body_without_a_token_is_answered_and_closed(server, head, status):
    """It never ends: after a second it is answered."""
    with connect(server) as line:
        line.sendall(head)
        line.settimeout(SOON)
        assert answer_of(line) == status
        assert is_closed(line, SOON)


def test_of_a_large_body_without_a_token_little_is_read(server):
    """The answer comes while most of it is still to be sent, and then nothing more is read."""
    sent, block = 0, b"x" * 2**17
    with connect(server) as line:
        line.sendall(post(length=2**30) + b"x" * (DRAIN_BYTES + 2**17))
        line.settimeout(SOON)
        assert answer_of(line) == "401"
        with suppress(OSError):
            while sent < 64 * 2**20:
                line.sendall(block)
                sent += len(block)
    assert sent < 16 * 2**20  # what waits in the buffers of both sides


def test_a_small_body_without_a_token_is_read_before_the_answer(server):
    """A client that sends first and listens later gets its answer, and no reset."""
    for _ in range(20):
        with connect(server) as line:
            line.sendall(post(length=DRAIN_BYTES // 2))
            line.sendall(b"x" * (DRAIN_BYTES // 2))
            assert answer_of(line) == "401"
            while line.recv(65536):  # until it is closed, not reset
                pass


def test_a_client_that_waits_to_be_asked_is_refused_at_once(server):
    """`Expect: 100-continue`: nothing was sent, and nothing is asked for."""
    head = post(length=2**20).replace(b"\r\nOrigin", b"\r\nExpect: 100-continue\r\nOrigin")
    with connect(server) as line:
        line.sendall(head)
        assert answer_of(line) == "401"


@pytest.mark.parametrize(
    ("path", "length"),
    [
        ("/c/steel/tell", 4 * MAX_FORM_BYTES),
        ("/new", MAX_UPLOAD_BYTES + 8 * 2**20),
        ("/nothing", 8 * 2**20),
    ],
)
def test_a_body_over_the_limit_is_answered_with_413(server, path, length):
    """To a client that sends all of it before it listens: no reset, on three addresses."""
    with Visitor(server) as ann, connect(server) as line:
        line.sendall(post(path, length, ann.session()))
        for _ in range(length // 2**18):
            line.sendall(b"x" * 2**18)
        assert answer_of(line) == "413"
        assert is_closed(line, SOON)


def test_a_body_over_the_limit_that_hides_its_length_is_answered_with_413(server):
    """In chunks, some kilobytes more than are taken: all are sent before the answer is read."""
    with Visitor(server) as ann, connect(server) as line:
        line.sendall(post(cookie=ann.session()))
        block = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
        for _ in range(MAX_FORM_BYTES // 2**16 + 4):
            line.sendall(block)
        line.sendall(b"0\r\n\r\n")
        assert answer_of(line) == "413"
        while line.recv(65536):  # until it is closed, not reset
            pass
        assert ann.get("/").status_code == 200


def test_refused_forms_of_visitors_are_answered_without_a_reset(server):
    """403 for what is no form: the whole body is read and dropped."""
    with Visitor(server) as ann, connect(server) as line:
        line.sendall(post(length=2**23, cookie=ann.session(), kind="application/json"))
        line.sendall(b"x" * 2**23)
        assert answer_of(line) == "403"


def test_two_requests_in_one_piece_are_both_answered(server):
    with connect(server) as line:
        one = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        line.sendall(one + one + HALF)
        said = b""
        while said.count(b"HTTP/1.1 200") < 2:
            said += line.recv(65536)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl here: install the Debian package openssl")
    folder = tmp_path_factory.mktemp("certificate")
    files = {"certfile": str(folder / "cert.pem"), "keyfile": str(folder / "key.pem")}
    subprocess.run(
        [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", files["keyfile"], "-out", files["certfile"]],
        check=True, capture_output=True,
    )  # fmt: skip
    return files


def test_a_server_with_tls_has_the_same_limits(servers, steel, certificate):
    """Handshakes that never end are closed; visitors come in by https, with a secure cookie."""
    limits = constants_json(server_module, HEADER_SECONDS=5.0, MAX_ANONYMOUS=4)
    server = servers.start(steel, set=limits, **certificate)
    base = f"https://127.0.0.1:{server['port']}"
    with ExitStack() as stack, client_of(server) as client:
        lines = [stack.enter_context(connect(server)) for _ in range(8)]
        lines[5].sendall(b"GET / HTTP/1.1\r\n\r\n")  # no TLS at all
        client.base_url = base
        answer = client.get("/", params={"token": token_of(server)})
        assert "; Secure" in answer.headers["set-cookie"]
        client.cookies.set("weal-who", "ann")
        form = client.get("/new").text.partition('name="form" value="')[2][:64]
        data = {"form": form, "key": "k", "id": "A-1", "value": "3"}
        for origin, status in ((base, 303), (base.replace("https", "http"), 403)):
            answer = client.post("/c/steel/tell", data=data, headers={"Origin": origin})
            assert answer.status_code == status
        assert all(is_closed(line, SOON) for line in lines)
        context = ssl.create_default_context(cafile=certificate["certfile"])
        with context.wrap_socket(connect(server), server_hostname="127.0.0.1") as line:
            line.sendall(HALF)
            assert is_closed(line, SOON)


def test_a_file_that_is_no_certificate_is_said(steel, certificate):
    done = typed(
        "serve", "--store", steel, "--certfile", certificate["certfile"], "--keyfile", __file__
    )
    assert done.code == 2
    assert "not a PEM certificate" in done.complaint


def test_the_cap_leaves_room_for_other_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for files in (64, 200):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, before[1]))
            assert anonymous_limit() == files // 4
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert anonymous_limit() <= MAX_ANONYMOUS
