"""`weal status`, `plot`, `export`, `doctor`, help and manners: as a user sees them."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weal
from campaign.alloys import TOLD, N, hardness
from shell import typed
from weal.cli import screen as screen_module

WEAL = [sys.executable, "-c", "from weal.cli.main import main; main()"]


pytestmark = pytest.mark.usefixtures("in_a_folder")


def test_the_shell_gets_a_script_and_names(bare, monkeypatch):
    assert "_WEAL_COMPLETE" in typed("completion", "zsh").out
    assert "_WEAL_COMPLETE" in typed("completion", "fish").out
    monkeypatch.setenv("_WEAL_COMPLETE", "bash_complete")
    for words, at, found in (
        ("weal te", 1, "plain,tell\n"),
        ("weal tell ba", 2, "plain,bare\n"),
        ("weal tell --store nowhere/x.db ba", 4, "\n"),
        ("weal tell --store postgresql://nobody:pw@nowhere/x ba", 4, "\n"),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(at))
        assert typed() == (0, found, "")


def test_help_groups_the_commands_and_gives_an_example_of_each():
    found = typed("--help").out
    titles = [found.index(f"{title} Commands:") for title in ("Benchmark", "Campaign", "Other")]
    assert titles == sorted(titles)
    names = re.findall(r"^  ([a-z]+)  ", found, re.MULTILINE)
    wanted = "bench simulate new add refine ask tell skip withdraw status plot export"
    assert names[: len(wanted.split())] == wanted.split()
    for name in names[2:]:
        assert f"$ weal {name}" in typed(name, "--help").out.replace('eval "$(weal', "$ weal")


def seen_on_a_terminal(*words, **environment):
    """What a terminal gets to see of a command, stdout and stderr together."""
    screen, end = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "100", **environment}
    process = subprocess.Popen(
        [*WEAL, *words], stdout=end, stderr=end, env={**os.environ, **environment}
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


def test_a_terminal_sees_a_rich_table_without_colour_where_none_is_wanted(bare):
    typed("ask", "bare")
    [row] = json.loads(typed("ask", "bare", "--again", "--json").out)
    seen = seen_on_a_terminal("ask", "bare", "--again")
    assert "\x1b[1m" in seen
    assert f"{row['id']}: {row['why']}" in seen
    plain = seen_on_a_terminal("ask", "bare", "--again", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain)


def test_the_status_is_lines_or_json(alloys):
    done = typed("status", "alloys", "--goal", "5")
    assert done.code == 0
    assert "--until 'error < 5'" in done.err
    assert typed("status", "alloys", "--until", "error < 5").out == done.out
    assert done.out.startswith("alloys: 12 labels, 40 candidates")
    found = json.loads(typed("status", "alloys", "--json").out, parse_constant=pytest.fail)
    assert found["labels"] == TOLD
    assert typed("status", "alloys", "--goal", "-1").code == 2
    wrong = typed("status", "alloys", "--until", "error < 5,5")
    assert (wrong.code, "write the number with a point: 5.5" in wrong.err) == (2, True)


def test_the_status_before_there_is_a_model(bare):
    done = typed("status", "bare")
    assert done.code == 0
    assert done.out.startswith("bare: 0 labels, 40 candidates")
    assert json.loads(typed("status", "bare", "--json").out)["labels"] == 0


def test_pictures_are_drawn_where_they_are_wanted(alloys):
    done = typed("plot", "alloys", "--to", "pictures")
    assert done.code == 0
    paths = [Path(line) for line in done.out.splitlines()]
    assert len(paths) > 2
    assert all(path.is_file() and path.parent == Path("pictures") for path in paths)


def test_there_is_nothing_to_draw_before_there_is_a_model(bare):
    done = typed("plot", "bare")
    assert done.code == 1
    assert "before there is a model" in done.complaint
    assert not Path("weal-bare").exists()


@pytest.mark.parametrize(
    ("what", "rows"), [("labels", TOLD), ("predictions", N), ("candidates", N), ("events", 14)]
)
def test_tables_are_exported(alloys, what, rows):
    done = typed("export", "alloys", "--what", what, "--to", "-")
    assert done.code == 0
    assert len(list(csv.reader(done.out.splitlines()))) == rows + 1
    assert done.err == f"{rows} rows of {what} written\n"
    done = typed("export", "alloys", "--what", what, "--to", f"out-{what}.csv", "--json")
    assert json.loads(done.out) == {"what": what, "rows": rows, "file": f"out-{what}.csv"}
    assert len(list(csv.reader(Path(f"out-{what}.csv").read_text().splitlines()))) == rows + 1


def test_an_export_that_cannot_be_written_is_refused(alloys):
    assert typed("export", "alloys", "--to", "labels.pkl").code == 2
    assert typed("export", "alloys", "--to", "no/such/labels.csv").code == 2
    assert typed("export", "alloys", "--to", "-", "--json").code == 2
    assert typed("export", "alloys").code == 2


def test_the_doctor_finds_a_sound_store_sound_and_says_what_is_installed(bare):
    done = typed("doctor")
    assert done.code == 0
    assert f"weal {weal.__version__}\n" in done.out
    assert f"numpy {np.__version__}, for arrays\n" in done.out
    assert "weal[campaign] is installed" in done.out
    assert "broken" not in done.out
    found = json.loads(typed("doctor", "--json").out)
    assert found["versions"]["weal"] == weal.__version__
    assert {one["level"] for one in found["findings"]} == {"fine"}
    assert "versions" not in json.loads(typed("doctor", "--store", "weal.db", "--json").out)


def test_the_doctor_finds_damage_and_saves_what_can_be(bare):
    typed("tell", "bare", "A-0003", "312.5")
    data = Path("weal.db").read_bytes()
    Path("weal.db").write_bytes(data.replace(b'"y":312.5', b'"y":812.5'))
    done = typed("doctor", "--rescue", "saved")
    assert done.code == 1
    assert "broken: " in done.out
    assert "saved: saved/labels.csv" in done.out
    [row] = csv.DictReader(Path("saved/labels.csv").read_text().splitlines())
    assert (row["label"], row["vouched"]) == ("812.5", "no")
    done = typed("status", "bare")
    assert done.code == 1
    assert "weal doctor" in done.complaint


def test_ctrl_c_ends_a_command_with_one_line_and_130(bare, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("weal.campaign.suggestions.ask", interrupted)
    done = typed("ask", "bare")
    shown = "weal: stopped; if rows were asked by then, `weal ask bare --again` shows them"
    assert (done.code, done.complaint) == (130, shown)
    monkeypatch.setattr("weal.campaign.campaign.Campaign.status", interrupted)
    assert typed("status", "bare").complaint == "weal: stopped"


def test_work_that_takes_a_while_is_spoken_of_and_other_work_is_not(bare, constants):
    constants(screen_module, SECONDS_BEFORE_WORDS=600.0)
    assert typed("ask", "bare").err == ""
    constants(screen_module, SECONDS_BEFORE_WORDS=0.0)
    assert "choosing ..." in typed("ask", "bare").err
    typed("tell", "bare", "--file", write_results(TOLD))
    assert re.search(r"^error estimates: \d+ of \d+$", typed("status", "bare").err, re.MULTILINE)


def write_results(n):
    rows = list(csv.DictReader(Path("bare.csv").read_text().splitlines()))[:n]
    y = [hardness(float(row["temp"]), float(row["hours"])) for row in rows]
    lines = [f"{row['sample']},{value}" for row, value in zip(rows, y, strict=True)]
    Path("results.csv").write_text("\n".join(["sample,value", *lines]))
    return "results.csv"


def test_a_package_that_is_missing_is_named(alloys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("weal.plots.campaign_figures")]:
        monkeypatch.delitem(sys.modules, name)
    done = typed("plot", "alloys")
    assert done.code in (1, 2)
    assert "pip install" in done.complaint
