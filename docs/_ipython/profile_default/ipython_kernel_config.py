"""Figures of the pages: SVG, so that they are sharp at any width, in the style of all figures."""

from pathlib import Path

STYLE = Path(__file__).parents[2] / "figures.mplstyle"

c = get_config()  # type: ignore[name-defined]  # noqa: F821
c.IPKernelApp.log_level = 40  # errors: a kernel of the build talks to this machine alone
c.HistoryManager.enabled = False  # no file of what was typed
c.InlineBackend.figure_formats = {"svg"}
c.InlineBackend.rc = dict(  # read without matplotlib, which most pages do not need
    line.split(": ", 1)
    for line in STYLE.read_text("utf-8").splitlines()
    if line and not line.startswith("#")
)
