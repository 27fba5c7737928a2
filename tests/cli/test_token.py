"""`weal token`: a token is shown once, typing errors are answered, nothing else has the secret."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shell import typed
from weal.store.protocol import open_store
from weal.store.tokens import digest_of


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEAL_STORE", raising=False)
    Path("pool.csv").write_text("id,x,y\na,1.5,\nb,2.25,\nc,0.5,\n")
    assert typed("new", "alloys", "--pool", "pool.csv", "--target", "y").code == 0


def tokens():
    store = open_store("weal.db")
    found = {one.name: one for one in store.tokens()}
    store.close()
    return found


def test_a_token_is_printed_once_and_nowhere_else():
    done = typed("token", "add", "robot-1", "--may", "ask,tell", "--campaign", "alloys")
    secret = done.out.strip()
    assert secret.startswith("weal_")
    assert "shown once" in done.err
    assert secret not in done.err
    found = tokens()["robot-1"]
    assert (found.digest, found.may, found.campaigns) == (
        digest_of(secret), {"ask", "tell"}, {"alloys"},
    )  # fmt: skip
    for words in (["token", "list"], ["token", "list", "--json"], ["doctor"], ["log", "alloys"]):
        shown = typed(*words)
        assert secret not in shown.out + shown.err
        assert digest_of(secret) not in shown.out + shown.err
    assert secret.encode() not in Path("weal.db").read_bytes()


def test_the_list_and_the_revocation():
    typed("token", "add", "robot-1", "--may", "measure", "--expires", "2w")
    typed("token", "add", "ann", "--may", "manage")
    lines = [line.split() for line in typed("token", "list").out.splitlines()]
    assert [line[:4] for line in lines[1:]] == [
        ["ann", "manage", "all", "valid"],
        ["robot-1", "measure", "all", "valid"],
    ]
    assert "sessions have ended" in typed("token", "revoke", "robot-1").err
    states = {one["name"]: one["state"] for one in json.loads(typed("token", "list", "--json").out)}
    assert states == {"ann": "valid", "robot-1": "revoked"}


@pytest.mark.parametrize(
    ("text", "length"),
    [("30d", timedelta(days=30)), ("12h", timedelta(hours=12)), ("90 min", timedelta(minutes=90))],
)
def test_a_token_ends_after_that_time(text, length):
    typed("token", "add", "robot-1", "--may", "read", "--expires", text)
    found = tokens()["robot-1"]
    assert found.expires - found.created == length


def test_a_token_ends_at_the_beginning_of_a_day():
    typed("token", "add", "robot-1", "--may", "read", "--expires", "2040-02-29")
    ends = datetime(2040, 2, 29, tzinfo=UTC)
    assert abs(tokens()["robot-1"].expires - ends) < timedelta(seconds=1)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--may", "tel"], "did you mean 'tell'"),
        (["--may", ""], "no permission was given"),
        ([], "--may"),
        (["--may", "read", "--campaign", "alloy"], "it has 'alloys'"),
        (["--may", "read", "--expires", "0d"], "write 12h, 30d"),
        (["--may", "read", "--expires", "-3d"], "write 12h, 30d"),
        (["--may", "read", "--expires", "2020-01-01"], "write 12h, 30d"),
        (["--may", "read", "--expires", "1M"], "write 12h, 30d"),
        (["--may", "read", "--expires", "nan d"], "write 12h, 30d"),
        (["--may", "read", "--store", "no/such/folder.db"], "make"),
    ],
)
def test_typing_errors_make_no_token_and_name_the_way_out(words, advice):
    assert advice in typed("token", "add", "robot-1", *words).complaint
    assert tokens() == {}


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[2J", "ann\u202e", "x" * 200])
def test_hostile_names_are_refused_and_not_printed_raw(name):
    done = typed("token", "add", name, "--may", "read")
    assert "name" in done.complaint
    assert "\x1b" not in done.err


def test_a_name_that_is_taken_or_unknown_is_answered_with_the_command():
    typed("token", "add", "robot-1", "--may", "read")
    assert (
        "weal token revoke robot-1" in typed("token", "add", "Robot-1", "--may", "read").complaint
    )
    assert "did you mean 'robot-1'" in typed("token", "revoke", "robot1").complaint


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_token_that_could_not_be_shown_is_revoked():
    program = "import sys; from weal.cli.main import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", program, "token", "add", "robot-1", "--may", "read"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert tokens()["robot-1"].revoked is not None
    assert typed("token", "add", "robot-1", "--may", "read").code == 0


def test_tokens_are_no_command_that_loads_numerics():
    program = (
        "import sys; from weal.cli.main import main\n"
        "try: main(['token', 'add', 'robot-1', '--may', 'read', '--expires', '3d'])\n"
        "except SystemExit: pass\n"
        "print([one for one in ('numpy', 'pandas', 'fastapi', 'pyarrow') if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_token_is_limited_and_gets_nothing_more():
    typed("token", "add", "robot-1", "--may", "measure", "--expires", "30d")
    done = typed("token", "limit", "robot-1", "--may", "tell", "--campaign", "alloys")
    assert done.code == 0
    assert "tell" in done.out
    found = tokens()["robot-1"]
    assert (found.may, found.campaigns) == ({"tell"}, {"alloys"})
    for more in (["--may", "manage"], ["--expires", "60d"]):
        done = typed("token", "limit", "robot-1", *more)
        assert done.code == 2
        assert "make another one" in done.err
    assert typed("token", "limit", "robot-1", "--campaign", "nobody").code == 2
    assert tokens()["robot-1"] == found
