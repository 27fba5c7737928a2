"""`weal bench` as a user types it: what goes where, exit codes, errors of one line."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weal
from weal.benchmark.curve_cache import CURVES_FILE, open_store
from weal.benchmark.protocol import make_plan
from weal.cli import main
from weal.cli.commands import bench
from weal.files import write_files

WEAL = [sys.executable, "-c", "from weal.cli.main import main; main()"]
LIGHT = """
import pathlib, sys
from weal.benchmark import report
from weal.cli.main import main
from weal.files import write_files
report.write = lambda folder, *rest: write_files(pathlib.Path(folder), {"report.html": b""})
main()
"""  # the report has tests of its own, and takes seconds
TINY = ["--realisations", "2", "--queries", "3", "--jobs", "1"]
RUN = ["bench", "run", "--tasks", "gramacy,higdon", "--methods", "random,egp-wvar"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def light(monkeypatch):
    """The report has tests of its own, and takes seconds."""
    monkeypatch.setattr(
        "weal.benchmark.report.write",
        lambda folder, *rest: write_files(Path(folder), {"report.html": b""}),
    )


@pytest.fixture
def run(capsys, monkeypatch):
    """Run weal in this process: exit code, stdout, stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    def call(*words):
        with pytest.raises(SystemExit) as left:
            main.main(list(words))
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return call


def complaint(done):
    """The one line that a failed command says after its notes, and its exit code."""
    code, out, err = done
    assert out == ""
    assert "Traceback" not in err
    return code, err.strip().splitlines()[-1]


def calls_of(code):
    """How many functions a fresh interpreter calls for this code, and what it prints."""
    count = (
        "import atexit, sys\n"
        "calls = []\n"
        "atexit.register(lambda: (sys.setprofile(None), print(len(calls), file=sys.stderr)))\n"
        "sys.setprofile(lambda frame, event, arg: calls.append(0) if event == 'call' else None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", count + code, "--help"], capture_output=True, text=True, check=True
    )
    return int(done.stderr), done.stdout


def test_help_costs_little_more_than_click():
    least, _ = calls_of("import click")
    calls, said = calls_of("from weal.cli.main import main; main()")
    assert least < calls < 3 * least
    assert "bench" in said
    assert "simulate" in said


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from weal.cli.main import weal; weal.main(['--help'], standalone_mode=False)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = {"numpy", "scipy", "sklearn", "pandas", "joblib", "dask", "matplotlib", "rich"}
    assert not heavy & set(loaded)


def test_the_version_is_shown(run):
    assert run("--version") == (0, f"weal {weal.__version__}\n", "")


def test_a_run_gives_a_table_and_a_report(run):
    code, out, err = run(*RUN, *TINY, "--seed", "7")
    assert code == 0
    assert "seed 7" in err
    table, _, rest = out.partition("\n\n")
    assert table.splitlines()[0].split() == ["NMSE", "gramacy", "higdon"]
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["random", "egp-wvar"]
    assert table.count("*") == 2
    paths = [Path(line) for line in rest.splitlines() if line.endswith((".html", ".png"))]
    assert paths[0] == Path("weal-out/run/report.html")
    assert len(paths) > 1
    assert all(path.is_file() for path in paths)


def test_the_same_command_again_finds_all_curves_and_says_the_same(run, light):
    one, two = run(*RUN, *TINY), run(*RUN, *TINY)
    assert one[:2] == two[:2]
    assert one[0] == 0
    assert "8 of 8 curves were finished before" in two[2]


def test_a_run_in_json_is_json_and_nothing_else(run, light):
    code, out, _ = run(*RUN, *TINY, "--json", "--out", "here")
    found = json.loads(out)
    assert code == 0
    assert found["folder"] == "here"
    assert found["seed"] == 0
    assert found["command"].startswith("weal bench run --tasks gramacy,higdon")
    assert {(row["task"], row["method"]) for row in found["final"]} == {
        (task, method) for task in ("gramacy", "higdon") for method in ("random", "egp-wvar")
    }


def test_tasks_are_listed_with_what_is_missing(run, data_folder):
    code, out, err = run("bench", "tasks")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert code == 0
    assert re.search(r"ackley +synthetic +5 +10 +50 +500 +100 +1 .* yes$", lines["ackley"])
    assert lines["california"].endswith(" no")
    assert re.search(r"^california: .*weal bench get california", err, re.MULTILINE)
    assert "stand-in" in lines["malaria-standin"]
    assert len(lines) == 11
    rows = json.loads(run("bench", "tasks", "--json", "--data", str(data_folder))[1])
    assert [row["name"] for row in rows if row["missing"]] == []
    assert rows[5]["name"] == "california"
    assert rows[5]["eta"] == 0.05


def test_the_ready_made_runs_name_what_there_is():
    for tasks, methods in (
        ("all", ["paper", "fair"]),
        (bench.QUICK_TASKS, bench.QUICK_METHODS),
        ("all", [*bench.BESIDE_PEERS, "peers"]),
        (bench.QUICK_TASKS, bench.SIMULATE_METHODS),
        ("all", bench.CHOICE_METHODS),
    ):
        assert make_plan(tasks, methods).methods


def test_whether_choosing_pays_is_a_command(run, monkeypatch):
    seen = []
    monkeypatch.setattr(bench, "_bench", lambda *given: seen.append(given))
    assert run("bench", "choice")[0] == 0
    [(name, tasks, methods, options)] = seen
    assert (name, tasks, options["realisations"], options["queries"]) == ("choice", "all", 10, 100)
    assert set(methods) == {"weal-auto", "weal-random", "weal-even"}


def test_where_its_methods_were_run_it_is_told_whether_choosing_pays(run):
    few = ["--tasks", "gramacy", "--methods", ",".join(bench.CHOICE_METHODS), "--out", "here"]
    code, out, _ = run("bench", "run", *few, "--realisations", "2", "--queries", "2", "--jobs", "1")
    assert code == 0
    assert "weal, auto / weal, random" in out
    assert "weal, auto / weal, even" in out
    assert Path("here/choice.csv").is_file()
    assert "Does choosing pay?" in Path("here/report.html").read_text(encoding="utf-8")


def test_bands_of_all_methods_are_a_switch(run, monkeypatch):
    seen = []
    monkeypatch.setattr("weal.benchmark.report.write", lambda *given: seen.append(given[-1]))
    for words in ([], ["--bands", "all"]):
        assert run(*RUN, *TINY, *words)[0] == 0
    assert seen == ["few", "all"]


def test_methods_are_listed(run):
    _, out, _ = run("bench", "methods")
    assert re.search(r"^egp-multiafs +paper +EGP-multiAFs +yes$", out, re.MULTILINE)
    assert {row["group"] for row in json.loads(run("bench", "methods", "--json")[1])} >= {
        "paper",
        "fair",
        "peers",
    }


def test_a_task_that_is_not_at_hand_is_left_out_with_one_line(run, light):
    words = ["bench", "run", "--tasks", "california,higdon", "--methods", "random", *TINY]
    code, out, err = run(*words)
    assert code == 0
    [line] = [line for line in err.splitlines() if "california" in line]
    assert "weal bench get california" in line
    assert "california" not in out.splitlines()[0]


def test_when_nothing_is_at_hand_the_run_fails(run):
    words = ["bench", "run", "--tasks", "california", "--methods", "random", *TINY]
    code, line = complaint(run(*words))
    assert code == 1
    assert "weal bench get california" in line


def test_get_says_where_the_table_is(run, data_folder, tmp_path):
    code, out, err = run("bench", "get", "california", "--data", str(data_folder))
    assert (code, out) == (0, f"{data_folder / 'california.csv'}\n")
    assert "there already" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["bench", "run", "--methods", "random"], "Missing option '--tasks'"),
        ([*RUN, "--queries", "0"], "--queries"),
        ([*RUN, "--realisations", "0"], "--realisations"),
        ([*RUN, "--jobs", "x"], "--jobs"),
        ([*RUN, "--seed", "-1"], "--seed"),
        ([*RUN, "--data", "nowhere"], "no such folder"),
        (["bench", "run", "--tasks", "higdn", "--methods", "random"], "did you mean 'higdon'?"),
        (["bench", "run", "--tasks", "higdon", "--methods", "randm"], "did you mean 'random'?"),
        (["bench", "run", "--tasks", ",", "--methods", "random"], "name at least one task"),
        (["bench", "get", "kalifornia"], "california"),
        ([*RUN, "--out", "file"], "is a file"),
        ([*RUN, "--out", "file/below"], "is a file"),
        ([*RUN, "--out", "/proc/weal"], "cannot write into /proc/weal"),
        ([*RUN, "--out", "."], "move it away"),
    ],
)
def test_wrong_input_is_refused_in_one_line_and_nothing_is_written(run, words, says):
    Path("file").write_text("mine")
    if words[-1] == ".":
        Path(CURVES_FILE).write_text("not ours")
    before = sorted(Path().iterdir())
    code, line = complaint(run(*words))
    assert code == 2
    assert says in line
    assert line.startswith("weal: ")
    assert sorted(Path().iterdir()) == before


def test_weal_alone_shows_its_help(run):
    code, out, err = run()
    assert code == 2
    assert "Commands:" in out + err


def test_a_package_that_is_missing_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "weal.benchmark.protocol", raising=False)
    code, line = complaint(run(*RUN, *TINY))
    assert code == 1
    assert "the package pandas: pip install" in line


def test_a_mistake_of_ours_is_one_line():
    code = (
        "import weal.benchmark.data_folders, weal.cli.main, sys\n"
        "def broken(*_): raise KeyError('oops')\n"
        "weal.benchmark.data_folders.data_folders = broken\n"
        "weal.cli.main.main(['bench', 'tasks'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "a bug in weal: KeyError: 'oops'" in done.stderr


def curves_in(folder):
    with open_store(folder) as store:
        return len(store._read("SELECT key FROM curve"))


INTERRUPTED = """
import os, signal
from weal.benchmark.curve_cache import CurveStore
from weal.cli.main import main
save, saved = CurveStore.save, []
def save_two(store, *curve):
    save(store, *curve)
    saved.append(curve)
    if len(saved) == 2:
        os.killpg(0, signal.SIGINT)  # as a terminal does: to workers too
CurveStore.save = save_two
main()
"""
INTERRUPTING = """
import os, signal, sys
if "--process-name" in sys.orig_argv:  # a worker of loky's, being born
    try:
        os.close(os.open("first", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        os.killpg(0, signal.SIGINT)
"""
WORDS = ["--realisations", "3", "--queries", "8", "--out", "here"]


def interrupted(program, **environment):
    """Run weal in a group of processes of its own; it is stopped, and says so in one line."""
    done = subprocess.run(
        [sys.executable, "-c", program, *RUN, *WORDS, "--jobs", "2"],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert "the same command resumes" in done.stderr.strip().splitlines()[-1]
    return done.stderr


def test_ctrl_c_says_in_one_line_that_the_same_command_resumes(run, light):
    interrupted(INTERRUPTED)
    assert curves_in(Path("here")) == 2
    code, _, err = run(*RUN, *WORDS, "--jobs", "1")
    assert code == 0
    assert "2 of 12 curves were finished before" in err


def test_ctrl_c_while_workers_start_is_said_in_one_line_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    folders = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    said = interrupted(WEAL[2], PYTHONPATH=os.pathsep.join(folders))
    assert Path("first").exists()
    assert len(said.splitlines()) == 2  # what is run, and that it was stopped


def on_a_terminal(words, **environment):
    """What a terminal gets to see of a command, stdout and stderr together."""
    screen, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", LIGHT, *words],
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )
    os.close(end)
    seen = b""
    while True:
        try:
            seen += os.read(screen, 65536)
        except OSError:
            break
    os.close(screen)
    assert process.wait() == 0
    return seen.decode()


def test_a_terminal_sees_a_live_bar_and_colour_only_where_it_is_wanted():
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    few = ["bench", "run", "--tasks", "higdon", "--methods", "random", *TINY]
    seen = on_a_terminal(few)
    assert "2/2" in seen
    assert colour.search(seen)
    plain = on_a_terminal([*few, "--seed", "1"], NO_COLOR="1")
    assert "2/2" in plain
    assert not colour.search(plain)
