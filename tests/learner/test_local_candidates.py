"""More candidates where they are wanted; costs that divide what is gained."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import weal
from learning import POOL, a_learner, measure
from weal import ActiveLearner
from weal.core.extensions.acquisition_registry import ACQUISITIONS, takes_cost
from weal.core.paper.acquisition import wvar
from weal.learner.pools.protocol import ScorePass

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

BOX = {"temp": (20, 200), "time": (1, 60, "log"), "cycles": range(1, 9), "catalyst": ["A", "B"]}


def simulate(row):
    return np.sin(row["temp"] / 40) * np.log(row["time"]) + (row["catalyst"] == "A")


def boxed(kind=None, labels=12, **options):
    table = weal.box(BOX, n=120, seed=1)
    table = polars.from_pandas(table) if kind == "polars" else table
    learner = ActiveLearner(table, acquisition="gpm-var", **options)
    learner.run(simulate, labels)
    return learner


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_refining_adds_rows_within_the_ranges_and_keeps_categories(kind):
    learner = boxed(kind)
    wanted = learner.ask(8)
    ids = learner.refine(40)
    assert ids == list(range(120, 160))
    rows, pool = (pandas.DataFrame(r.to_dict(as_series=False)) if kind == "polars" else r
                  for r in (learner.rows(ids), learner.rows(range(120))))  # fmt: skip
    for name in ("temp", "time"):
        ends = BOX[name][:2] if kind == "pandas" else (pool[name].min(), pool[name].max())
        assert rows[name].between(*ends).all()  # a pandas frame carries its box
        assert not set(rows[name]) & set(pool[name])
    assert set(rows["cycles"]) <= set(range(1, 9))
    assert set(rows["catalyst"]) <= set(pool["catalyst"][wanted])
    assert learner.rows(ids)["cycles"].dtype == learner.rows([0])["cycles"].dtype
    assert set(learner.ask(8)) & set(range(160))


def test_new_rows_are_near_those_that_are_wanted():
    learner = boxed()
    twin = boxed()
    (best,) = twin.ask(1)
    ids = learner.refine(8)
    here = learner.candidates.row(best)
    pool = learner.rows(range(120))
    near = learner.candidates.row(ids[0])
    for name in ("temp", "time"):  # in ranks, since time is on a log scale
        rank = np.sort(pool[name].to_numpy()).searchsorted([here[name], near[name]]) / 120
        assert abs(rank[0] - rank[1]) < 1.6 * 120 ** (-1 / 3)


def test_refining_is_the_same_again_and_is_an_event_like_any_other(tmp_path):
    one, two = boxed(), boxed()
    assert one.refine(10) == two.refine(10)
    assert_array_equal(one.candidates.X, two.candidates.X)
    one.save(tmp_path / "one.weal")
    again = ActiveLearner.load(tmp_path / "one.weal")
    assert again.refine(5) == one.refine(5)
    assert_array_equal(again.candidates.X, one.candidates.X)
    again.run(simulate, 3)


def test_a_constraint_holds_for_what_is_added():
    learner = boxed()
    ids = learner.refine(30, constraint=lambda row: row["temp"] < 120)
    assert (learner.rows(ids)["temp"] < 120).all()
    before = len(learner.candidates)
    with pytest.raises(ValueError, match=r"0 of \d+ rows near the best candidates satisfy"):
        learner.refine(3, constraint=lambda row: False)
    with pytest.raises(ValueError, match="it must return True or False"):
        learner.refine(3, constraint=lambda row: "yes")
    with pytest.raises(ValueError, match="whole number"):
        learner.refine(0)
    assert len(learner.candidates) == before


def test_an_array_is_refined_too_and_its_constraint_gets_an_array():
    learner = a_learner(ids=[f"s{n}" for n in range(60)])
    ids = learner.refine(12, constraint=lambda x: x[0] > -0.5)
    assert ids[:2] == ["refined-1", "refined-2"]
    rows = learner.rows(ids)
    assert (rows[:, 0] > -0.5).all()
    assert (rows >= POOL.min(axis=0)).all()
    assert (rows <= POOL.max(axis=0)).all()
    learner.tell(ids[0], measure(rows[0]))
    assert learner.refine(1) == ["refined-13"]


def test_messy_frames_are_refined_with_ids_gaps_and_dates_kept():
    table = weal.box(BOX, n=60)
    table["when"] = pandas.date_range("2024-01-01", periods=60)
    table.loc[::5, "temp"] = None
    table["y"] = np.where(np.arange(60) < 12, np.arange(60.0), np.nan)
    table.index = [f"P-{n}" for n in range(60)]
    learner = ActiveLearner(table, target="y", acquisition="gpm-var")
    rows = learner.rows(learner.refine(20))
    assert rows.index.tolist() == [f"refined-{n}" for n in range(1, 21)]
    assert rows["y"].isna().all()
    assert set(rows["when"]) <= set(table["when"])
    named = ActiveLearner(table.reset_index(names="id"), id_column="id", target="y",
                          acquisition="gpm-var")  # fmt: skip
    assert named.rows(named.refine(2))["id"].tolist() == ["refined-1", "refined-2"]


def test_there_is_nothing_to_refine_before_there_is_a_model_or_without_numbers():
    with pytest.raises(RuntimeError, match="refine needs a model: 3 of 9 labels"):
        boxed(labels=3, n_start=9).refine(2)
    letters = pandas.DataFrame({"a": list("xyxyxyxy"), "b": list("uuvvuuvv")})
    learner = ActiveLearner(letters, n_start=3)
    learner.tell({0: 1.0, 1: 2.0, 2: 4.0})
    with pytest.raises(ValueError, match="nothing to refine"):
        learner.refine(2)


def test_refining_serves_a_continuous_domain():
    """With 50 candidates the truth between them is out of reach; with refined ones it is not."""

    def truth(x):
        return np.sin(4 * x[..., 0] * x[..., 1]) + np.sin(3 * x[..., 0])

    test = np.random.default_rng(100).uniform(-1.5, 1.5, (500, 2))
    errors = np.zeros((2, 3))
    for refined, seed in product((0, 1), range(3)):
        X = np.random.default_rng(seed).uniform(-1.5, 1.5, (50, 2))
        learner = ActiveLearner(X, acquisition="gpm-var")
        for _ in range(5):
            learner.run(truth, 10)
            if refined:
                learner.refine(60)
        errors[refined, seed] = np.sqrt(((learner.predict(test) - truth(test)) ** 2).mean())
    assert errors[1].mean() < 0.85 * errors[0].mean()


# Costs


def test_a_cost_divides_amounts_of_variance():
    cost = np.linspace(1.0, 4.0, 60)
    for name in ("wvar", "qbc", "gpm-var", "ivr"):
        cheap, plain = a_learner(name, cost=cost), a_learner(name)
        cheap.ask()
        state, now = plain.state, plain._beliefs.posterior(plain.state.view())
        key = (state.settings.seed, 8)
        asked = ScorePass(now.ens, state.settings.functions, now.X, now.y, key, state.free(),
                     state.candidates.ids)  # fmt: skip
        scores = now.pool.score(asked).scores[0] / cost
        assert cheap.ask() == int(np.argmax(np.where(state.free(), scores, -np.inf)))
        assert cheap.history[-1]["score"] == pytest.approx(
            scores.max(where=state.free(), initial=0)
        )


def test_what_is_no_amount_of_variance_refuses_a_cost():
    for name in ("multi", "went", "gpm-ent", "bald", "igs", "random", ["wvar", "igs"]):
        with pytest.raises(ValueError, match=r"divides amounts of variance, and .* gives none"):
            a_learner(name, cost=lambda x: 1.0)
    amounts = {name for name, function in ACQUISITIONS.items() if takes_cost(function)}
    assert amounts == {
        "ei",
        "ei-min",
        "wvar",
        "qbc",
        "gpm-var",
        "ivr",
        "mvr",
        "mvr-var",
        "mvr-var-igs",
        "mvr-var-misfit",
    }

    def own(belief):
        return wvar(belief)

    with pytest.raises(ValueError, match="own gives none"):
        a_learner(own, cost=lambda x: 1.0)
    own.amount = True
    assert a_learner(own, cost=lambda x: 1.0).ask() == a_learner("wvar").ask()


def test_costs_by_column_function_and_number_are_the_same():
    table = pandas.DataFrame(POOL, columns=list("abc"))
    table["price"] = np.linspace(1.0, 4.0, 60)
    options = {"acquisition": "gpm-var", "first": 8}
    column = a_learner(pool=table, cost="price", **options)
    prices = dict(zip(table["a"].tolist(), table["price"].tolist(), strict=True))
    called = a_learner(pool=table[list("abc")], cost=lambda row: prices[row["a"]], **options)
    numbers = a_learner(pool=POOL, cost=table["price"].tolist(), **options)
    assert column.candidates.columns == ("a", "b", "c")
    assert column.ask(5) == called.ask(5) == numbers.ask(5)


def test_costs_of_candidates_that_are_added_and_of_learners_that_are_saved(tmp_path):
    learner = a_learner(cost=lambda x: 1.0 + x[0] ** 2)
    learner.refine(3)
    assert_array_equal(learner.candidates.cost, 1.0 + learner.candidates.X[:, 0] ** 2)
    learner.save(tmp_path / "one.weal")
    again = ActiveLearner.load(tmp_path / "one.weal")
    assert again.ask() == learner.ask()
    with pytest.raises(ValueError, match=r"load\(..., cost=f\)"):
        again.add(POOL[:2] + 0.1, ids=["a", "b"])
    again.add(POOL[:2] + 0.1, ids=["a", "b"], cost=[2.0, 3.0])
    given = ActiveLearner.load(tmp_path / "one.weal", cost=lambda x: 7.0)
    given.refine(1)
    assert given.candidates.cost[-1] == 7.0
    with pytest.raises(ValueError, match="the others have none"):
        a_learner().add(POOL[:2] + 0.1, ids=["a", "b"], cost=[2.0, 3.0])


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (lambda x: 0.0, "the cost of 0 is 0.0; write a number above 0"),
        (lambda x: -1, "above 0"),
        (lambda x: float("nan"), "above 0"),
        (lambda x: float("inf"), "above 0"),
        (lambda x: "3", "above 0"),
        (lambda x: True, "above 0"),
        (lambda x: x["temp"], "cost raised"),
        ("price", "names a column of a frame"),
        ([1.0, 2.0], "2 costs for 60 candidates"),
    ],
)
def test_what_is_no_cost_is_said(cost, words):
    with pytest.raises(ValueError, match=words):
        a_learner(cost=cost)


def test_a_cost_column_that_is_not_there_or_has_gaps():
    table = pandas.DataFrame(POOL, columns=list("abc"))
    with pytest.raises(ValueError, match=r"cost is 'price'; the pool has the columns \['a'"):
        ActiveLearner(table, acquisition="ivr", cost="price")
    table["price"] = [1.0, None] * 30
    with pytest.raises(ValueError, match="the cost of 1 is nan"):
        ActiveLearner(table, acquisition="ivr", cost="price")
