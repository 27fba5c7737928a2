"""Run the installation lines of the README, in a clone and with a wheel.

    python scripts/install_lines.py dist/weal-0.3.0-py3-none-any.whl [WORD...]

Lines are those of the first block below "## Install", and the `or:` of a comment; the words leave
only lines that have one of them (uvx, tool, pipx, pip). For the clone a line is run as it stands in
the README; for the wheel, its path takes the place of the dot. uv and pipx put everything into a
temporary folder, and pip installs into an empty environment. What was installed has to answer with
the version of this clone, and to copy a sample.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = ("uvx", "uv", "pip", "pipx")


def lines() -> list[str]:
    """The lines of the README that install weal."""
    text = (ROOT / "README.md").read_text("utf-8").partition("## Install")[2]
    block = text.partition("```console\n")[2].partition("```")[0]
    found = []
    for line in re.findall(r"^\$ (.*)$", block, re.M):
        command, _, comment = line.partition(" #")
        found += [command, *re.findall(r"or: (.*)$", comment)]
    return [one.strip() for one in found if shlex.split(one)[0] in PROGRAMS]


def with_wheel(line: str, wheel: Path) -> str:
    """The line with the path of a wheel in place of the clone."""
    words = [re.sub(r"^\.(?=$|\[)", str(wheel), word) for word in shlex.split(line)]
    return shlex.join(words)


def place_of(folder: Path) -> tuple[dict[str, str], Path]:
    """The environment in which a line runs, and the folder of the programs that it installs."""
    programs = folder / "programs"
    pip = folder / "pip"
    venv.create(pip, with_pip=True)
    own = {
        "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(programs),
        "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(programs),
        "PIPX_DEFAULT_PYTHON": sys.executable, "UV_PYTHON": sys.executable,
    }  # fmt: skip
    given = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    given.pop("VIRTUAL_ENV", None)
    path = f"{pip / 'bin'}:{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**given, **own, "PATH": path}, pip / "bin"


def try_line(line: str, folder: Path) -> None:
    """Run a line and what it installed; SystemExit with all output where that fails."""
    environment, pip = place_of(folder)
    start = time.monotonic()
    said = run(line, environment, ROOT)
    if line.startswith("uvx"):
        assert "Usage: weal" in said, said
    else:
        program = pip / "weal" if line.startswith("pip ") else folder / "programs" / "weal"
        version = re.search(r'__version__ = "(.*)"', (ROOT / "src/weal/__init__.py").read_text())
        assert version is not None
        answer = run(f"{shlex.quote(str(program))} --version", environment, folder)
        assert answer.strip() == f"weal {version[1]}", answer
        run(f"{shlex.quote(str(program))} samples copy reactions.csv", environment, folder)
        assert (folder / "reactions.csv").stat().st_size > 1000
    print(f"{time.monotonic() - start:4.0f} s  {line}", flush=True)


def run(line: str, environment: dict[str, str], folder: Path) -> str:
    """What a line prints."""
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{line} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(wheel: Path, words: list[str]) -> None:
    """Each line, of the clone and of the wheel."""
    found = [one for one in lines() if not words or set(words) & set(shlex.split(one))]
    assert found, "the README has no such line"
    for line in found:
        for version in (line, with_wheel(line, wheel)):
            with tempfile.TemporaryDirectory() as folder:
                try_line(version, Path(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
