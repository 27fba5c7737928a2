"""Ids of any kind, and pools that are frames of pandas, polars or pyarrow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learning import OUTSIDE, POOL, Y, a_learner, beliefs, everything, measure, model, teach, told
from weal import ActiveLearner, EnsembleGPRegressor, UnknownId

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

COLUMNS = ["heat", "length", "größe"]
IDS = [f"sample {n}" for n in range(60)]
ODD = [
    "",
    " ",
    "x" * 4096,
    "\N{PILE OF POO}",
    "שלום",
    "../../x",
    "'; DROP TABLE ev;--",
    "<script>",
    "two\nlines",
    ("a", 1, (2.5, "b")),
    (),
    -7,
    10**30,
    2.5,
    frozenset({1, 2}),
    b"bytes",
    np.str_("numpy text"),
    np.int16(99),
]
KINDS = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}
EVERY = pytest.mark.parametrize("kind", KINDS)


def frame(kind, X=POOL, ids=None, columns=COLUMNS):
    """The points as a frame of this kind; with ids, in a column in the middle."""
    data = dict(zip(columns, np.asarray(X).T, strict=True))
    if ids is not None:
        items = list(data.items())
        data = dict([items[0], ("id", list(ids)), *items[1:]])
    return KINDS[kind](data)


def values(table):
    """The inputs (N, 3) of a frame of any kind."""
    return np.stack([np.asarray(table[name]) for name in COLUMNS], axis=1)


# Ids


def test_ids_may_be_anything_hashable_and_come_back_verbatim():
    learner = a_learner(pool=POOL[: len(ODD)], ids=ODD, first=0)
    assert sorted(map(repr, learner.ask(len(ODD)))) == sorted(
        repr(name.item() if isinstance(name, np.generic) else name) for name in ODD
    )
    for n, name in enumerate(ODD):
        learner.tell(name, Y[n])
        assert_array_equal(learner.rows([name]), POOL[[n]])
    assert [name for name, _, _ in told(learner)] == ODD
    assert learner.model.n_labels_ == len(ODD)


def test_numpys_numbers_are_pythons():
    learner = a_learner()
    learner.tell(np.int32(20), np.float32(1500.0))
    learner.tell(np.array([21, 22]), np.array([1500, 1600], dtype=np.int16))
    learner.tell(np.array(23), np.array(1700.0))
    learner.skip(np.uint8(30))
    assert [type(name) for name, _, _ in told(learner)] == [int] * 12
    assert learner.skipped == {30}
    tuples = a_learner(pool=POOL[:9], ids=[(np.int64(n), "x") for n in range(9)], first=0)
    assert type(tuples.ask()[0]) is int
    tuples.tell((np.int8(3), "x"), 1.0)


def test_ids_and_order_of_the_pool_do_not_change_what_is_asked():
    given = model(n_frequencies=40)
    plain = a_learner("gpm-var", model=given, n_start=8)
    order = np.random.default_rng(0).permutation(60)
    mixed = ActiveLearner(POOL[order], given, "gpm-var", ids=[IDS[n] for n in order], n_start=8)
    mixed.tell(IDS[:8], Y[:8])
    for _ in range(8):
        (name,), query = mixed.ask(1), plain.ask()
        assert name == IDS[query]
        plain.tell(query, Y[query])
        mixed.tell(name, Y[query])


def test_rows_come_in_the_order_asked_for_and_are_the_users_own():
    learner = a_learner()
    rows = learner.rows([5, 3, 5])
    assert_array_equal(rows, POOL[[5, 3, 5]])
    rows[:] = 0.0
    assert_array_equal(learner.rows([5]), POOL[[5]])
    assert learner.rows([]).shape == (0, 3)
    with pytest.raises(UnknownId, match="'nobody'"):
        learner.rows([5, "nobody"])


def test_positions_never_shift_when_the_pool_shrinks_and_grows():
    learner = a_learner(ids=IDS)
    learner.remove(IDS[10:20])
    learner.add(OUTSIDE[:2], ids=["new", ("new", 2)])
    assert_array_equal(learner.rows(["new", IDS[30]]), [OUTSIDE[0], POOL[30]])
    learner.tell(("new", 2), measure(OUTSIDE[1]))
    assert_array_equal(learner.labels.told[-1].x, OUTSIDE[1])
    with pytest.raises(ValueError, match=r"2 ids are duplicates, such as \['new', 'sample 15'\]"):
        learner.add(OUTSIDE[:3], ids=["new", "sample 15", "newer"])


# Frames


@EVERY
@pytest.mark.parametrize("with_ids", [True, False])
def test_a_frame_asks_what_its_array_asks(kind, with_ids):
    ids = IDS if with_ids else None
    plain = a_learner("multi", ids=ids)
    framed = a_learner("multi", pool=frame(kind, ids=ids), id_column="id" if with_ids else None)
    assert framed.candidates.ids == plain.candidates.ids
    assert teach(framed, 5) == teach(plain, 5)
    assert framed.ask(3) == plain.ask(3)
    assert_array_equal(beliefs(framed), beliefs(plain))


@EVERY
def test_rows_of_a_frame_are_a_frame_of_the_same_kind(kind):
    learner = a_learner(pool=frame(kind, ids=IDS), id_column="id")
    rows = learner.rows(["sample 7", "sample 2", "sample 7"])
    assert type(rows) is type(frame(kind))
    assert np.asarray(rows["id"]).tolist() == ["sample 7", "sample 2", "sample 7"]
    assert_array_equal(values(rows), POOL[[7, 2, 7]])


@EVERY
def test_the_model_predicts_on_frames_with_the_same_columns_without_a_warning(kind):
    learner = a_learner(pool=frame(kind))
    got = learner.model.predict(frame(kind, OUTSIDE))
    assert_array_equal(learner.model.predict(OUTSIDE), got)  # an array goes by position
    teach(learner, 2)
    learner.forget(learner.labels.told[0].name)
    got = learner.model.predict(frame(kind, OUTSIDE))
    learner.model.predict(learner.rows([3, 4]))
    turned = frame(kind, OUTSIDE[:, ::-1], columns=COLUMNS[::-1])
    assert_array_equal(learner.model.predict(turned), got)  # a frame by name
    with pytest.raises(ValueError, match=r"lack the columns \['heat'\]"):
        learner.model.predict(frame(kind, OUTSIDE, columns=["cold", *COLUMNS[1:]]))


@EVERY
def test_the_estimator_of_a_learners_model_is_as_strict_as_scikit_learns_are(kind):
    learner = a_learner(pool=frame(kind))
    estimator = EnsembleGPRegressor.of(learner.model)
    got = estimator.predict(frame(kind, OUTSIDE))
    assert_array_equal(got, learner.model.predict(OUTSIDE))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(estimator.predict(OUTSIDE), got)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.predict(frame(kind, OUTSIDE, columns=COLUMNS[::-1]))


@EVERY
def test_points_outside_a_frame_are_read_by_column_name(kind):
    learner, plain = a_learner(pool=frame(kind)), a_learner()
    mixed = frame(kind, OUTSIDE[:4, [2, 0, 1]], columns=["größe", "heat", "length"])
    learner.tell_points(mixed, measure(OUTSIDE[:4]))
    plain.tell_points(OUTSIDE[:4], measure(OUTSIDE[:4]))
    assert_array_equal(learner.labels.arrays()[0], plain.labels.arrays()[0])
    one = frame(kind, OUTSIDE[4:5, [2, 0, 1]], columns=["größe", "heat", "length"])
    learner.tell_points(one, measure(OUTSIDE[4]))
    learner.tell_points(OUTSIDE[4], measure(OUTSIDE[4]))  # an array goes by position
    assert_array_equal(learner.labels.told[-2].x, learner.labels.told[-1].x)
    before = told(learner)
    with pytest.raises(ValueError, match=r"lack the columns \['heat'\]"):
        learner.tell_points(frame(kind, OUTSIDE, columns=["cold", *COLUMNS[1:]]), measure(OUTSIDE))
    assert told(learner) == before


@EVERY
def test_validation_and_reference_may_be_frames_in_another_order(kind):
    mixed = frame(kind, OUTSIDE[:, [2, 0, 1]], columns=["größe", "heat", "length"])
    framed = a_learner(
        ["ivr", "qbc"], pool=frame(kind), validation=(mixed, measure(OUTSIDE)), reference=mixed
    )
    plain = a_learner(["ivr", "qbc"], validation=(OUTSIDE, measure(OUTSIDE)), reference=OUTSIDE)
    assert teach(framed, 4) == teach(plain, 4)
    assert framed.acquisition_weights == plain.acquisition_weights


@EVERY
def test_candidates_are_added_to_a_frame(kind):
    learner = a_learner(pool=frame(kind, ids=IDS), id_column="id")
    learner.add(frame(kind, OUTSIDE[:2], ids=["a", "b"]))
    assert type(learner.rows(["b"])) is type(frame(kind))
    assert_array_equal(values(learner.rows(["b", "sample 3"])), [OUTSIDE[1], POOL[3]])
    teach(learner, 3)
    before = everything(learner)
    others = [k for k in KINDS if k != kind]
    for wrong in (
        frame(kind, OUTSIDE[2:3, ::-1], ids=["c"], columns=COLUMNS[::-1]),
        frame(others[0], OUTSIDE[2:3], ids=["c"]),
        frame(kind, OUTSIDE[2:3]),
        OUTSIDE[2:3],
    ):
        with pytest.raises(ValueError, match="column"):
            learner.add(wrong)
        assert everything(learner) == before


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_columns_of_another_type_are_not_added_where_the_library_cannot(kind):
    learner = a_learner(pool=frame(kind))
    before = everything(learner)
    with pytest.raises(ValueError, match="Int64"):
        learner.add(frame(kind, np.ones((2, 3), dtype=int)))
    assert everything(learner) == before
    whole = a_learner(pool=frame("pandas"))
    whole.add(frame("pandas", np.ones((2, 3), dtype=int)))  # pandas can
    assert whole.rows([60])["heat"].tolist() == [1.0]


def test_the_index_of_a_pandas_frame_gives_the_ids():
    table = frame("pandas").set_index(pandas.Index(IDS, name="sample"))
    learner = a_learner(pool=table)
    assert list(learner.candidates.ids) == IDS
    rows = learner.rows(["sample 9", "sample 1"])
    assert rows.index.tolist() == ["sample 9", "sample 1"]
    assert rows.index.name == "sample"
    two = table.set_index(pandas.MultiIndex.from_product([range(6), list("abcdefghij")]))
    pair = a_learner(pool=two, first=0).ask()
    assert type(pair) is tuple
    assert type(pair[0]) is int


def test_columns_of_whole_numbers_and_truth_values_are_inputs():
    table = frame("pandas", ids=IDS)
    table["on"] = np.arange(60) % 2 == 0
    table["n"] = pandas.array(np.arange(60), dtype="Int64")
    learner = ActiveLearner(pool=table, id_column="id")
    assert learner.candidates.columns == (*COLUMNS, "on", "n")
    assert_array_equal(learner.candidates.X[:, 3:], np.c_[table["on"], np.arange(60)])


def test_columns_without_text_as_names_work_too():
    learner = a_learner(pool=pandas.DataFrame(POOL))
    learner.tell_points(pandas.DataFrame(OUTSIDE), measure(OUTSIDE))
    assert_allclose(learner.model.predict(pandas.DataFrame(OUTSIDE)), measure(OUTSIDE), atol=200.0)
    assert_array_equal(learner.rows([4]), POOL[[4]])


@EVERY
def test_ids_and_cells_that_cannot_be_are_refused_by_name(kind):
    with pytest.raises(ValueError, match=r"name one that the pool has: \['heat', 'id'"):
        ActiveLearner(pool=frame(kind, ids=IDS), id_column="name")
    with pytest.raises(ValueError, match=r"2 ids are duplicates, such as \['b', 'b'\]"):
        ActiveLearner(pool=frame(kind, POOL[:4], ids=["a", "b", "b", "b"]), id_column="id")
    far = KINDS[kind]({"a": [1.0, None, 3.0], "b": [1.0, 2.0, float("inf")], "id": [7, 8, 9]})
    with pytest.raises(ValueError, match=r"'b' must hold finite numbers.*'inf' \(row 3\)"):
        ActiveLearner(pool=far, id_column="id")
    with pytest.raises(ValueError, match=r"(None|nan) cannot be an id"):
        ActiveLearner(pool=KINDS[kind]({"a": [1.0, 2.0], "id": ["x", None]}), id_column="id")
