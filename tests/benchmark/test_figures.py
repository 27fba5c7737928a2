import io
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from reference.made_up import ends, run, table, weights
from weal.benchmark.figures import (
    METHOD_STYLES,
    acquisition_weights,
    curves,
    expert_weights,
    nmse_limits,
    npll_limits,
    save,
    style_of,
    wants_log,
    with_bands,
)
from weal.benchmark.methods import METHODS
from weal.benchmark.paper_claims import BASELINE, EGP, SYNTHETIC
from weal.benchmark.report_figures import method_sets, report_figures, tasks_by_group
from weal.benchmark.summary import method_title, task_title
from weal.plots.canvas import FIGURE_WIDTH_INCHES

TWO = ends({(task, m): 0.5 for task in ("branin", "diabetes") for m in (BASELINE, *EGP)})


def legend(fig):
    return [text.get_text() for text in fig.legends[0].get_texts()]


def test_tasks_load_without_matplotlib_and_figures_without_pyplot():
    code = """
import sys, weal.benchmark.tasks, weal.benchmark.protocol
print("matplotlib" in sys.modules)
import weal.benchmark.figures
print("matplotlib.pyplot" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]


def test_nmse_is_above_and_npll_below_with_one_column_a_task():
    fig = curves(TWO)
    assert isinstance(fig, Figure)
    grid = np.array(fig.axes).reshape(2, 2)
    assert [ax.get_title() for ax in grid[0]] == [task_title("branin"), task_title("diabetes")]
    assert [ax.get_ylabel() for ax in grid[:, 0]] == ["NMSE", "NPLL"]
    assert legend(fig) == [method_title(m) for m in (BASELINE, *EGP)]
    assert fig.get_figwidth() == FIGURE_WIDTH_INCHES


def test_a_curve_is_the_mean_and_its_band_one_standard_deviation():
    runs = table(run("higdon", "random", 0, [1.0, 0.2]), run("higdon", "random", 1, [2.0, 0.6]))
    ax = curves(runs).axes[0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.5, 0.4])
    (band,) = ax.collections
    ys = band.get_paths()[0].vertices[:, 1]
    assert ax.get_yscale() == "log"  # where the band is as wide below the mean as above it
    down = 0.4 * 0.4 / (0.4 + np.sqrt(0.08))
    np.testing.assert_allclose([ys.min(), ys.max()], [down, 1.5 + np.sqrt(0.5)])


def test_among_many_methods_only_two_have_bands():
    assert with_bands([BASELINE, *EGP]) == ["gp-var", "egp-multiafs"]
    assert with_bands([BASELINE, *EGP], "all") == [BASELINE, *EGP]
    few, every = (curves(TWO, ["branin"], bands=bands).axes[0] for bands in ("few", "all"))
    assert (len(few.collections), len(every.collections)) == (2, 7)
    assert with_bands(["mine", "random"]) == ["mine", "random"]
    assert len(curves(TWO, ["branin"]).axes[0].collections) == 2


def test_a_method_off_the_scale_is_named_with_how_far_it_goes():
    levels = {("diabetes", m): 1.4 for m in EGP} | {("diabetes", BASELINE): 39900.0}
    nmse, npll = curves(ends(levels, spread=0.0, metric="npll")).axes
    assert npll.get_ylim()[1] < 3
    assert npll.get_title(loc="right").startswith("off scale: GP-Var to 39")
    assert nmse.get_title(loc="right") == ""
    assert [line.get_ydata().max() > 1e4 for line in npll.lines] == [True, *[False] * len(EGP)]


def test_a_figure_of_the_joint_npll_keeps_its_titles_free():
    levels = {("diabetes", m): 1.4 for m in EGP} | {("diabetes", BASELINE): 39900.0}
    results = ends(levels, spread=0.0, metric="npll")
    read = results.assign(joint=100.0 * results["npll"]).assign(
        joint=lambda rows: rows["joint"].where(rows["t"] != 1)
    )
    (ax,) = curves(read, metrics=["joint"]).axes
    assert ax.get_title() == task_title("diabetes") + "\n"  # above the line on what is off scale
    assert ax.get_title(loc="right").startswith("off scale: GP-Var to 3.99e6")
    assert ax.lines[0].get_xdata().tolist() == [0, 2]  # where it was read


def test_the_npll_axis_shows_all_where_all_are_alike():
    alike = [np.array([1.0, 0.5]), np.array([1.3, 0.2]), np.array([0.9, 0.8])]
    low, high = npll_limits(alike)
    assert low < 0.2
    assert high > 1.3
    assert npll_limits([np.array([np.nan])]) == (0.0, 1.0)


def test_nmse_is_logarithmic_where_it_helps():
    assert wants_log(np.array([1.0, 0.01]))
    assert not wants_log(np.array([1.0, 0.6]))
    assert not wants_log(np.array([1.0, 0.0]))
    assert not wants_log(np.array([np.nan]))
    low, high = nmse_limits(np.array([1.0, 1e-8]), log=True)
    assert 0 < low < 1e-8
    assert high > 1
    steep = table(*(run("higdon", "random", r, [1.0, 1e-3, 1e-6]) for r in range(2)))
    assert curves(steep).axes[0].get_yscale() == "log"


def test_methods_shown_together_can_be_told_apart_without_colour():
    for names in method_sets([*METHODS, "sklearn-std", "mine"]).values():
        looks = [style_of(name, names) for name in names]
        lines = {(str(k.linestyle), k.marker, k.hollow, k.linewidth) for k in looks}
        assert len(lines) == len(names)
        assert len({(look.color, str(look.linestyle)) for look in looks}) == len(names)


def test_a_method_always_looks_the_same():
    for name in METHOD_STYLES:
        assert style_of(name, [name]) == style_of(name, list(METHODS))


def test_names_with_dollars_and_underscores_are_shown_as_they_are():
    fig = curves(table(*(run("a_$x$", m, 0, [1.0, 0.5]) for m in ("_mine", "$cost$"))))
    fig.draw_without_rendering()
    assert [text.strip() for text in legend(fig)] == ["_mine", r"\$cost\$"]
    assert fig.axes[0].get_title() == r"a_\$x\$"  # matplotlib draws \$ as a dollar


def test_names_that_are_not_there_are_refused_with_those_that_are():
    with pytest.raises(ValueError, match=r"no task 'ackley'.*branin, diabetes"):
        curves(TWO, ["ackley"])
    with pytest.raises(ValueError, match="no method 'random'"):
        curves(TWO, methods=["random"])
    with pytest.raises(ValueError, match="no expert weights of 'gp-var'"):
        expert_weights(weights(["branin"]), method="gp-var")


def test_numbers_that_are_not_finite_leave_gaps_and_no_warning():
    broken = TWO.copy()
    broken.loc[broken["method"] == "egp-qbc", ["nmse", "npll"]] = np.nan
    broken.loc[(broken["method"] == "gp-var") & (broken["t"] == 1), "npll"] = np.inf
    fig = curves(broken)
    fig.draw_without_rendering()
    assert "GP-Var to inf" in fig.axes[2].get_title(loc="right")


def test_stacked_expert_weights_fill_the_panel_by_lengthscale():
    fig = expert_weights(weights(["branin", "higdon"]))
    assert len(fig.axes) == 2
    assert legend(fig) == ["$10^{-2}$", "$10^{0}$", "2.5", "$10^{1}$"]
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in fig.axes[0].collections]
    assert tops[-1] == pytest.approx(1.0)
    assert tops == sorted(tops)


def test_the_lightest_of_many_experts_are_put_together():
    many = weights(["branin"])
    more = [many.assign(name=many["name"] + f" {i}") for i in range(4)]
    frame = table(*more)
    frame = frame.assign(weight=frame["weight"] / 4)
    names = legend(expert_weights(frame))
    assert len(names) == 13
    assert names[-1] == "others"


def test_acquisition_weights_are_means_over_realisations():
    frame = weights(["branin"])
    (ax,) = acquisition_weights(frame).axes
    own = frame[(frame["kind"] == "acquisition") & (frame["name"] == "wvar")]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), own.groupby("t")["weight"].mean())
    assert legend(acquisition_weights(frame)) == ["wVar", "QBC"]


def test_six_tasks_take_two_rows_and_leave_no_empty_panel():
    tasks = [*SYNTHETIC, "diabetes"]
    assert len(acquisition_weights(weights(tasks)).axes) == 6


def test_saved_figures_are_png_for_print_and_svg(tmp_path):
    png, svg = save(curves(TWO), tmp_path / "new", "real")
    assert (png.name, svg.name) == ("real.png", "real.svg")
    with Image.open(png) as image:
        assert image.width >= 150 * FIGURE_WIDTH_INCHES - 1
    assert ET.parse(svg).getroot().tag.endswith("svg")
    there = sorted(p.name for p in png.parent.iterdir())
    assert there == [".weal-folder", "real.png", "real.svg"]
    first = svg.read_bytes(), png.read_bytes()
    save(curves(TWO), tmp_path / "new", "real")
    assert (svg.read_bytes(), png.read_bytes()) == first


def test_a_figure_shows_itself_in_a_notebook():
    data = curves(TWO, ["branin"])._repr_png_()
    assert Image.open(io.BytesIO(data)).format == "PNG"


def test_a_report_has_the_papers_three_figures_and_the_weights():
    tasks = ("higdon", "diabetes", "robot3d", "my table")
    results = ends({(task, m): 0.5 for task in tasks for m in (BASELINE, "egp-qbc+v")})
    names = [one.name for one in report_figures(results, weights(["higdon"]))]
    figures = [f"{group}{tail}" for group in tasks_by_group(list(tasks)) for tail in ("", "-fair")]
    assert names == [*figures, "expert-weights", "acquisition-weights"]
    assert list(tasks_by_group(list(tasks))) == ["synthetic", "real", "robot", "own"]


def test_tasks_beyond_five_go_on_in_another_figure():
    results = table(*(run(f"table {i}", "random", 0, [1.0, 0.5]) for i in range(7)))
    none = weights(["branin"])[:0]
    assert [(one.name, len(one.plot.axes)) for one in report_figures(results, none)] == [
        ("own", 10),
        ("own-5", 4),
    ]
