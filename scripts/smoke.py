"""Smoke test of an installed weal: without extras, and with each extra that is named.

    python smoke.py [EXTRA...]      in an environment with nothing but weal[EXTRA...]

Imports nothing but weal, what its extras bring, and the standard library. `scripts/package` and
tests/test_wheel.py run it in environments of their own.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import metadata
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

WEAL = [sys.executable, "-c", "from weal.cli.main import main; main()"]


def weal(*words: str, code: int = 0) -> str:
    """What a command prints, or why it failed; it has to end with this exit code."""
    done = subprocess.run([*WEAL, *words], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == code, f"weal {' '.join(words)} ended with {done.returncode}: {said}"
    assert "Traceback" not in said, said
    return done.stderr if code else done.stdout


def nothing() -> None:
    """What needs no extra: the lines of the README, and commands that only look."""
    text = str(metadata("weal").get_payload() or metadata("weal")["Description"])
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks, "the README in the wheel has no Python"
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    for words in (["--help"], ["ask", "--help"], ["completion", "bash"]):
        assert weal(*words)
    readme_commands(text)
    program = Path(sys.prefix, "bin", "weal")
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == weal("--version")


def readme_commands(text: str) -> None:
    """The campaign of the README, as one types it, and a table in Parquet."""
    [block] = [
        one for one in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if "weal ask" in one
    ]
    lines = re.findall(r"^\$ weal (.*)$", block, re.M)
    assert len(lines) >= 7, lines
    for line in lines:
        weal(*shlex.split(line, comments=True))
    weal("export", "reactions", "--to", "labels.parquet")
    weal("best", "reactions", "--goal", "maximise", "--to", "best.csv")
    for name in ("predictions.csv", "labels.parquet", "best.csv"):
        assert Path(name).stat().st_size > 100, name


def doctor(extras: list[str]) -> None:
    """`weal doctor` lists exactly the installed packages."""
    found = json.loads(weal("doctor", "--json"))
    lacking = [one for one in extras if not found["extras"].get(one, one == "all")]
    assert not lacking, f"weal doctor says that {lacking} are not there"
    if not extras:
        assert not any(found["extras"].values()), found["extras"]
        for command, extra in (("serve", "web"), ("mcp", "mcp"), ("bench quick", "bench")):
            assert f'pip install "weal[{extra}]"' in weal(*command.split(), code=1)


def sample() -> list[str]:
    """What `weal new` needs."""
    from weal.samples import path

    return ["alloys", "--pool", str(path("alloys.csv")), "--id", "sample", "--target", "hardness"]


def frames() -> None:
    """A learner on frames, a box, tables as answers."""
    import polars

    from weal import ActiveLearner, box

    pool = box({"temp": (20, 200), "time": (1, 60, "log")}, 64)
    for frame in (pool, polars.DataFrame({name: list(pool[name]) for name in ("temp", "time")})):
        learner = ActiveLearner(frame)
        ids = learner.ask(8)
        learner.tell(ids, [float(n) for n, _ in enumerate(ids)])
        assert len(learner.to_frame("predictions")) == 64


def campaign() -> None:
    """A round of a campaign, its status, pictures and predictions."""
    weal("new", *sample())
    rows = json.loads(weal("ask", "alloys", "-n", "2", "--json"))
    assert len(rows) == 2
    weal("tell", "alloys", rows[0]["id"], "322.6")
    assert "labels" in weal("status", "alloys")
    assert "predicted.png" in weal("plot", "alloys", "--to", "pictures")
    weal("export", "alloys", "--what", "predictions", "--to", "predictions.parquet")


def mcp() -> None:
    """The tools of an assistant."""
    from weal.assistant.server import make_server
    from weal.assistant.tools import CampaignTools
    from weal.store.actors import READ_ONLY
    from weal.store.protocol import open_store

    with closing(open_store("sqlite:///tools.db")) as store:
        assert make_server(CampaignTools(store, READ_ONLY)).name == "weal"


def widget() -> None:
    """A label typed in the widget of a notebook."""
    import weal as package

    learner = package.ActiveLearner([[0.0], [1.0], [2.0]])
    shown = learner.widget()
    assert "render" in shown._esm
    assert "weal-bench" in shown._css
    shown.displayed.receive({"action": "ask", "n": 1, "key": "first"})
    row = shown.view["rows"][0]
    shown.displayed.receive({"action": "tell", "row": row["row"], "values": ["1,5"], "key": "b"})
    assert [label.y for label in learner.labels] == [1.5]


def excel() -> None:
    """A table in Excel."""
    import openpyxl

    from weal.tables.table import read_table

    book = openpyxl.Workbook()
    for row in (["id", "temp"], ["A-1", 900], ["A-2", 950.5]):
        book.active.append(row)
    book.save("pool.xlsx")
    assert read_table("pool.xlsx").cells("temp") == [900, 950.5]


def postgres() -> None:
    """A server that is not there: the driver is, and says so."""
    said = weal("list", "--store", "postgresql://nobody@127.0.0.1:1/nowhere", code=1)
    assert "psycopg" not in said, said


def bench() -> None:
    """A small experiment, with its report."""
    words = "bench run --tasks branin --methods random --realisations 1 --queries 1 --jobs 1"
    weal(*words.split(), "--out", "results")
    assert any(Path("results").glob("*.html"))


def web() -> None:
    """The pages, asked for once."""
    words = [*WEAL, "serve", "--port", "0", "--store", "sqlite:///served.db"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http\S+", server.stdout.readline())
        assert found, "weal serve names no address"
        visitor = build_opener(HTTPCookieProcessor())  # the token becomes a session
        for page in (found[0], f"{found[0].split('/?')[0]}/static/vendor/htmx.min.js"):
            with visitor.open(page) as answer:
                assert answer.status == 200
    finally:
        server.terminate()
        server.communicate()


def cluster() -> None:
    """A pool in a file, and a local Dask cluster that reads it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import weal as package

    X = np.random.default_rng(0).normal(size=(500, 3))
    pq.write_table(pa.table({name: X[:, n] for n, name in enumerate("abc")}), "pool.parquet")
    learner = package.ActiveLearner(package.open_pool("pool.parquet"), scheduler="local:1")
    assert len(learner.ask(3)) == 3
    learner.close()


def peers() -> None:
    """One method of each of the other packages."""
    words = "bench run --tasks branin --methods peers --realisations 1 --queries 1 --jobs 1"
    weal(*words.split(), "--out", "beside")


USES: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (frames, campaign, excel, mcp, postgres, bench, web, widget, cluster, peers)
}


def main(extras: list[str]) -> None:
    """All that these extras are for."""
    import weal as package

    assert Path(sys.prefix) in Path(package.__file__).parents, (
        f"{package.__file__} is not installed"
    )
    named = [one for one in USES if one in extras or ("all" in extras and one != "peers")]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        doctor(extras)
        for use in [USES[one] for one in named] or [nothing]:
            use()
        os.chdir("/")
    print(f"weal {package.__version__} works with {', '.join(named) or 'no extra'}")


if __name__ == "__main__":
    main(sys.argv[1:])
