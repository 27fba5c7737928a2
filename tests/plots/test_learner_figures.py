"""Pictures of learners: axes that say what they show, on our paper or on the user's."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from weal import ActiveLearner
from weal.diagnostics import effects
from weal.diagnostics.explanation import sample
from weal.diagnostics.leave_one_out import LeaveOneOut
from weal.errors import WealError
from weal.plots.canvas import as_bytes
from weal.plots.learner_figures import NOT_KNOWN, draw_predicted
from weal.quantities.number import Number

pandas = pytest.importorskip("pandas")
N = 60
ODD = "<b>größe</b> $x_1$ [µm]"


def table():
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "temp": rng.uniform(20, 200, N),
            "time": np.exp(rng.uniform(0, 4, N)),
            "quench": np.array(["oil", "water", "_air $", None], dtype=object)[np.arange(N) % 4],
            "wet": np.arange(N) % 3 == 0,
            "when": pandas.date_range("2024-01-01", periods=N, freq="3D"),
            "gaps": [None if k % 6 == 1 else float(k % 17) for k in range(N)],
            "cycles": np.arange(N) % 4,
        },
        index=[f"P-{n:03d}" for n in range(N)],
    )


def measure(row):
    return 100.0 + 0.5 * row["temp"] + 20.0 * (row["quench"] == "oil")


@pytest.fixture(scope="module")
def learner():
    one = ActiveLearner(table(), target=ODD)
    one.run(measure, 20)
    one.ask(2)
    return one


def test_every_picture_is_axes_that_show_themselves(learner):
    plot = learner.plot
    made = [plot.learning_curve(), plot.predicted(), plot.experts(), plot.inputs()]
    made += [plot.effect(name) for name in table().columns]
    made += [plot.map("temp", "time"), plot.map("when", "quench"), plot.map("wet", "gaps")]
    for ax in made:
        assert isinstance(ax, Axes)
        assert ax._repr_png_().startswith(b"\x89PNG")
    assert "learning_curve, predicted" in repr(plot)


def test_axes_carry_the_name_and_unit_of_what_is_measured(learner):
    shown = ODD.replace("$", r"\$")
    assert learner.plot.predicted().get_xlabel() == f"measured {shown}"
    assert learner.plot.effect("temp").get_ylabel() == shown
    assert learner.plot.learning_curve().get_ylabel() == r"error of <b>größe</b> \$x_1\$, µm"
    plain = ActiveLearner(np.arange(8.0)[:, None], n_start=5)
    plain.tell(range(6), np.arange(6.0) ** 2)
    assert plain.plot.predicted().get_xlabel() == "measured"
    assert plain.plot.effect(0).get_xlabel() == "input 0"


def test_the_effect_is_the_mean_of_predictions_with_the_input_set(learner):
    X = sample(learner.state, 100, 13)
    ax = learner.plot.effect("temp")
    at, drawn = ax.lines[0].get_data()
    for k in (0, 30, 60):
        rows = X.copy()
        rows[:, 0] = at[k]
        assert drawn[k] == pytest.approx(learner.model.predict(rows).mean(), rel=1e-9)
    assert at[0] == learner.candidates.X[:, 0].min()
    quench = effects.make_effect_input(
        "quench", learner.candidates.X, learner.candidates.input_names, learner.plan
    )
    assert quench.names == ("_air $", "oil", "water", "missing")
    mean, _ = effects.partial_dependence(learner.model, X, quench)
    rows = X.copy()
    rows[:, list(quench.positions)] = [0.0, 1.0, 0.0, 0.0]
    assert mean[1] == pytest.approx(learner.model.predict(rows).mean(), rel=1e-9)
    assert mean[1] > mean[0]


def test_a_log_scale_is_found_where_candidates_lie_on_one(learner):
    assert learner.plot.effect("time").get_xscale() == "log"
    assert learner.plot.effect("temp").get_xscale() == "linear"
    assert learner.plot.map("temp", "time").get_yscale() == "log"


def test_a_map_is_its_rows_and_columns(learner):
    names, plan, X = learner.candidates.input_names, learner.plan, learner.candidates.X
    a, b = (effects.make_effect_input(name, X, names, plan, 5) for name in ("temp", "quench"))
    some = sample(learner.state, 30, 13)
    mean, sd = effects.partial_dependence_of_two(learner.model, some, a, b)
    assert mean.shape == (4, 5)
    rows = some.copy()
    rows[:, list(a.positions)] = a.inputs[3]
    rows[:, list(b.positions)] = b.inputs[2]
    assert mean[2, 3] == pytest.approx(learner.model.predict(rows).mean(), rel=1e-9)
    assert (sd > 0).all()


def test_shares_of_a_category_are_summed(learner):
    columns = effects.columns_of(learner.candidates.input_names, learner.plan)
    shares = effects.column_importance(learner.model, columns)
    each = effects.input_importance(learner.model, learner.candidates.input_names)
    assert set(shares) == set(table().columns)
    assert sum(shares.values()) == pytest.approx(1.0)
    levels = [each[f"quench={one}"] for one in ("_air $", "oil", "water")]
    assert shares["quench"] == pytest.approx(sum(levels) + each["quench missing"])


def test_what_is_not_known_yet_is_not_drawn():
    from learning import a_learner, model
    from weal import Kernel

    alike = a_learner(model=model(kernels=(Kernel("rbf", 0.6), Kernel("rq", 3.0, alpha=0.7)),
                                  magnitude=(1.0, 1.0), noise=(0.1, 0.1)))  # fmt: skip
    assert not effects.has_input_importance(alike.model)
    ax = alike.plot.inputs()
    assert not ax.patches
    assert ax.texts[0].get_text() == NOT_KNOWN
    apart = a_learner(model=model(kernels=(Kernel("rbf", (0.5, 2.0, 4.0)),), magnitude=(1.0,),
                                  noise=(0.1,)))  # fmt: skip
    assert effects.has_input_importance(apart.model)
    assert len(apart.plot.inputs().patches) == 3


def test_ids_of_labels_far_from_what_was_expected_are_shown():
    X = np.linspace(0, 6, 40)[:, None]
    y = np.sin(X[:, 0])
    y[20] = 4.0
    learner = ActiveLearner(X, ids=[f"{n}_$" for n in range(40)])
    learner.tell(learner.candidates.ids, y)
    named = [text.get_text() for text in learner.plot.predicted().texts]
    assert r"20_\$" in named
    assert len(named) <= 6


def test_ids_that_crowd_are_moved_apart():
    y = np.zeros(40)
    alone = LeaveOneOut(np.where(np.arange(40) < 20, 0.5, 0.0), *np.full((3, 40), 0.001))
    ax = draw_predicted(
        y, alone, np.zeros((0, 2)), np.zeros((0, 2)), ids=range(40), quantity=Number("hardness")
    )
    places = sorted(text.xyann[1] for text in ax.texts)
    assert len(places) == 6
    assert min(np.diff(places)) > 0.03


def test_axes_of_the_user_are_drawn_on_in_their_style(learner):
    with mpl.rc_context({"axes.labelcolor": "white", "axes.facecolor": "black",
                         "text.color": "white", "xtick.color": "white"}):  # fmt: skip
        fig = Figure()
        given = fig.subplots(2, 3).ravel()
        plot = learner.plot
        for ax, draw in zip(
            given,
            (plot.learning_curve, plot.predicted, plot.experts, plot.inputs,
             lambda ax: plot.effect("temp", ax=ax), lambda ax: plot.map("temp", "time", ax=ax)),
            strict=True,
        ):  # fmt: skip
            assert draw(ax=ax) is ax
            assert ax.xaxis.label.get_color() == "white"
        assert given[0].get_legend() is not None
        assert given[0].lines[2].get_color() == "white"  # black would be lost
        own = plot.learning_curve()
        assert own.xaxis.label.get_color() == "black"
        assert own.lines[2].get_color() == "black"
        as_bytes(fig, "png")


def test_the_same_files_are_written_again(learner, tmp_path):
    first = [path.read_bytes() for path in learner.plot.save(tmp_path / "deep")]
    names = sorted(path.name for path in (tmp_path / "deep").iterdir())
    assert names == [
        ".weal-folder",
        "experts.png",
        "inputs.png",
        "learning-curve.png",
        "predicted.png",
    ]
    assert [path.read_bytes() for path in learner.plot.save(tmp_path / "deep")] == first


def test_what_cannot_be_drawn_is_said(learner, tmp_path):
    young = ActiveLearner(table())
    for draw in (young.plot.learning_curve, young.plot.predicted, young.plot.inputs,
                 lambda: young.plot.effect("temp"), lambda: young.plot.save(tmp_path)):  # fmt: skip
        with pytest.raises(WealError, match="before there is a model: 0 of 10 labels"):
            draw()
    assert not list(tmp_path.iterdir())
    for nobody in ("tmp", 7, -1, True, None, "quench=oil"):
        with pytest.raises(ValueError, match=r"there is no input .*; there are temp, time, quench"):
            learner.plot.effect(nobody)
    with pytest.raises(ValueError, match="'temp' twice"):
        learner.plot.map("temp", 0)


def test_few_labels_and_constant_ones_are_drawn():
    learner = ActiveLearner(np.random.default_rng(0).normal(size=(9, 2)), n_start=2)
    learner.tell({0: 5.0, 1: 5.0, 2: 5.0})
    for ax in (learner.plot.learning_curve(), learner.plot.predicted(), learner.plot.map(0, 1)):
        ax._repr_png_()


def test_dates_and_scales_are_drawn_in_the_users_units():
    frame = pandas.DataFrame({"x": np.linspace(1e120, 9e120, 30), "g": [None, *range(29)]})
    learner = ActiveLearner(frame)
    learner.tell({n: float(n % 7) for n in range(12)})
    at = learner.plot.effect("x").lines[0].get_xdata()
    assert_allclose([at[0], at[-1]], [1e120, 9e120])


def test_what_is_said_of_a_model():
    learner = ActiveLearner(np.arange(12.0)[:, None])
    learner.tell(range(8), np.arange(8.0))
    assert repr(learner.model).startswith("<Model: 8 labels, 1 input, ")
    assert "heaviest" in learner.model._repr_html_()
