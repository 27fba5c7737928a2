"""Commands that are interrupted, whose output nobody reads, or that meet odd files and places."""

import os
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shell import DOORS, make, tell, typed

pytestmark = pytest.mark.usefixtures("in_a_folder")

# Ctrl-C at the n-th import (or any other event that Python tells of) after main was entered.
INTERRUPTED = """
import os, signal, sys
from weal.cli.main import main
left, event = int(sys.argv[1]), sys.argv[2]
def hook(name, args):
    global left
    if name == event:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
main(sys.argv[3:])
"""


START = ("-c", "from weal.cli.main import main; main()")


def run(words, *, program=START, shell=None, **options):
    """A command in a process of its own."""
    given = {"capture_output": True, "timeout": 120, "check": False, **options}
    environment = {**os.environ, "WEAL_WHO": "mk", **given.pop("env", {})}
    command = [sys.executable, *program, *words]
    return subprocess.run(shell or command, shell=bool(shell), env=environment, **given)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize(
    ("words", "event", "at"),
    [
        ("list", "import", (1, 2, 3, 10)),
        ("ask steel", "import", (1, 30, 150, 400)),
        ("ask steel", "sqlite3.connect", (1,)),
        ("--help", "import", (1, 5)),
    ],
)
def test_ctrl_c_is_one_line_and_130_imports_included(steel, words, event, at):
    for n in at:
        given = [str(n), event, *words.split()]
        done = run(given, program=("-c", INTERRUPTED))
        assert (done.returncode, done.stderr) == (130, b"weal: stopped\n"), (n, done.stderr)


# The program `weal` as it is installed, with Ctrl-C at the n-th import since that of its commands.
PROGRAM = """
import os, signal, sys
left = int(os.environ["LEFT"])
def hook(name, args):
    global left
    if name == "import" and "weal.cli" in sys.modules:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
from weal.cli.main import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_ctrl_c_while_the_program_is_imported_is_one_line_and_130(tmp_path):
    (tmp_path / "weal").write_text(PROGRAM)
    for n in (1, 2, 3, 8, 20, 40):
        done = run(["--help"], program=(str(tmp_path / "weal"),), env={"LEFT": str(n)})
        assert (done.returncode, done.stderr) == (130, b"weal: stopped\n"), (n, done.stderr)
    assert run(["--help"], program=(str(tmp_path / "weal"),), env={"LEFT": "-1"}).returncode == 0


def test_a_program_that_imports_the_commands_keeps_its_own_ctrl_c():
    words = "import signal, weal.cli.main; print(signal.getsignal(signal.SIGINT).__name__)"
    assert run([], program=("-c", words)).stdout == b"default_int_handler\n"


# Ctrl-C while the command waits for another program to let the file go.
WAITING = """
import os, signal, time
from weal.cli.main import main
sleep = time.sleep
def interrupted(seconds):
    os.kill(os.getpid(), signal.SIGINT)
    sleep(seconds)
time.sleep = interrupted
main()
"""


def test_ctrl_c_while_another_program_has_the_lock_is_heard_at_once(steel):
    connection = sqlite3.connect("weal.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    done = run(["tell", "steel", "A-5", "7"], program=("-c", WAITING))  # SQLite would wait a minute
    connection.close()
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"weal: stopped\n")


def weal(words):
    return f"{sys.executable} -c 'from weal.cli.main import main; main()' {words}"


@pytest.mark.parametrize("words", ["export steel --what events --to -", "list", "--help"])
def test_a_reader_that_has_seen_enough_ends_a_command_quietly(steel, words):
    """`| head -1`, surely: the reader is gone before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from weal.cli.main import main; main()", *words.split()]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    notes = [line for line in done.stderr.splitlines() if not line.startswith(b"weal: note")]
    assert (done.returncode, notes) == (141, [])


def test_a_closed_stdout_is_an_ordinary_error_and_nothing_is_done(steel):
    before = Path("weal.db").read_bytes()
    for words in ("list", "tell steel A-5 7", "export steel --to labels.csv", "ask steel"):
        done = run([], shell=weal(words) + " >&-")
        assert done.returncode == 1
        assert done.stderr.startswith(b"weal: stdout is closed, so nothing was done")
    assert Path("weal.db").read_bytes() == before
    assert not Path("labels.csv").exists()


def test_a_closed_stderr_changes_nothing(steel):
    for words in ("list", "status steel", "tell steel A-5 7"):
        done = run([], shell=weal(words) + " 2>&-")
        assert done.returncode == 0
        assert done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_stdout_is_an_ordinary_error(steel):
    done = run([], shell=weal("list") + " >/dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith(b"weal: ")
    assert b"No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("utf8", ["0", "1"])
def test_every_letter_is_shown_or_spelt_whatever_the_locale(steel, utf8):
    assert typed("tell", "steel", "A-5", "7", "--note", "µ😀").code == 0
    env = {"LC_ALL": "C", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0"}
    for words in ("export steel --to -", "list --store é😀.db", "tell steel é😀 5", "list"):
        done = run(words.split(), env=env)
        assert done.returncode in (0, 1, 2)
        assert b"mistake" not in done.stderr
        assert b"codec" not in done.stderr


@DOORS
def test_a_link_that_leads_to_itself_is_no_store(door):
    Path("a.db").symlink_to("b.db")
    Path("b.db").symlink_to("a.db")
    Path("nowhere.db").symlink_to("gone/weal.db")
    for name in ("a.db", "nowhere.db"):
        done = tell(door, "A-5", "7", store=name)
        assert done.code == 1
        assert f"{name} cannot be opened" in done.complaint
        assert typed("doctor", "--store", name).code == 1
        assert typed("list", "--store", name).code == 1


def test_a_place_that_is_no_file_is_no_store():
    os.mkfifo("pipe.db")
    done = typed("list", "--store", "pipe.db")
    assert done.code == 1
    assert "is not a file" in done.complaint


def test_a_path_that_is_no_text_can_be_a_store(steel):
    odd = os.fsdecode(b"we\xe9al.db")
    os.rename("weal.db", odd)
    assert typed("list", "--store", odd).code == 0
    assert typed("tell", "steel", "A-5", "7", "--store", odd).code == 0
    assert typed("doctor", "--store", odd).code == 0
    done = typed("list", "--store", os.fsdecode(b"no\xe9/weal.db"))
    assert done.code == 1
    assert r"no\udce9" in done.complaint


@DOORS
def test_a_number_of_400_digits_is_an_ordinary_error(door):
    digits = "7" * 400
    rows = "".join(f"A-{n},{n * n},{n % 3}\n" for n in range(9))
    Path("pool.csv").write_text(f"sample,temp,hours\n{rows}B-1,{digits},1\nB-2,-{digits},2\n")
    done = make(door, "steel", "pool.csv")
    assert done.code == 2
    assert "finite" in done.complaint
    Path("pool.csv").write_text(f"sample,temp,hours\n{rows}")
    assert make(door, "steel", "pool.csv").code == 0
    assert tell(door, "A-5", digits).code == 2
    Path("r.csv").write_text(f"sample,value\nA-1,{digits}\n")
    assert typed("tell", "steel", "--file", "r.csv").code == 2
    for words in (["ask", "steel", "-n", digits], ["ask", "steel", "--check", digits]):
        assert typed(*words).code in (2, 3)
    assert typed("ask", "steel", "--lease", f"{digits}d").complaint


def bombed(path, inner):
    """A workbook whose sheet is this text."""
    import openpyxl

    openpyxl.Workbook().save("plain.xlsx")
    with zipfile.ZipFile("plain.xlsx") as plain, zipfile.ZipFile(path, "w", 8) as bundle:
        for name in plain.namelist():
            sheet = name == "xl/worksheets/sheet1.xml"
            bundle.writestr(name, inner if sheet else plain.read(name))


BOMB = '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l "lol">' + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1 if n else str()};" * 20}">' for n in range(9)
)
BOMB += ']><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
BOMB += '<row r="1"><c r="A1" t="str"><v>&l8;</v></c></row></sheetData></worksheet>'


@DOORS
def test_a_workbook_that_explodes_is_an_ordinary_error(door):
    bombed("bomb.xlsx", BOMB)
    done = make(door, "steel", "bomb.xlsx")
    assert done.code == 2
    assert "bomb.xlsx cannot be read as Excel" in done.complaint
    bombed("cut.xlsx", BOMB[:200])
    assert "cannot be read as Excel" in make(door, "steel", "cut.xlsx").complaint


def test_a_workbook_that_unpacks_into_gigabytes_is_refused(monkeypatch):
    monkeypatch.setenv("WEAL_MAX_WORKBOOK_BYTES", "100000")
    bombed("big.xlsx", " " * 200_000)
    complaint = make("command", "steel", "big.xlsx").complaint
    assert "once decompressed" in complaint
    assert complaint.endswith("raise the limit: set WEAL_MAX_WORKBOOK_BYTES")
