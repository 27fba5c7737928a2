"""Figures of pages that run, of results and of weal itself share one palette and one style."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
from benchmarks.pages.figures import INKS, STYLE

from weal.plots import canvas

DOCS = Path(__file__).parents[2] / "docs"
CONFIG = DOCS / "_ipython" / "profile_default" / "ipython_kernel_config.py"


def colours(parameters):
    return [f"#{one.lstrip('#')}" for one in parameters["axes.prop_cycle"].by_key()["color"]]


def test_results_and_running_pages_have_the_same_colours_in_the_same_order():
    assert colours(mpl.rc_params_from_file(STYLE, use_default_template=False)) == list(
        INKS["light"].marks
    )


def test_colours_are_those_of_weal_plots():
    own = {canvas.BLUE, canvas.RED, canvas.GREEN, canvas.PURPLE, canvas.SKY}
    assert own <= set(INKS["light"].marks)


def test_pages_that_run_read_the_style_file():
    """The kernel's configuration is read by IPython: here it is run in its place."""
    found = SimpleNamespace(
        IPKernelApp=SimpleNamespace(), HistoryManager=SimpleNamespace(),
        InlineBackend=SimpleNamespace(),
    )  # fmt: skip
    runpy.run_path(str(CONFIG), {"get_config": lambda: found})
    with mpl.rc_context(found.InlineBackend.rc):
        read = {name: mpl.rcParams[name] for name in found.InlineBackend.rc}
    assert read == dict(mpl.rc_params_from_file(STYLE, use_default_template=False))
