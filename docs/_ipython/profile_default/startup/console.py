"""`%%console`: a page's shell session. Lines that begin with `$ ` run; what they print follows.

A command has to succeed, unless the line before says otherwise: `# exit 3`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from IPython.core.magic import register_cell_magic

os.environ.update(
    COLUMNS="100", NO_COLOR="1", TERM="dumb", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"
)
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def commands(cell: str) -> list[tuple[str, int]]:
    """The commands of a cell, lines that end in a backslash joined, and how each ends."""
    found: list[tuple[str, int]] = []
    expected, open_line = 0, False
    for line in cell.splitlines():
        if open_line:
            found[-1] = (f"{found[-1][0]}\n{line}", found[-1][1])
        elif match := re.fullmatch(r"# exit (\d+)", line.strip()):
            expected = int(match[1])
            continue
        elif line.startswith("$ "):
            found.append((line[2:], expected))
            expected = 0
        elif line.strip():
            raise ValueError(f"a line of %%console begins with '$ ' or '# exit N': {line!r}")
        open_line = line.endswith("\\")
    return found


@register_cell_magic
def console(line: str, cell: str) -> None:
    """Run the commands of the cell and print them with what they say, as a terminal would."""
    for command, expected in commands(cell):
        shown = command.split("  # hide")[0]
        done = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        print(f"$ {shown}\n{done.stdout}", end="", flush=True)
        if done.returncode != expected:
            raise RuntimeError(f"{command!r} ended with {done.returncode}, not {expected}")
