"""The complete loops of the documentation, in each language that is on this machine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import soak
import weal
from weal.samples import path
from web.visiting import PATIENCE, token_of

PAGES = Path(__file__).parents[2] / "docs" / "howto"
LOOPS = {  # page, language of its block, file, command, programs that it needs
    "python": ("programs.md", "python", "loop.py", [sys.executable, "loop.py"], ()),
    "curl": ("program-curl.md", "bash", "loop.sh", ["bash", "loop.sh"], ("curl", "jq")),
    "javascript": (
        "program-javascript.md", "javascript", "loop.mjs", ["node", "loop.mjs"], ("node",)
    ),
    "octave": (
        "program-matlab.md", "matlab", "weal_loop.m",
        ["octave-cli", "--eval", "weal_loop"], ("octave-cli", "curl"),
    ),
}  # fmt: skip


@pytest.fixture
def alloys(servers, url):
    """A server of the sample campaign, without a label."""
    given = {"pool": path("alloys.csv"), "id_column": "sample", "target": "hardness"}
    weal.open_campaign("alloys", url, by="ann", **given).close()
    return servers.start(url, worker="here")


def block(page, language):
    """The code of a page."""
    [found] = re.findall(rf"```{language}\n(.*?)```", (PAGES / page).read_text("utf-8"), re.DOTALL)
    return found


def run(server, language, folder, name="monday"):
    """Run the loop of a language; what it printed."""
    page, fence, file, command, needed = LOOPS[language]
    missing = [one for one in needed if shutil.which(one) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not on this machine")
    (folder / file).write_text(block(page, fence), encoding="utf-8")
    env = {**os.environ, "WEAL_URL": f"http://127.0.0.1:{server['port']}",
           "WEAL_TOKEN": token_of(server), "RUN": name, "NO_PROXY": "127.0.0.1"}  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(server, url, language, folder):
    """The loop tells three labels, and a loop that is run again tells no more."""
    out = run(server, language, folder)
    with weal.open_campaign("alloys", url) as campaign:
        frame, rows = campaign.to_frame(), campaign.to_frame("candidates").set_index("sample")
    told = frame[frame["by"] != "ann"]
    assert len(told) == 3
    assert out.splitlines()[-1] == f"{len(frame)} labels"
    for id_, label in zip(told["id"], told["label"], strict=True):
        assert label == pytest.approx(100.0 + rows.loc[id_, "temper_temp"] / 2.0)
    if language != "python":  # its keys are new in each run
        assert run(server, language, folder).splitlines() == [f"{len(frame)} labels"]


@pytest.mark.parametrize("language", ["python", "curl", "javascript"])
def test_the_loop_of_a_page_runs(alloys, url, tmp_path, language):
    check(alloys, url, language, tmp_path)


@pytest.mark.skipif(not soak.LONG, reason="a minute: with --long")
def test_the_loop_of_matlab_runs_in_octave(alloys, url, tmp_path):
    check(alloys, url, "octave", tmp_path)


@pytest.mark.parametrize("language", ["curl", "javascript"])
def test_a_problem_ends_the_loop_with_its_code(alloys, tmp_path, language):
    page, fence, file, command, needed = LOOPS[language]
    if any(shutil.which(one) is None for one in needed):
        pytest.skip(f"{needed[0]} is not on this machine")
    text = block(page, fence).replace("campaigns/alloys", "campaigns/brass")
    (tmp_path / file).write_text(text, encoding="utf-8")
    env = {**os.environ, "WEAL_URL": f"http://127.0.0.1:{alloys['port']}",
           "WEAL_TOKEN": token_of(alloys), "RUN": "r", "NO_PROXY": "127.0.0.1"}  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "unknown_campaign" in done.stdout + done.stderr
