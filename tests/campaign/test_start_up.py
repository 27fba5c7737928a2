"""What a command may import: `weal --help`, `tell`, `skip` and `withdraw` start no numerics, and
`ask` and `status` neither scikit-learn nor what only tables and figures need.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shell import typed

HEAVY = "numpy scipy sklearn pyarrow pandas polars narwhals matplotlib rich dask joblib psycopg"
NOT_TO_ASK = "sklearn pandas polars narwhals matplotlib rich dask joblib psycopg scipy.stats"
POOL = "sample,temp,hardness\nA-1,900,\nA-2,950,3.5\nA-3,910,\n"
LOADED = """
import sys
from weal.cli.main import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def _a_campaign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.csv").write_text(POOL)
    (tmp_path / "results.csv").write_text("sample,hardness\nA-1,3.5\nA-3,4.5\n")
    assert (
        typed("new", "steel", "--pool", "pool.csv", "--id", "sample", "--target", "hardness")[0]
        == 0
    )


def loaded(words):
    """Exit code and modules of a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words.split()],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WEAL_WHO": "mk"},
    )
    return done.returncode, set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "tell --help",
        "ask --help",
        "tell steel A-1 -3.5",
        "tell steel --file results.csv",
        "tell steel A-9 1",
        "skip steel A-1",
        "skip steel A-1 --undo",
        "withdraw steel A-2",
        "list",
        "settings steel --lease 3d",
        "completion bash",
    ],
)
def test_a_light_command_loads_nothing_heavy(words):
    code, found = loaded(words)
    assert code == (2 if "A-9" in words else 0)
    assert "weal.cli.main" in found
    assert not set(HEAVY.split()) & found


@pytest.mark.parametrize("words", ["ask steel", "status steel", "ask steel --check 1"])
@pytest.mark.parametrize("model", [False, True])
def test_what_asks_needs_neither_scikit_learn_nor_frames(words, model):
    if model:
        rows = "".join(f"B-{n},{900 + 7 * n},{n % 4}.5\n" for n in range(9))
        Path("more.csv").write_text("sample,temp,hardness\n" + rows)
        assert typed("add", "steel", "more.csv")[0] == 0
    code, found = loaded(words)
    assert code == 0
    assert "weal.active_learner" in found
    assert not set(NOT_TO_ASK.split()) & found
