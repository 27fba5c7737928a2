"""Batches as they are run: one level of a factor, few levels, conditions, rows by hand, returns.

The levels that a batch takes are compared with brute force: a greedy batch at every level (or every
set of levels), and the joint value of each computed from the definition, by a model that is told
the pseudo labels.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import weal
from weal import ActiveLearner
from weal.errors import AlreadyLabelled, Exhausted, UnknownId
from weal.learner.batch_limits import columns_of, limits_of
from weal.learner.batch_options import read_limits, read_options
from weal.learner.batch_value import batch_values
from weal.learner.choosing import queries
from weal.learner.transitions import apply

SOLVENTS = ["DMF", "H2O", "MeOH", "THF"]


def truth(row):
    return np.sin(row["temp"] / 30.0) * row["a"] + row["b"] ** 2 + (row["solvent"] == "THF")


def make_table(rows=90, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "temp": rng.choice([40.0, 60.0, 90.0], rows),
        "solvent": rng.choice(SOLVENTS, rows),
        "a": rng.uniform(size=rows),
        "b": rng.uniform(-1, 1, rows),
        "plate": "P1",
    }, index=[f"r{n}" for n in range(rows)])  # fmt: skip


def make_learner(table, labels=16, **how):
    learner = ActiveLearner(table, features=["temp", "solvent", "a", "b"], **how)
    for name in table.index[:labels]:
        learner.tell(name, truth(table.loc[name]))
    return learner


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def asked_learner(table):
    """A learner with a model, which tests copy."""
    learner = make_learner(table)
    learner.ask(1)
    learner.release(list(learner.pending))
    return learner


@pytest.fixture
def learner(asked_learner):
    return copy_of(asked_learner)


def copy_of(learner):
    return ActiveLearner.of(learner.state, learner._beliefs)


def batch_within(learner, rows, n):
    """The greedy batch of some rows, and the state after it."""
    pool = learner.state.candidates
    allowed = np.zeros(len(pool), dtype=bool)
    allowed[[pool.index[name] for name in rows]] = True
    state = replace(learner.state, allowed=allowed)
    events = queries(state, learner._beliefs, n, opens=True)
    for event in events:
        state = apply(state, event)
    return [event.id for event in events], state


def variance_after(learner, batch, table):
    """The mean variance over all rows, once a batch has its predicted labels: from scratch."""
    model = learner.model
    trained, scale = model.trained, model.scaling
    X = scale.inputs(learner.state.candidates.inputs_at(slice(None)))
    at = [learner.state.candidates.index[name] for name in batch]
    ens, points = trained.ensemble, trained.embedding.points
    mu, _ = ens.experts.predict(points(ens.experts, X[at]))
    y = ens.w @ mu
    lam = ens.ratios(np.zeros(len(at)))
    experts = ens.experts.absorb(points(ens.experts, X[at]), y, lam)[0]
    _, v = experts.predict(points(experts, X))
    return float((ens.w @ (ens.magnitude[:, None] * v)).mean())


def levels_by_force(learner, table, column, n, k=1):
    """The set of k levels whose greedy batch leaves the least variance, and its variance."""
    free = table.drop([label.name for label in learner.labels])
    found = {}
    for levels in combinations(sorted(free[column].unique()), k):
        rows = free.index[free[column].isin(levels)]
        if len(rows) >= n:
            batch, _ = batch_within(learner, rows, n)
            found[levels] = variance_after(learner, batch, table)
    best = min(found, key=found.get)
    return set(best), found[best], found


@pytest.mark.covering
@pytest.mark.parametrize("column", ["temp", "solvent"])
@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_level_is_that_of_the_best_joint_batch(column, n, seed):
    table = make_table(seed=seed)
    learner = make_learner(table, seed=seed)
    levels, _, every = levels_by_force(learner, table, column, n)
    batch = copy_of(learner).ask(n, same=column)
    assert len(set(batch)) == n
    assert set(table[column][batch]) == levels, every


def test_the_batch_is_the_greedy_one_of_its_level(learner, table):
    batch = copy_of(learner).ask(5, same="temp")
    free = table.drop([label.name for label in learner.labels])
    rows = free.index[free.temp == table.temp[batch[0]]]
    assert batch == batch_within(learner, rows, 5)[0]


@pytest.mark.parametrize("n", [4, 8])
def test_few_levels_are_nearly_those_of_the_best_joint_batch(learner, table, n):
    batch = copy_of(learner).ask(n, at_most={"solvent": 2})
    assert table.solvent[batch].nunique() <= 2
    _levels, least, every = levels_by_force(learner, table, "solvent", n, 2)
    found = variance_after(learner, batch, table)
    start = variance_after(learner, [], table)
    worst = max(every.values())
    assert (start - found) >= 0.95 * (start - least)
    assert found < worst


@pytest.mark.parametrize(
    "options",
    [
        {"same": "plate"},
        {"same": ["plate"]},
        {"at_most": {"plate": 1}},
        {"at_most": {"solvent": 4}},
        {"at_most": {"solvent": 7, "temp": 3}},
        {"where": "a >= 0 and plate is P1"},
        {"where": "solvent in DMF, H2O, MeOH, THF"},
        {"same": "plate", "at_most": {"temp": 3}, "where": "b <= 1"},
    ],
)
def test_options_that_every_row_satisfies_change_nothing(learner, table, options):
    assert copy_of(learner).ask(7, **options) == copy_of(learner).ask(7)


def test_the_order_of_rows_does_not_matter(table):
    mixed = table.sample(frac=1.0, random_state=3)
    first = make_learner(table)
    second = ActiveLearner(mixed, features=["temp", "solvent", "a", "b"])
    for name in table.index[:16]:
        second.tell(name, truth(table.loc[name]))
    for options in ({"same": "temp"}, {"at_most": {"solvent": 2}}, {"where": "a < 0.5"}):
        assert copy_of(first).ask(5, **options) == copy_of(second).ask(5, **options)


def test_several_columns_share_one_combination(learner, table):
    batch = learner.ask(4, same=["temp", "solvent"])
    assert len(table.loc[batch, ["temp", "solvent"]].drop_duplicates()) == 1


def test_all_options_together(learner, table):
    out = learner.ask(2)
    back, kept = out
    row = table.index[(table.temp == 60) & (table.a < 0.8)][-1]
    batch = learner.ask(
        6, same="temp", at_most={"solvent": 2}, where="a < 0.8", instead_of=back, rows=row
    )
    assert batch[0] == row
    assert len(set(batch)) == 6
    assert back not in batch
    assert kept not in batch
    assert set(table.temp[batch]) == {60.0}
    assert table.solvent[batch].nunique() <= 2
    assert (table.a[batch] < 0.8).all()
    assert set(learner.pending) == {kept, *batch}


@pytest.mark.parametrize("labels", [0, 3])
def test_before_there_is_a_model(table, labels):
    learner = make_learner(table, labels)
    batch = learner.ask(5, same="temp", at_most={"solvent": 3}, where="a > 0.1")
    assert table.temp[batch].nunique() == 1
    assert table.solvent[batch].nunique() <= 3
    assert (table.a[batch] > 0.1).all()


@pytest.mark.covering
@pytest.mark.parametrize("goal", ["best 5", "minimise", "above 1.2"])
@pytest.mark.parametrize("options", [{"same": "temp"}, {"at_most": {"solvent": 2}}])
def test_with_goals_and_repeats_every_row_keeps_to_the_limits(table, goal, options):
    learner = make_learner(table, 20, goal=goal)
    batch = learner.ask(6, **options)
    column, limit = ("temp", 1) if "same" in options else ("solvent", 2)
    assert table[column][batch].nunique() <= limit
    assert len(set(batch)) == 6


def test_costs_decide_between_levels_that_are_worth_the_same():
    rng = np.random.default_rng(5)
    half = pd.DataFrame({"a": rng.uniform(size=30), "b": rng.uniform(size=30)})
    table = pd.concat([half.assign(batch="cheap"), half.assign(batch="dear")], ignore_index=True)
    cost = np.where(table.batch == "cheap", 1.0, 7.0)
    for seed in range(3):
        learner = ActiveLearner(table, features=["a", "b"], cost=cost, seed=seed)
        for n in range(4):
            learner.tell(n, float(table.a[n]))
            learner.tell(30 + n, float(table.a[n]))
        assert set(table.batch[learner.ask(4, same="batch")]) == {"cheap"}


def test_arrays_have_columns_by_number():
    X = np.column_stack([np.repeat([1.0, 2.0], 10), np.linspace(0, 1, 20)])
    learner = ActiveLearner(X)
    assert len(set(X[learner.ask(5, same="input 0"), 0])) == 1
    assert all(X[learner.ask(3, where="'input 1' < 0.5"), 1] < 0.5)


def test_numbers_equal_up_to_rounding_are_one_level():
    x = np.r_[np.full(6, 0.1 + 0.2), np.full(6, 0.3), np.full(6, 0.30001)]
    learner = ActiveLearner(pd.DataFrame({"x": x, "y": np.arange(18.0)}))
    batch = learner.ask(10, same="x")
    assert set(batch) <= set(range(12))
    assert len(learner.ask(2, where="x is 0.3")) == 2


def test_a_missing_cell_has_no_level():
    table = pd.DataFrame({"x": [1.0, 1.0, np.nan, np.nan, np.nan], "y": np.arange(5.0)})
    learner = ActiveLearner(table)
    assert set(learner.ask(2, same="x")) == {0, 1}
    with pytest.raises(Exhausted, match="at most 0 free rows"):
        learner.ask(1, same="x")


def test_instead_of_releases_and_replaces(learner, table):
    first = learner.ask(3)
    others = learner.ask(instead_of=first[:2])
    assert len(others) == 2
    assert not set(others) & set(first)
    assert set(learner.pending) == {first[2], *others}
    assert learner.ask(instead_of=[first[2]], n=3)
    assert first[2] not in learner.pending
    assert set(first) & set(learner.ask(69, more=True))  # later they may be asked again


def test_rows_by_hand_fix_the_level(learner, table):
    free = table.iloc[16:]
    for temp in (40.0, 60.0, 90.0):
        name = free.index[free.temp == temp][0]
        batch = copy_of(learner).ask(4, same="temp", rows=[name])
        assert batch[0] == name
        assert set(table.temp[batch]) == {temp}
    assert copy_of(learner).ask(rows=["r20", "r21"]) == ["r20", "r21"]
    history = copy_of(learner)
    history.ask(rows="r20")
    assert history.history[-1]["why"] == "by hand"
    assert np.isfinite(history.history[-1]["mean"])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"same": "tmp"}, ValueError, "no column is called 'tmp'; did you mean temp"),
        ({"same": 3}, ValueError, "same is 3"),
        ({"same": "y"}, ValueError, "'y' is a result"),
        ({"at_most": {"solvnt": 2}}, ValueError, "did you mean solvent"),
        ({"at_most": {"solvent": 0}}, ValueError, "whole number of at least 1"),
        ({"at_most": {"solvent": 2.0}}, ValueError, "whole number of at least 1"),
        ({"at_most": {"solvent": True}}, ValueError, "whole number of at least 1"),
        ({"at_most": "solvent=2"}, ValueError, "at_most is 'solvent=2'"),
        ({"where": "solvent is TFH"}, ValueError, "did you mean THF"),
        ({"where": "solvent is thf"}, ValueError, "did you mean THF"),
        ({"where": "solvent is not TFH"}, ValueError, "did you mean THF"),
        ({"where": "solvnt is THF"}, ValueError, "did you mean solvent"),
        ({"where": "solvent < 3"}, ValueError, "column of words"),
        ({"where": "temp is warm"}, ValueError, "column of numbers"),
        ({"where": "temp is 61"}, ValueError, "the nearest are 40, 60, 90"),
        ({"where": "temp < 90 °C"}, ValueError, "leave units out|leave the unit out"),
        ({"where": "a < 0,5"}, ValueError, "write the number with a point: 0.5"),
        ({"where": ""}, ValueError, "where is empty"),
        ({"where": "y > 3"}, ValueError, "is a result"),
        ({"where": "temp > 300"}, Exhausted, "no row satisfies where 'temp > 300'"),
        ({"where": "a < 0.1"}, Exhausted, "are free; ask for"),
        ({"where": "__import__('os').system('x')"}, ValueError, "where"),
        ({"where": "temp < 90; drop table events"}, ValueError, "write 'and'"),
        ({"same": "a"}, Exhausted, "every row has a different value"),
        ({"same": "b'); drop table"}, ValueError, "no column is called"),
        ({"at_most": {"a": 2}}, Exhausted, "at most 2 free rows"),
        ({"instead_of": "r50"}, ValueError, "not out"),
        ({"instead_of": "none"}, UnknownId, "none"),
        ({"rows": "none"}, UnknownId, "none"),
        ({"rows": "r1"}, AlreadyLabelled, "labelled already"),
        ({"rows": ["r30"], "where": "a < 0 and a > 1"}, ValueError, "does not satisfy where"),
        ({"rows": [f"r{n}" for n in range(20, 40)]}, ValueError, "included by hand"),
        ({"rows": [f"r{n}" for n in range(20, 26)], "same": "temp"}, ValueError, "leave out rows"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_the_way_out(table, options, error, words):
    learner = ActiveLearner(
        table.assign(y=np.nan), target="y", features=["temp", "solvent", "a", "b"]
    )
    for name in table.index[:16]:
        learner.tell(name, truth(table.loc[name]))
    before = learner.state
    with pytest.raises(error, match=words):
        learner.ask(12, **options)
    assert learner.state is before


def test_limits_on_the_command_line():
    assert read_limits(["solvent=4", "a=b=2"]) == {"solvent": 4, "a=b": 2}
    for text in ("solvent", "solvent=", "=4", "solvent=0", "solvent=-1", "solvent=1.5", "s=٣"):
        with pytest.raises(ValueError, match="--at-most"):
            read_limits([text])
    with pytest.raises(ValueError, match="twice"):
        read_limits(["a=1", "a=2"])


def test_options_are_stored_in_one_spelling():
    first = read_options(["b", "a"], {"z": 2, "y": 1}, "x<3  and y is 'A'", None, ["r"])
    second = read_options(["a", "b", "a"], {"y": 1, "z": 2}, "x < 3 and y is A", [], "r")
    assert first == second
    assert first.to_json() == second.to_json()
    assert first.to_json() == {
        "same": ["a", "b"], "at_most": {"y": 1, "z": 2}, "where": "x < 3 and y is A", "rows": ["r"],
    }  # fmt: skip


def test_the_value_of_a_batch_is_the_variance_it_removes(learner, table):
    state = learner.state
    values = batch_values(state, learner._beliefs)
    part, _ = values.part(np.arange(len(table)))
    chosen = values.choose(part, 6, lambda batch: np.ones(len(part.candidates), dtype=bool))
    before = variance_after(learner, [], table)
    after = variance_after(learner, chosen.batch, table)
    assert values.joint_value(chosen) == pytest.approx(1.0 - after / before, rel=1e-6)


def test_columns_are_read_as_the_plan_reads_them():
    table = pd.DataFrame({
        "temp": ["40 °C", "60 °C", "90 °C", None] * 5, "grade": ["low", "high"] * 10,
        "x": np.arange(20.0),
    })  # fmt: skip
    learner = ActiveLearner(table, types={"grade": "ordered:low,high"})
    options = read_options("temp", where="temp < 90 and grade is low")
    limits = limits_of(options, columns_of(learner.state.candidates))
    assert np.flatnonzero(limits.allowed).tolist() == [n for n in range(20) if n % 4 == 0]
    assert limits.factors[0].levels.names == ("temp 40", "temp 60", "temp 90")
    batch = learner.ask(3, same="temp", where="grade is high")
    assert set(table.temp[batch]) == {"60 °C"}


def test_rows_of_a_box_are_drawn_with_a_shared_value():
    box = weal.box(
        {"temp": (20, 200), "time": (1, 9), "catalyst": ["A", "B"]}, n=80,
        constraint="temp + 10*time <= 240",
    )  # fmt: skip
    learner = ActiveLearner(box)
    for labels in (0, 16):
        for name in box.index[:labels]:
            learner.tell(name, float(np.sin(box.temp[name] / 40) + box.time[name]))
        batch = learner.ask(8, same="temp", where="temp < 150")
        rows = pd.DataFrame([learner.candidates.row(name) for name in batch])
        assert rows.temp.nunique() == 1
        assert len(rows.drop_duplicates()) == 8
        assert (rows.temp + 10 * rows.time <= 240).all()
        assert (rows.temp < 150).all()
    size = len(learner.candidates)
    assert len(learner.ask(8, same="temp")) == 8
    assert len(learner.candidates) == size  # levels with enough rows are there
    assert (
        len({learner.candidates.row(name)["catalyst"] for name in learner.ask(4, same="catalyst")})
        == 1
    )


def test_a_part_of_a_mixture_cannot_be_shared():
    mixture = {"parts": ["water", "oil"], "sum": 1}
    learner = ActiveLearner(weal.box({"temp": (20, 200)}, n=40, mixture=mixture))
    before = learner.state
    with pytest.raises(ValueError, match="part of a mixture"):
        learner.ask(4, same="water")
    assert learner.state is before
    assert len(learner.ask(4, same="temp")) == 4
