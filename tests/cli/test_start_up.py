"""What a command may import: `weal --help`, `tell`, `skip` and `withdraw` start no numerics, and
`ask` and `status` neither scikit-learn nor what only tables and figures need.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shell import typed

HEAVY = "numpy scipy sklearn pyarrow pandas polars narwhals matplotlib rich dask joblib psycopg"
NOT_TO_ASK = "sklearn pandas polars narwhals matplotlib rich dask joblib psycopg scipy.stats"
POOL = "sample,temp,hardness\nA-1,900,\nA-2,950,3.5\nA-3,910,\nA-4,920,\nA-5,930,\n"
# Commands in one process; after each its exit code and the modules that are loaded by then.
LOADED = """
import json, sys
from weal.cli.main import main
for words in sys.argv[1:]:
    try:
        main(words.split())
    except SystemExit as left:
        print(json.dumps([words, left.code, list(sys.modules)]), file=sys.stderr)
"""
LIGHT = {
    "--version": 0,
    "--help": 0,
    "tell --help": 0,
    "ask --help": 0,
    "tell steel A-1 -3.5": 0,
    "tell steel --file results.csv": 0,
    "tell steel A-9 1": 2,
    "skip steel A-4": 0,
    "skip steel A-4 --undo": 0,
    "withdraw steel A-2": 0,
    "list": 0,
    "settings steel --lease 3d": 0,
    "completion bash": 0,
}


@pytest.fixture(autouse=True)
def _a_campaign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.csv").write_text(POOL)
    (tmp_path / "results.csv").write_text("sample,hardness\nA-2,3.5\nA-3,4.5\n")
    assert (
        typed("new", "steel", "--pool", "pool.csv", "--id", "sample", "--target", "hardness")[0]
        == 0
    )


def loaded(*commands):
    """Exit code and modules after each command, all in one process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *commands],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WEAL_WHO": "mk"},
    )
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    return {words: (code, set(modules)) for words, code, modules in lines}


def test_light_commands_load_nothing_heavy():
    found = loaded(*LIGHT)
    assert {words: code for words, (code, _) in found.items()} == LIGHT
    assert all("weal.cli.main" in modules for _, modules in found.values())
    heavy = {words: set(HEAVY.split()) & modules for words, (_, modules) in found.items()}
    assert {words: names for words, names in heavy.items() if names} == {}


@pytest.mark.parametrize("model", [False, True])
def test_what_asks_needs_neither_scikit_learn_nor_frames(model):
    if model:
        rows = "".join(f"B-{n},{900 + 7 * n},{n % 4}.5\n" for n in range(9))
        Path("more.csv").write_text("sample,temp,hardness\n" + rows)
        assert typed("add", "steel", "more.csv")[0] == 0
    found = loaded("ask steel", "status steel", "ask steel --check 1")
    assert [code for code, _ in found.values()] == [0, 0, 0]
    for _, modules in found.values():
        assert "weal.active_learner" in modules
        assert not set(NOT_TO_ASK.split()) & modules
