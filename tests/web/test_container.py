"""The recipe for containers of docs/howto/docker.md, started as written, outside of a container."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from shell import typed
from web.nginx import free_port

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "docker.md").read_text("utf-8")
RECIPE = re.search(r"```dockerfile\n(.*?)```", PAGE, re.DOTALL)[1]
VARIABLES = dict(
    word.split("=", 1) for line in re.findall(r"^ENV (.*)$", RECIPE, re.M) for word in line.split()
)
COMMAND = json.loads(re.search(r"^CMD (.*)$", RECIPE, re.MULTILINE)[1])
INSTALLED = re.search(r'pip install [^"]*"weal\[(.*?)\]"', RECIPE)[1].split(",")


@pytest.fixture
def container(tmp_path):
    """The server of the recipe with its volume in a folder, at another port, and the folder."""
    (tmp_path / "data").mkdir()
    own = {
        name: value.replace("/data", str(tmp_path / "data")) for name, value in VARIABLES.items()
    }
    port = free_port()
    words = [*COMMAND[1:], "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-c", "from weal.cli.main import main; main()", *words],
        env={**os.environ, **own}, cwd=tmp_path / "data",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said = process.stdout.readline()
        assert str(port) in said, process.communicate()
        yield port, tmp_path / "data", own
    finally:
        process.send_signal(signal.SIGTERM)  # as `docker stop` does
        process.communicate()


def get(port, path, host, **headers):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers={"Host": host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_the_server_of_the_recipe_answers_and_keeps_all_in_its_volume(container, monkeypatch):
    port, data, own = container
    assert get(port, "/healthz", "lab.example.org") == (200, "ok\n")
    assert get(port, "/healthz", f"10.0.0.7:{port}")[0] == 400  # a probe has to name the host
    assert get(port, "/api/v1/campaigns", "lab.example.org")[0] == 401
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    token = json.loads(typed("token", "add", "ann", "--may", "manage", "--json").out)["token"]
    answer = get(port, "/api/v1/campaigns", "lab.example.org", Authorization=f"Bearer {token}")
    assert answer[0] == 200, answer
    names = {path.name.removesuffix("-wal").removesuffix("-shm") for path in data.iterdir()}
    assert names <= {"weal.db", "state"}


def test_the_image_has_the_extras_that_its_command_needs():
    assert {"campaign", "web"} <= set(INSTALLED)
    assert COMMAND[:2] == ["weal", "serve"]
