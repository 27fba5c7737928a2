"""`weal.Remote`: a campaign on a server, with the methods of `Campaign`."""

import http.server
import itertools
import json
import threading
from contextlib import contextmanager

import pytest

import weal
from weal.client import connection
from weal.client.connection import Address, Connection
from weal.errors import Unreachable
from weal.store.protocol import open_store
from web.conftest import begin
from web.visiting import token_of


@pytest.fixture
def server(servers, url, tmp_path):
    """A server of the campaign steel with 40 rows."""
    begin(url, tmp_path, rows=40)
    return servers.start(url, worker="here")


@pytest.fixture
def steel(server):
    with weal.Remote(address(server), token_of(server), campaign="steel", by="robot") as remote:
        yield remote


def address(server):
    return f"http://127.0.0.1:{server['port']}"


def test_a_loop_on_another_machine_is_the_loop_of_a_campaign(steel, url):
    one, *more = steel.ask(), *steel.ask(3)
    assert len({one, *more}) == 4
    assert steel.tell(one, 3.5, note="first") > 0
    assert steel.tell({name: k / 2 for k, name in enumerate(more)}) > 0
    rows = steel.ask_rows(2, key="monday")
    assert steel.ask_rows(2, key="monday") == rows
    steel.fail(rows[0]["id"], note="cracked")
    assert steel.release(rows[1]["id"]) == [rows[1]["id"]]
    assert steel.asked() == []
    with weal.open_campaign("steel", url) as local:
        ledger = local.read_ledger()
        assert ledger.n_labels == 4
        assert list(ledger.failures.labels) == [rows[0]["id"]]
        assert set(local.to_frame()["by"]) == {"robot"}
        assert steel.to_frame()["id"].tolist() == local.to_frame()["id"].tolist()
        assert steel.card(one)["labels"][0]["y"] == 3.5
        assert steel.settings()["seed"] == local.read_ledger().settings["seed"]
        assert [one["seq"] for one in steel.events()] == [one.seq for one in local.events()]


def test_rows_are_skipped_brought_back_and_withdrawn(steel, url):
    steel.skip(["A-1", "A-2"], note="no material")
    steel.unskip("A-2")
    steel.tell("A-3", 1.25)
    steel.tell("A-3", 1.5, replace=True)
    steel.withdraw("A-3", note="mixed up")
    with weal.open_campaign("steel", url) as local:
        ledger = local.read_ledger()
    assert (list(ledger.skipped), ledger.n_labels) == (["A-1"], 0)


def test_a_file_of_labels_is_sent(steel, tmp_path):
    path = tmp_path / 'batch "7"; é.csv'
    path.write_text("sample,hardness\nA-1,2.5\nA-2,3.5\n", encoding="utf-8")
    found = steel.tell_file(path)
    assert (found["labels"], found["new"]) == (2, 2)
    path.write_text("sample,hardness\nA-99,2.5\n", encoding="utf-8")
    with pytest.raises(weal.UnknownId, match="A-99"):
        steel.tell_file(path)


def test_a_run_measures_until_no_row_is_left(steel, url):
    measured = []

    def oracle(row):
        measured.append(row)
        if len(measured) == 2:
            raise RuntimeError("stirrer stopped")
        return row["temp"] * 2.0

    assert steel.run(oracle, 4, on_failure="fail") == 4
    with weal.open_campaign("steel", url) as local:
        assert local.read_ledger().n_labels == 4
        [failed] = local.read_ledger().failures.labels.values()
    assert "stirrer stopped" in failed[0].note
    with pytest.raises(ZeroDivisionError):
        steel.run(lambda row: 1 / 0, 1)
    assert steel.asked() == []  # given back


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda one: one.tell("Z-1", 1.0), weal.UnknownId, "unknown_id"),
        (lambda one: one.ask(500), weal.Exhausted, "exhausted"),
        (lambda one: one.tell("A-1", float("nan")), ValueError, None),
        (lambda one: one.tell("A-1", "12,5,5"), ValueError, "invalid_value"),
        (lambda one: one.tell(["A-1", "A-2"], [1.0]), ValueError, None),
        (lambda one: one.open("brass").status(), weal.WealError, "unknown_campaign"),
        (lambda one: one.predict([{"temp": 1.0, "hours": 2}]), weal.WealError, "no_model"),
    ],
)
def test_errors_are_those_of_a_campaign(steel, call, kind, code):
    with pytest.raises(kind) as caught:
        call(steel)
    assert code is None or caught.value.code == code


def test_a_label_that_is_there_is_not_replaced_by_mistake(steel):
    steel.tell("A-1", 1.0)
    with pytest.raises(weal.AlreadyLabelled, match="A-1"):
        steel.tell("A-1", 2.0)


def test_events_are_followed_as_they_come(steel, url):
    found = []

    def follow():
        found.extend(itertools.islice(steel.open("steel").follow(since=0), 3))

    watcher = threading.Thread(target=follow)
    watcher.start()
    with weal.Remote(f"{steel.connection.address.host}:{steel.connection.address.port}",
                     steel.connection.token, campaign="steel") as other:  # fmt: skip
        other.tell("A-1", 1.0)
        other.tell("A-2", 1.0)
    watcher.join(60.0)
    assert [one["seq"] for one in found] == [1, 2, 3]


def test_the_campaign_is_that_of_the_address_or_the_only_one(server, url, tmp_path):
    token = token_of(server)
    assert weal.Remote(f"{address(server)}/campaigns/steel", token).name == "steel"
    with weal.Remote(address(server), token) as remote:
        assert remote.name == "steel"
    begin(url, tmp_path, "brass 2")
    with weal.Remote(address(server), token) as remote:
        with pytest.raises(ValueError, match="'brass 2', 'steel'"):
            remote.ask()
        assert remote.open("brass 2").describe()["name"] == "brass 2"


def test_a_token_is_needed_and_never_shown(server, monkeypatch):
    monkeypatch.delenv("WEAL_TOKEN", raising=False)
    with pytest.raises(ValueError, match="weal token add"):
        weal.Remote(address(server))
    monkeypatch.setenv("WEAL_TOKEN", token_of(server))
    with weal.Remote(address(server), campaign="steel") as remote:
        assert remote.describe()["name"] == "steel"
        assert token_of(server) not in repr(remote) + repr(remote.connection)
    with (
        weal.Remote(address(server), "wrong", campaign="steel") as remote,
        pytest.raises(weal.WealError) as caught,
    ):
        remote.status()
    assert caught.value.code == "not_authenticated"


def test_labels_are_saved_once_though_the_server_dies(servers, url, tmp_path):
    """The server is killed between saving and answering; the client sends the label again."""
    begin(url, tmp_path, rows=4)
    server = servers.start(url, dies=["before the answer", 1])

    def sleep(seconds):
        if len(servers.pids) == 1:
            servers.start(url, port=server["port"])

    with weal.Remote(address(server), token_of(server), campaign="steel", by="robot") as steel:
        steel.connection.sleep = sleep
        steel.tell("A-1", 2.5, repeat=True)
    told = [one for one in open_store(url).read("steel") if one.kind == "told"]
    assert [(one.id, one.body["y"]) for one in told] == [("A-1", 2.5)]


@contextmanager
def answering(*answers):
    """A server that gives these answers in turn: status, headers, content; None hangs up."""
    left, seen = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(dict(self.headers))
            found = left.pop(0)
            if found is None:
                self.close_connection = True
                return
            status, headers, content = found
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}", seen
        found.shutdown()


def remote_of(url):
    return weal.Remote(url, "t", campaign="steel")


DONE = (200, {}, json.dumps({"event": 7}).encode())


def test_a_busy_server_is_asked_again_with_the_same_key():
    paused = []
    busy = (429, {"Retry-After": "2"}, b"{}")
    with answering(None, busy, (503, {}, b""), DONE) as (url, seen), remote_of(url) as remote:
        remote.connection.sleep = paused.append
        assert remote.tell("A-1", 1.0) == 7
    assert len({one["Idempotency-Key"] for one in seen}) == 1
    assert len(paused) == 3
    assert paused[1] >= 2.0
    assert {one["Authorization"] for one in seen} == {"Bearer t"}


def test_a_page_of_another_program_is_named():
    answers = (404, {}, b"<html>"), (302, {"Location": "/weal/"}, b"")
    with answering(*answers) as (url, _), remote_of(url) as remote:
        with pytest.raises(weal.WealError, match="check the address"):
            remote.status()
        with pytest.raises(weal.WealError, match="/weal/"):
            remote.status()


def test_a_server_that_is_not_there_is_named():
    place, _ = Address.parse("http://127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9 gave no answer"):
        Connection(place, "t", patience=0.0).get("/campaigns")


@pytest.mark.parametrize(
    "url", ["ftp://lab", "http://", "http://lab:port", "http://u:p@lab", "http://lab?token=x"]
)
def test_a_wrong_address_is_refused(url):
    with pytest.raises(ValueError, match="address"):
        weal.Remote(url, "t")


def test_every_error_of_weal_is_found_by_its_code():
    for kind in connection._error_kinds():
        problem = json.dumps({"detail": "words", "code": kind.code, "request_id": "r-1"})
        found = connection.error_of(connection.Reply(400, {}, problem.encode()))
        assert found.code == kind.code
        assert isinstance(found, weal.WealError)
        assert str(found) == "words"
