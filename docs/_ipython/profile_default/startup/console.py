"""`%%console`: a page's shell session. Lines that begin with `$ ` run; what they print follows.

A command has to succeed, unless the line before says otherwise: `# exit 3`. It believes to be on a
terminal of 100 columns, so that it shows what a reader would see, with two differences: that
something takes its time (`choosing ...`, bars) is left out, since it depends on the machine; and
long sentences are broken where the page's column ends. `{name}` stands for a variable of the page,
as after `!` in a notebook; what follows `  # hide` is run, and not shown.
"""

import os
import pty
import re
import subprocess
import sys
import termios
import textwrap
from pathlib import Path

from IPython import get_ipython
from IPython.core.magic import register_cell_magic

WIDTH = 76  # of a page's column, in letters
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


def on_a_terminal(command: str) -> tuple[str, int]:
    """What a command prints there, and how it ends."""
    screen, inside = pty.openpty()
    termios.tcsetwinsize(inside, (40, 100))
    process = subprocess.Popen(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=inside, stderr=inside
    )
    os.close(inside)
    printed = b""
    while True:
        try:
            chunk = os.read(screen, 65536)
        except OSError:  # all who could write have gone
            chunk = b""
        if not chunk:
            break
        printed += chunk
    os.close(screen)
    text = printed.decode("utf-8", "replace").replace("\r", "")
    return "\n".join(map(folded, without_progress(text).split("\n"))), process.wait()


def without_progress(text: str) -> str:
    """The text without words and bars that come only where a machine is slow."""
    text = re.sub(r"(?m)^(?:copying|examining|choosing|reading [^\n]*) \.\.\.\n", "", text)
    text = re.sub(r"(?m)^.*\u2501.*\n\n?", "", text)
    return re.sub(r"(?m)[ ]+$", "", text)


def folded(line: str) -> str:
    """A sentence in lines of the page's width; rows of tables and JSON stay as they are."""
    text = line.strip()
    if len(line) <= WIDTH or "  " in text or text[0] in '[{"':
        return line
    indent = line[: len(line) - len(text)]
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


@register_cell_magic
def console(line: str, cell: str) -> None:
    """Run the commands of the cell and print them with what they say, as a terminal would."""
    known = get_ipython().user_ns
    cell = re.sub(r"(?<!\$)\{(\w+)\}", lambda found: str(known.get(found[1], found[0])), cell)
    for command, expected in commands(cell):
        shown, *more = command.split("  # hide")
        printed, ended = on_a_terminal(" ".join([shown, *more]))
        print(f"$ {shown}\n{printed}", end="", flush=True)
        if ended != expected:
            raise RuntimeError(f"{command!r} ended with {ended}, not {expected}")
