"""Real servers on real ports, each made in a moment (`zygote`), and a campaign to serve."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import weal
from web.visiting import Visitor


class Servers:
    """Starts servers, and ends them."""

    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pids = []

    def start(self, url, **options):
        words = {"url": url, "state": str(self.folder / "state"), **options}
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        assert "error" not in found, found
        self.pids.append(found["pid"])
        return found

    def end(self):
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.pids.clear()

    def close(self):
        self.end()
        self.process.communicate()


@pytest.fixture(scope="session")
def every_server(tmp_path_factory):
    found = Servers(tmp_path_factory.mktemp("servers"))
    yield found
    found.close()


@pytest.fixture
def servers(every_server, tmp_path):
    """Servers of one test, with a state of their own."""
    every_server.folder = tmp_path
    yield every_server
    every_server.end()


def candidates(n, extra=""):
    lines = [f"A-{k},{k % 17 - 3.5},{k % 5},{extra}" for k in range(n)]
    return "sample,temp,hours,hardness\n" + "\n".join(lines) + "\n"


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/weal.db"


def begin(url, tmp_path, name="steel", rows=40, **settings):
    """A campaign with some candidates, and no label."""
    pool = tmp_path / "pool.csv"
    pool.write_text(candidates(rows))
    given = {"pool": pool, "id_column": "sample", "target": "hardness", "by": "ann"}
    weal.open_campaign(name, url, **given, **settings).close()


@pytest.fixture
def steel(url, tmp_path):
    """The address of a store with the campaign `steel`."""
    begin(url, tmp_path)
    return url


@pytest.fixture
def server(servers, steel):
    return servers.start(steel)


@pytest.fixture
def ann(server):
    with Visitor(server) as visitor:
        yield visitor
