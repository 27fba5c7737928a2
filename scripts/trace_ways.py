"""Trace the six ways through the package: modules and rooms entered, and how often the log is read.

    python scripts/trace_ways.py [--json] [--list WAY]

    tell            `weal tell` of one label
    ask             `weal ask` after it
    ask on shards   the same of a campaign whose candidates stay in Parquet files
    page tell       a label posted to the page of `weal serve`
    fit, predict    `EnsembleGPRegressor.fit` and `.predict`

Each way runs in a process of its own, and is traced from the command or call to its end: every call
of a function of the package counts, those of modules that are being imported do not. A change of
room is a call from a function of one room into another. Reads are counted as statements that
SQLite runs: of the events (`weal_event`), and of the head of the log (`weal_campaign`).
`--list` prints the modules of a way, in the order in which they are entered.
"""

import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

WAYS = ("tell", "ask", "ask on shards", "page tell", "fit", "predict")
COLUMNS = ("modules", "rooms", "changes of room", "reads of events", "reads of the head")
OPTIMIZED = 0x1  # flag of code that is a function, and not a class body
READS = {
    "reads of events": re.compile(r"^\s*SELECT\b.*\b(FROM|JOIN) weal_event\b", re.I | re.S),
    "reads of the head": re.compile(r"^\s*SELECT\b.*\bhash\b.*\bFROM weal_campaign\b", re.I | re.S),
}


class Trace:
    """What is called in the package while it is `on`, in every thread."""

    def __init__(self) -> None:
        import weal

        self.root = str(Path(weal.__file__).parent) + os.sep
        self.on = False
        self.importing = threading.local()
        self.modules: dict[str, None] = {}
        self.changes = 0
        self.reads = dict.fromkeys(READS, 0)
        sys.setprofile(self.profile)
        threading.setprofile(self.profile)
        self.watch_sqlite()

    def profile(self, frame: Any, event: str, _: Any) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_name == "<module>":
            depth = getattr(self.importing, "depth", 0)
            self.importing.depth = depth + (1 if event == "call" else -1)
        elif event == "call" and self.on and not getattr(self.importing, "depth", 0):
            self.enter(frame, code)

    def enter(self, frame: Any, code: Any) -> None:
        module = self.module_of(code)
        if module is None or not code.co_flags & OPTIMIZED:
            return
        self.modules.setdefault(module)
        caller = frame.f_back
        while caller is not None and self.module_of(caller.f_code) is None:
            caller = caller.f_back
        if caller is not None and room_of(self.module_of(caller.f_code) or "") != room_of(module):
            self.changes += 1

    def module_of(self, code: Any) -> str | None:
        if not code.co_filename.startswith(self.root):
            return None
        return code.co_filename.removeprefix(self.root).removesuffix(".py").replace(os.sep, ".")

    def watch_sqlite(self) -> None:
        connect = sqlite3.connect

        def watched(*args: Any, **how: Any) -> sqlite3.Connection:
            connection = connect(*args, **how)
            connection.set_trace_callback(self.statement)
            return connection

        sqlite3.connect = watched  # type: ignore[assignment]

    def statement(self, text: str) -> None:
        for name, pattern in READS.items():
            if self.on and pattern.search(text):
                self.reads[name] += 1

    def report(self) -> dict[str, Any]:
        rooms = {room_of(module) for module in self.modules}
        counts = (len(self.modules), len(rooms), self.changes, *self.reads.values())
        return {**dict(zip(COLUMNS, counts, strict=True)), "entered": list(self.modules)}


def room_of(module: str) -> str:
    """The room of a module: its folder in the package, or itself.

    >>> room_of("learner.pools.memory"), room_of("errors")
    ('learner', 'errors')
    """
    return module.partition(".")[0]


# The ways, each in a process of its own.


def weal(*words: str) -> str:
    """What `weal` prints for these words."""
    (script,) = entry_points(group="console_scripts", name="weal")
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with redirect_stdout(out), suppress(SystemExit):
        script.load()(list(words))
    return out.buffer.getvalue().decode()


def command_way(words: tuple[str, ...]) -> dict[str, Any]:
    """The trace of a command."""
    trace = Trace()
    trace.on = True
    weal(*words)
    trace.on = False
    return trace.report()


def model_way(way: str) -> dict[str, Any]:
    """The trace of `fit` or `predict`."""
    import numpy as np

    from weal import EnsembleGPRegressor

    X = np.random.default_rng(0).uniform(-2, 2, (40, 3))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    model = EnsembleGPRegressor(random_state=0)
    if way == "predict":
        model.fit(X, y)
    trace = Trace()
    trace.on = True
    model.fit(X, y) if way == "fit" else model.predict(X, return_std=True)
    trace.on = False
    return trace.report()


def page_way(row: str) -> dict[str, Any]:
    """The trace of a label for this row, posted to a server in this process."""
    trace, out = Trace(), io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)

    def visit() -> None:
        try:
            post_label(trace, address_in(out), row)
        finally:
            signal.raise_signal(signal.SIGINT)

    visitor = threading.Thread(target=visit)
    (script,) = entry_points(group="console_scripts", name="weal")
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        visitor.start()
        with suppress(SystemExit, KeyboardInterrupt):
            script.load()(["serve", "--port", "0"])
    visitor.join()
    return trace.report()


def address_in(out: io.TextIOWrapper) -> str:
    """The address that `weal serve` prints, once it has."""
    for _ in range(600):
        if found := re.search(r"http://\S+", out.buffer.getvalue().decode()):
            return found[0]
        time.sleep(0.1)
    raise RuntimeError("weal serve printed no address")


def post_label(trace: Trace, address: str, row: str) -> None:
    """Open the page, say who is there, and post a label as the form does."""
    parts = urllib.parse.urlsplit(address)
    base = f"{parts.scheme}://{parts.netloc}"
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    browser.addheaders = [("Origin", base)]
    page = _patiently(browser, address)
    (form,) = set(re.findall(r'name="form" value="([0-9a-f]+)"', page))

    def post(path: str, **fields: str) -> None:
        data = urllib.parse.urlencode({"form": form, **fields}).encode()
        browser.open(base + path, data).read()

    post("/who", name="ann")
    browser.open(f"{base}/c/alloys/bench").read()  # the ledger is read once before
    trace.on = True
    post("/c/alloys/tell", id=row, value="301.5", key="0" * 32, sure="1")
    trace.on = False


def _patiently(browser: Any, address: str) -> str:
    for _ in range(100):
        with suppress(OSError):
            return str(browser.open(address).read().decode())
        time.sleep(0.1)
    raise RuntimeError(f"no server at {address}")


# Campaigns that the ways begin from.


def make_campaigns() -> dict[str, tuple[str, ...]]:
    """Two campaigns with a model in weal.db, here; the words of each command."""
    import pyarrow
    from pyarrow import parquet

    from weal import open_campaign, samples
    from weal.samples import alloys

    how = {"id_column": "sample", "target": "hardness", "by": "ann"}
    with open_campaign("alloys", "weal.db", pool=samples.path("alloys.csv"), **how) as campaign:
        first = campaign.ask(6)
        campaign.tell(first[:4], alloys.measure(first[:4]))
        campaign.ask(1)
    Path("pool").mkdir()
    for k in range(3):
        names = [f"P-{k}-{n}" for n in range(100)]
        columns = {"sample": names, "a": [n / 100.0 for n in range(100)], "b": [float(k)] * 100}
        parquet.write_table(pyarrow.table(columns), f"pool/part-{k}.parquet")
    with open_campaign("shards", "weal.db", pool="pool", id_column="sample", by="ann") as campaign:
        rows = campaign.ask(9)
        campaign.tell(rows[:8], [0.1 * n for n in range(8)])
        campaign.ask(1)
        campaign.tell(rows[8], 1.5)
    label = str(float(alloys.measure(first[4])))
    return {
        "tell": ("tell", "alloys", first[4], label),
        "ask": ("ask", "alloys"),
        "ask on shards": ("ask", "shards"),
        "page tell": (first[5],),
    }


def trace_ways() -> dict[str, dict[str, Any]]:
    """All ways, one after the other, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"WEAL_STORE": "sqlite:///weal.db", "WEAL_WHO": "ann", "XDG_STATE_HOME": folder}
        how: dict[str, Any] = {"cwd": folder, "env": {**os.environ, **own}}
        words = run_here(["--make"], how)
        return {way: run_here(["--way", way, *words.get(way, ())], how) for way in WAYS}


def run_here(words: list[str], how: dict[str, Any]) -> Any:
    """What this script prints for these words, in another process, as JSON."""
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed: {done.stderr}")
    return json.loads(done.stdout)


def one_way(way: str, words: tuple[str, ...]) -> dict[str, Any]:
    """The trace of one way, in this process."""
    if way == "page tell":
        return page_way(*words)
    return model_way(way) if way in ("fit", "predict") else command_way(words)


def main(words: list[str]) -> None:
    """Print the table, or the modules of a way."""
    if words[:1] == ["--make"]:
        print(json.dumps(make_campaigns()))
    elif words[:1] == ["--way"]:
        print(json.dumps(one_way(words[1], tuple(words[2:]))))
    elif words[:1] == ["--list"]:
        print(*trace_ways()[words[1]]["entered"], sep="\n")
    elif "--json" in words:
        print(json.dumps(trace_ways(), indent=1))
    else:
        print(f"{'':16}" + "".join(f"{name:>20}" for name in COLUMNS))
        for way, found in trace_ways().items():
            print(f"{way:16}" + "".join(f"{found[name]:20}" for name in COLUMNS))


if __name__ == "__main__":
    main(sys.argv[1:])
