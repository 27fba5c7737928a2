"""Where the server listens, and what it lets out: W2, W12, W13, and the token's file."""

import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

import weal
from campaign import postgres_server
from shell import typed
from weal.store.urls import read_name
from weal.web.access import get_or_create_token
from weal.web.server_folder import server_folder
from web.test_request_sizes import shown
from web.visiting import Visitor, token_of

SECRETS = (postgres_server.PASSWORD, unquote(postgres_server.PASSWORD))
RISKY = ["=1+1", "+2", "-3", "@SUM(A1)", "\t=4", "=cmd|' /C calc'!A0"]


@contextmanager
def serving(tmp_path, *words, before="", **environment):
    """`weal serve` as it is typed, after a line of Python; what it says goes to a file."""
    own = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), **environment}
    program = f"{before}\nfrom weal.cli.main import main\nmain()"
    command = [sys.executable, "-c", program, "serve", *words]
    with (tmp_path / "stderr").open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=own, cwd=tmp_path
        )
        try:
            line = process.stdout.readline()
            url = re.search(r"https?://\S+", line)[0]
            port = int(re.search(r":(\d+)/", url)[1])
            yield {"url": url, "port": port, "pid": process.pid, "process": process}
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def tree(pid):
    """The process and all below it; threads may end while they are looked at."""
    found = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update((thread / "children").read_text().split())
    return [pid, *(below for child in found for below in tree(int(child)))]


def listening(pids):
    """Addresses at which these processes listen."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # a line that was just hung up
                if found := re.match(r"socket:\[(\d+)\]", os.readlink(link)):
                    inodes.add(found[1])
    lines = [
        line.split()
        for table in ("tcp", "tcp6", "udp", "udp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    here = [line[1] for line in lines if line[9] in inodes and line[3] in ("0A", "07")]
    return {(socket.inet_ntoa(bytes.fromhex(a)[::-1]), int(p, 16)) for a, p in map(parts, here)}


def parts(address):
    return address.split(":")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
def test_only_this_machine_can_reach_it(steel, tmp_path):
    """W2: sockets of the server and of its worker, once that is at work."""
    with serving(tmp_path, "--port", "0", "--store", steel) as server:
        with Visitor(server) as ann:
            ann.get("/c/steel/bench")
            form = ann.form("/c/steel/bench", "/c/steel/ask")
            shown(ann, ann.post("/c/steel/ask", form))
        pids = tree(server["pid"])
        assert len(pids) == 2
        assert listening(pids) == {("127.0.0.1", server["port"])}


def test_other_hosts_need_a_name(steel):
    """W2."""
    done = typed("serve", "--store", steel, "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2
    assert "--allow-host" in done.complaint
    done = typed("serve", "--store", steel, "--certfile", __file__)
    assert "--keyfile" in done.complaint


def test_a_port_that_is_taken_is_said(steel):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = typed("serve", "--store", steel, "--port", other.getsockname()[1])
    assert "--port" in done.complaint


def test_the_token_survives_and_can_be_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = server_folder(read_name("weal.db"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    first = get_or_create_token(folder)
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
    assert get_or_create_token(folder) == first
    second = get_or_create_token(folder, new=True)
    assert second != first
    assert get_or_create_token(folder) == second
    (folder / "token").chmod(0o644)  # others may have read it
    assert get_or_create_token(folder) not in (first, second)
    (folder / "token").write_text("short")
    (folder / "token").chmod(0o600)
    with pytest.raises(ValueError, match="--new-token"):
        get_or_create_token(folder)


def test_two_servers_of_one_store_have_one_token(servers, steel):
    one, two = servers.start(steel), servers.start(steel)
    assert token_of(one) == token_of(two)


def everything_said(server, tmp_path, ann):
    """All that could be seen of a server: pages, logs, command lines, files but the token's."""
    pages = [
        ann.get(path) for path in ("/", "/c/steel/bench", "/c/steel/settings", "/c/steel/watch")
    ]
    pages += [ann.get("/c/nothing/bench"), ann.get("/nothing")]
    found = [page.text + str(page.headers) for page in pages]
    found += [Path(f"/proc/{pid}/cmdline").read_text() for pid in tree(server["pid"])]
    for path in (tmp_path / "state").rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # drafts come and go
            found += [path.read_bytes().decode("latin-1")] if path.name != "token" else []
    return "\n".join([*found, (tmp_path / "stderr").read_text()])


def test_passwords_and_the_token_are_nowhere(tmp_path):
    """W13: while all is well, and when the database is gone."""
    if postgres_server.programs() is None:
        if os.environ.get("WEAL_POSTGRES") == "required":
            pytest.fail("no PostgreSQL here: install the Debian package postgresql")
        pytest.skip("no PostgreSQL here: install the Debian package postgresql")
    with postgres_server.running() as database:
        url = database.url
        pool = pd.DataFrame({"id": ["a", "b", "c"], "x": [1, 2, 4]})
        weal.open_campaign("steel", url, pool=pool, id_column="id").close()
        hasty = "from weal.store import postgres; postgres.PATIENCE = 0.1"
        with (
            serving(tmp_path, "--port", "0", before=hasty, WEAL_STORE=url) as server,
            Visitor(server) as ann,
        ):
            shown(ann, ann.post("/c/steel/ask", ann.form("/c/steel/bench", "/c/steel/ask")))
            secrets = (*SECRETS, token_of(server))
            said = everything_said(server, tmp_path, ann)
            assert not [one for one in secrets if one in said]
            database.stop()
            gone = ann.get("/c/steel/bench")
            database.start()
            assert gone.status_code == 503
            said = gone.text + str(gone.headers) + (tmp_path / "stderr").read_text()
            assert not [one for one in secrets if one in said]


def test_exports_run_in_no_spreadsheet_and_lose_nothing(servers, url):
    """W12: ids and notes that begin with = + - @."""
    pool = pd.DataFrame({"id": [*RISKY, "a"], "x": [n**2 for n in range(len(RISKY) + 1)]})
    with weal.open_campaign("steel", url, pool=pool, id_column="id", by="ann") as campaign:
        for n, text in enumerate(RISKY):
            campaign.tell(text, float(n), note=text)
    with Visitor(servers.start(url, worker="here")) as ann:

        def export(ending):
            query = {"what": "labels", "ending": ending}
            return shown(ann, ann.get("/c/steel/export", params=query))

        text = export("csv").content.decode()
        cells = [cell for cell in re.split(r"[,\n\r]", text) if cell]
        assert not [cell for cell in cells if cell.lstrip('"')[:1] in tuple("=+@\t")]
        assert not [one for one in cells if one.lstrip('"')[:1] == "-" and not _is_number(one)]
        exact = json.loads(export("json").text)
        assert [row["id"] for row in exact] == RISKY
        assert [row["note"] for row in exact] == [text.strip() for text in RISKY]
        assert list(pd.read_parquet(io.BytesIO(export("parquet").content))["id"]) == RISKY
        answer = export("xlsx")
        assert answer.headers["content-disposition"].startswith("attachment")
        sheet = pd.read_excel(io.BytesIO(answer.content), dtype=str)
        assert list(sheet["id"].str.strip()) == [text.strip() for text in RISKY]


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
