"""Many writers at once: R7, R8, R9 and, for connections that are lost, R11 of the test plan."""

import logging
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from campaign import crowd, dying
from campaign.postgres_server import PASSWORD
from campaign.telling import NAME, labels, make, names, tell
from soak import count
from weal.errors import WealError
from weal.store.events import Draft
from weal.store.integrity import examine
from weal.store.protocol import open_store

ROUNDS = count(6, long=20)  # in each of which a campaign is made
EACH = count(60, long=250)  # labels of a writer
RIVALS = count(50, long=200)  # ids that all tell


def test_8_processes_open_or_create_the_same_campaign(shared_url):  # R7
    answers = crowd.together("open_or_create", shared_url, ROUNDS)
    assert [sum(made) for made in zip(*answers, strict=True)] == [1] * ROUNDS
    for r in (0, ROUNDS - 1):
        store = open_store(shared_url.replace("weal.db", f"weal{r}.db"))
        assert labels(store, f"round {r}") == {f"id{k}": float(k) for k in range(8)}
        store.close()


def test_8_processes_upgrade_the_same_file(quick_sqlite_url, quick_folder):
    crowd.together("upgrading", quick_sqlite_url, 3)
    assert len(list(quick_folder.glob("*.v1"))) == 3


def test_8_writers_and_4_readers(shared_url):  # R8
    answers = crowd.together("writers_and_readers", shared_url, EACH, 4)
    assert sorted(number for each in answers for number in each) == list(range(3, 3 + 8 * EACH))
    store = open_store(shared_url)
    assert [event.seq for event in store.read(NAME)] == list(range(1, 3 + 8 * EACH))
    assert labels(store) == {f"id{i}": float(i % 8) for i in range(8 * EACH)}
    store.close()


def test_8_processes_tell_the_same_id(shared_url):  # R9
    answers = crowd.together("same_id", shared_url, RIVALS)
    winners = [[k for k in range(8) if each[k]] for each in zip(*answers, strict=True)]
    assert [len(several) for several in winners] == [1] * RIVALS
    store = open_store(shared_url)
    assert labels(store) == {f"id{r}": float(k) for r, [k] in enumerate(winners)}
    store.close()


def test_postgres_clients_killed_at_random(postgres_url):  # R11
    store = open_store(postgres_url)
    make(store, names(1000))
    store.close()
    [report] = dying.run("random_kills", postgres_url, 20)
    assert report["told"] > 20


@contextmanager
def teller(url):
    """A process that tells labels when asked to; at the end everything it answered is checked.

    What is yielded lets it begin with 50, and when 10 are there, gives back a function that waits
    for the other 40: in between, something may happen to the server.
    """
    store = open_store(url)
    make(store, names(2_000))
    process = subprocess.Popen(
        [sys.executable, crowd.__file__, "when_asked", url], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dying.environment(),
    )  # fmt: skip
    answered = []

    def hear(count):
        answered.extend(int(process.stdout.readline()) for _ in range(count))

    def begin():
        process.stdin.write("50\n")
        process.stdin.flush()
        hear(10)
        return lambda: hear(40)

    try:
        yield begin
        out, err = process.communicate()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert labels(store) == {f"id{i}": float(i) for i in answered}
    assert answered == list(range(len(answered)))
    assert '"double": 1' in out
    store.close()


def test_postgres_backends_killed(postgres_url, server):  # R11
    import psycopg

    with teller(postgres_url) as begin, psycopg.connect(server.url, autocommit=True) as admin:
        for _ in range(5):
            kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            kill += "WHERE application_name = 'weal' AND pid <> pg_backend_pid()"
            end = begin()
            assert admin.execute(kill).fetchone()[0] >= 1
            end()


def test_postgres_stopped_and_restarted(postgres_url, server):  # R11
    with teller(postgres_url) as begin:
        for mode in ("fast", "immediate", "fast", "immediate", "fast"):
            end = begin()
            server.stop(mode)
            time.sleep(0.2)  # so that it is also looked for in vain
            server.start()
            end()
    assert [one for one in examine(postgres_url) if one.level != "fine"] == []


@contextmanager
def cutting(port, before):
    """A port that leads to the server, and is cut once: before a COMMIT goes there, or after the
    server has answered it."""
    cuts, answered = [], threading.Event()

    def serve():
        while True:
            near, _ = listening.accept()
            far = socket.create_connection(("127.0.0.1", port))
            _start(_to_server, near, far, cuts, None if before else answered)
            _start(_to_client, near, far, cuts, answered)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        _start(serve)
        yield listening.getsockname()[1], cuts
        listening.shutdown(socket.SHUT_RDWR)


def _to_server(near, far, cuts, answered):
    """What the client says, until a COMMIT; where its answer is waited for, it goes there too."""
    with near, far:
        while data := near.recv(65536):
            last = b"COMMIT" in data and not cuts
            if last:
                cuts.append(near)
            if not last or answered:
                far.sendall(data)
            if last:
                answered and answered.wait()
                break
        for end in (near, far):  # whoever still reads there wakes up
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _to_client(near, far, cuts, answered):
    while data := far.recv(65536):
        if near in cuts:
            answered.set()
        else:
            near.sendall(data)


def _start(work, *arguments):
    """Do the work in a thread that ends when its sockets do."""

    def quietly():
        with suppress(OSError):
            work(*arguments)

    threading.Thread(target=quietly, daemon=True).start()


@pytest.mark.parametrize("before", [True, False], ids=["not committed", "committed"])
@pytest.mark.parametrize("deed", ["transact", "create"])
def test_a_commit_in_doubt_is_written_once(postgres_url, server, before, deed):  # R11
    store = open_store(postgres_url)
    make(store, names(5), "other")
    if deed == "transact":
        make(store, names(5))
    with cutting(server.port, before) as (port, cuts):
        far = open_store(re.sub(r":\d+/", f":{port}/", postgres_url) + "&sslmode=disable")
        if deed == "transact":
            again = [Draft("told", {"v": 1, "y": 2.5}, id="id1")]
            written = far.transact(NAME, lambda book: again)
            assert [event.seq for event in written] == [3]
            assert list(written) == store.read(NAME, since=2)
        else:
            assert make(far, names(5))
            assert not make(far, names(5))
        assert cuts
        far.close()
    assert len(store.read(NAME)) == (3 if deed == "transact" else 2)
    store.close()


def secrets():
    return [PASSWORD, PASSWORD.replace("%40", "@"), "s3cret"]


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace("s3cret", "s3cretwrong"),
        lambda url: url.replace("%40", "@"),
        lambda url: url.replace("%40", "/"),
        lambda url: url.replace("%40", "%4"),
        lambda url: re.sub(r":\d+/", ":1/", url),
        lambda url: url.replace("127.0.0.1", "no.such.host.invalid"),
        lambda url: url + "&nonsense=1",
        lambda url: "postgresql://127.0.0.1:1/x?password=" + PASSWORD,
    ],
)
def test_passwords_are_in_no_error(postgres_url, change, caplog):
    import traceback

    caplog.set_level(logging.DEBUG)
    with pytest.raises((WealError, ValueError)) as caught:
        open_store(change(postgres_url))
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert not [secret for secret in secrets() if secret in shown]
    assert "postgresql://" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_passwords_are_in_no_repr_and_no_finding(postgres_url):
    store = open_store(postgres_url)
    make(store, names(3))
    shown = repr(store) + store.url + repr(store.engine) + repr(examine(postgres_url))
    with pytest.raises(WealError) as caught:
        store.read("nothing")
    assert not [secret for secret in secrets() if secret in shown + str(caught.value)]
    assert "weal:***@127.0.0.1" in store.url
    store.close()


def test_a_locked_campaign_says_so(postgres_url):
    one, other = open_store(postgres_url), open_store(postgres_url)
    make(one, names(3))
    other.engine.read(lambda sql: sql.rows("SET lock_timeout = '100ms'"))

    def decide(book):
        with pytest.raises(WealError, match="kept the campaign locked for a minute: try again"):
            tell(other, "id1", 1.5)
        return []

    one.transact(NAME, decide)
    assert tell(other, "id1", 1.5) == 3
    one.close()
    other.close()


def test_a_database_with_another_encoding_is_refused(server):
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(WealError, match=r"encoding LATIN1.*ENCODING 'UTF8'"):
        open_store(server.address("latin"))


def test_a_user_without_rights_is_told_so(server, postgres_url):
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute("CREATE ROLE guest LOGIN PASSWORD 's3cret'")
    with pytest.raises(WealError, match="your user may not do that"):
        open_store(postgres_url.replace(f"weal:{PASSWORD}", "guest:s3cret"))
