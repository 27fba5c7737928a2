"""Figures of the pages: SVG, so that they are sharp at any width."""

c = get_config()  # type: ignore[name-defined]  # noqa: F821
c.IPKernelApp.log_level = 40  # errors: a kernel of the build talks to this machine alone
c.HistoryManager.enabled = False  # no file of what was typed
c.InlineBackend.figure_formats = {"svg"}
c.InlineBackend.rc = {
    "figure.figsize": (7.0, 3.6),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
    "svg.hashsalt": "weal",
}
