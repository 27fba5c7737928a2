"""`weal` typed in this process, and the same asked for in Python: what came of it."""

import csv
import io
import json
import re
import signal
import sys
import threading
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

import weal
from weal.cli import main
from weal.errors import Exhausted, UnknownCampaign, UnknownId, WealError
from weal.store.protocol import open_store

POOL = "sample,temp,hours,hardness\n" + "".join(
    f"A-{k},{900 + 7 * k % 50},{k % 4 + 0.5},{'' if k > 2 else 5.5 + k}\n" for k in range(9)
)
DOORS = pytest.mark.parametrize("door", ["python", "command"])


class Done(NamedTuple):
    """How a command ended, and what it wrote where."""

    code: int
    out: str
    err: str

    @property
    def complaint(self):
        """The one line that a failed command says, with nothing on stdout."""
        assert self.code not in (0, None)
        assert self.out == ""
        assert "Traceback" not in self.err
        assert "a bug in weal" not in self.err
        line = self.err.splitlines()[-1]
        if line.startswith('{"error"'):  # of --json
            line = f"weal: {json.loads(line)['error']['message']}"
        assert line.startswith("weal: ")
        return line


def typed(*words):
    """What came of typing `weal` and these words."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    hook, code = sys.excepthook, 0
    handler, unraisable = signal.getsignal(signal.SIGINT), sys.unraisablehook
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("default", UserWarning)  # a note, as for everybody
        try:
            main.main([str(word) for word in words])
        except SystemExit as left:
            code = left.code
        finally:
            sys.excepthook, sys.unraisablehook = hook, unraisable
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def called(action):
    """What came of a call, as a command would report it."""
    try:
        action()
    except Exhausted as error:
        return Done(3, "", f"weal: {error}")
    except (ValueError, UnknownId, UnknownCampaign) as error:
        return Done(2, "", f"weal: {error}")
    except WealError as error:
        return Done(1, "", f"weal: {error}")
    return Done(0, "", "")


def events(name, url=None):
    """Hashes of all events of a campaign; none where there is no such campaign."""
    store = open_store(url)
    try:
        return [event.hash for event in store.read(name)] if name in store.campaigns() else []
    finally:
        store.close()


def alone_in(folder, monkeypatch):
    """Work in this folder, with a store of its own and under a name of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("WEAL_STORE", raising=False)
    monkeypatch.setenv("WEAL_WHO", "mk")


def begin_steel():
    """A small campaign with three labels."""
    Path("pool.csv").write_text(POOL)
    assert make("command", "steel", "pool.csv", target="hardness").code == 0


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def make(door, name, pool, id_column="sample", target=None, store="weal.db", types=()):
    if door == "python":
        kinds = dict(one.rsplit("=", 1) for one in types)
        open_ = weal.open_campaign
        given = {"pool": pool, "id_column": id_column, "target": target, "types": kinds}
        return called(lambda: open_(name, store, **given).close())
    words = ["--pool", pool, "--id", id_column, *(["--target", target] if target else [])]
    words += [word for one in types for word in ("--type", one)]
    return typed("new", *words, "--store", store, "--", name)


def tell(door, ids, value, name="steel", store="weal.db", **more):
    if door == "python":

        def action():
            with weal.open_campaign(name, store) as campaign:
                campaign.tell(ids, value, **more)

        return called(action)
    options = [word for key, one in more.items() for word in (f"--{key}", one)]
    return typed("tell", "--store", store, *options, "--", name, ids, value)


def tell_file(door, path, name="steel"):
    if door == "python":

        def action():
            with weal.open_campaign(name, "weal.db") as campaign:
                campaign.tell_file(path)

        return called(action)
    return typed("tell", name, "--file", path)


def refused(done, code, says):
    assert done.code == code
    assert re.search(says, done.complaint)
