"""What a command may import: `weal --help`, `tell`, `skip` and `withdraw` start no numerics."""

import os
import subprocess
import sys

import pytest

from shell import typed

HEAVY = "numpy scipy sklearn pyarrow pandas polars narwhals matplotlib rich dask joblib psycopg"
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
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words.split()],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WEAL_WHO": "mk"},
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert done.returncode == (2 if "A-9" in words else 0)
    assert "weal.cli.main" in loaded
    assert not set(HEAVY.split()) & loaded
