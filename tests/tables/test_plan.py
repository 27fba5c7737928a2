"""Plans: made once, plain JSON, the same for every table that follows."""

import json
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from weal import samples
from weal.tables.plan import TablePlan, encode, make_plan, notes
from weal.tables.table import read_table, table_of

N = 40
QUICKLY = settings(max_examples=40, deadline=None)


def columns(n=N, seed=0):
    rng = np.random.default_rng(seed)
    temp = rng.normal(500, 80, n).tolist()
    steel = [f"grade {'ABCD'[k]}" for k in rng.integers(4, size=n)]
    for k in (3, 8, 9):
        temp[k] = None
    steel[5] = None
    return {
        "id": [f"A-{k}" for k in range(n)],
        "temp": temp,
        "time": rng.integers(1, 9, n).tolist(),
        "steel": steel,
        "wet": ["yes" if k % 3 else "no" for k in range(n)],
        "made": [datetime(2024, 3, 1) + timedelta(hours=6 * int(k)) for k in rng.permutation(n)],
        "lab": ["F1"] * n,
        "y": [None if k % 4 else float(k) for k in range(n)],
    }


@pytest.fixture
def table():
    return table_of(columns(), text=["id"])


@pytest.fixture
def plan(table):
    return make_plan(table, id_column="id", target="y")


def test_the_line_and_the_names(plan):
    assert plan.describe() == (
        "5 inputs (2 numbers, 1 flag, 1 date, 1 category -> 5, 1 dropped: constant)"
    )
    assert plan.names == [
        "temp", "temp missing", "time",
        "steel=grade A", "steel=grade B", "steel=grade C", "steel=grade D", "steel missing",
        "wet", "made",
    ]  # fmt: skip
    assert plan.lines()[3:] == [
        "wet: flag, median 1",
        "made: date, in days since 2024-03-01",
        "lab: dropped, constant ('F1' in every row)",
    ]
    assert plan.lines()[2].startswith("steel: category of 4 ('grade A', 'grade B', ")


def test_the_line_of_the_issue():
    n = 30
    numbers = {f"x{k}": [float((k + 2) * j % 11) for j in range(n)] for k in range(7)}
    cells = {"id": [*map(str, range(n))], **numbers, "steel": [*"ABCDAB"] * 5, "lab": [1] * n}
    plan = make_plan(table_of(cells), id_column="id")
    assert plan.describe() == "8 inputs (7 numbers, 1 category -> 4, 1 dropped: constant)"


def test_inputs_are_those_of_scikit_learn(table, plan):
    """SimpleImputer, MissingIndicator and OneHotEncoder as the independent truth."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(columns())
    frame["wet"] = (frame["wet"] == "yes").astype(float)
    frame["made"] = (frame["made"] - frame["made"].min()) / pd.Timedelta(days=1)
    frame["steel"] = frame["steel"].astype(object).where(frame["steel"].notna(), None)
    one_hot = OneHotEncoder(
        sparse_output=False, categories=[[f"grade {c}" for c in "ABCD"] + ["zz"]]
    )
    truth = ColumnTransformer(
        [
            ("temp", SimpleImputer(strategy="median"), ["temp"]),
            ("gaps", MissingIndicator(), ["temp"]),
            ("time", "passthrough", ["time"]),
            (
                "steel",
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value="zz", missing_values=None),
                    one_hot,
                ),
                ["steel"],
            ),
            ("rest", "passthrough", ["wet", "made"]),
        ]
    )
    np.testing.assert_allclose(encode(plan, table), truth.fit_transform(frame), rtol=1e-14)


def test_levels_and_gaps_that_are_new_are_taken_as_none_and_said(table, plan):
    new = columns(seed=1)
    new["steel"][0], new["time"][1] = "grade X", None
    later = table_of(new, text=["id"])
    X = encode(plan, later)
    assert X[0, 3:8].tolist() == [0, 0, 0, 0, 0]
    assert X[1, 2] == np.median(columns()["time"])
    assert notes(plan, later) == [
        "time: 1 missing, encoded as the median; the first table had no gaps",
        "steel: 1 of unknown levels ('grade X'), encoded as no level",
    ]
    assert notes(plan, table) == []


def test_scikit_learn_ignores_unknown_levels_alike(table):
    plan = make_plan(table, id_column="id", features=["steel"])
    known = [[cell] for cell in table.cells("steel") if cell]
    truth = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(known)
    later = table_of({"steel": ["grade B", "grade X", "grade A"]})
    cells = [[cell] for cell in later.cells("steel")]
    np.testing.assert_array_equal(encode(plan, later)[:, :4], truth.transform(cells))


def test_new_candidates_in_other_types_are_treated_the_same(table, plan):
    """Numbers as text, dates as text, flags as truth values: the same inputs."""
    texts = {
        name: ["" if cell is None else str(cell) for cell in cells]
        for name, cells in columns().items()
    }
    texts["wet"] = [cell == "yes" for cell in texts["wet"]]
    np.testing.assert_array_equal(encode(plan, table_of(texts)), encode(plan, table))


def test_columns_the_plan_drops_or_does_not_know_may_be_there_or_not(table, plan):
    cells = columns()
    del cells["lab"], cells["y"], cells["id"]
    np.testing.assert_array_equal(
        encode(plan, table_of({"new": [0] * N, **cells})), encode(plan, table)
    )
    del cells["time"]
    with pytest.raises(ValueError, match="the table has no column 'time'; it has temp, steel"):
        encode(plan, table_of(cells))


def test_day_first_is_remembered_for_dates_that_read_both_ways():
    table = table_of({"id": "abc", "made": ["1/2/2024", "13/2/2024", "2/2/2024"]})
    plan = make_plan(table, id_column="id")
    later = table_of({"id": "ab", "made": ["3/4/2024", "2024-02-02"]})
    assert encode(plan, later).tolist() == [[62.0], [1.0]]


@pytest.mark.parametrize(("kind", "days"), [("day-first", 1.0), ("month-first", 31.0)])
def test_ambiguous_dates_can_be_declared(kind, days):
    table = table_of({"id": "ab", "made": ["1/2/2024", "2/2/2024"]})
    plan = make_plan(table, id_column="id", types={"made": kind})
    assert encode(plan, table).tolist() == [[0.0], [days]]
    with pytest.raises(ValueError, match=r"types={'made': 'day-first'} reads the day first"):
        make_plan(table, id_column="id", types={"made": "date"})


def test_declared_kinds_overrule_what_was_found(table):
    types = {"time": "category", "lab": "category", "wet": "drop", "steel": "drop"}
    plan = make_plan(table, id_column="id", target="y", types=types)
    levels = sorted({str(cell) for cell in columns()["time"]})
    names = [f"time={level}" for level in levels]
    assert plan.names == ["temp", "temp missing", *names, "made", "lab=F1"]
    assert "wet: dropped, as declared" in plan.lines()


def test_features_are_those_that_were_named_and_a_named_counter_is_kept():
    table = table_of({"id": "abcd", "dose": [1, 2, 3, 4], "x": [5, 3, 5, 1]})
    assert make_plan(table, id_column="id").names == ["x"]
    assert make_plan(table, id_column="id", features=["dose"]).names == ["dose"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"id_column": "nr"}, "no column 'nr'; it has id, temp"),
        ({"target": "z"}, "no column 'z'"),
        ({"features": ["temp", "q"]}, "no column 'q'"),
        ({"features": ["id"]}, "beside the id and the target"),
        ({"features": []}, "name columns beside"),
        ({"features": "all"}, "write 'auto' or a list"),
        ({"features": ["lab"]}, "no column is left to learn from. lab: dropped, constant"),
        ({"types": {"q": "number"}}, "declares 'q', which is not among"),
        ({"types": {"temp": "float"}}, "declared 'float'; write one of number, flag"),
        ({"types": {"steel": "number"}}, r"must hold numbers, but 39 rows do not: 'grade C' \(A-0"),
        ({"types": {"steel": "flag"}}, "must hold yes or no, but 39 rows do not: 'grade C'"),
        ({"types": {"steel": "date"}}, "must hold dates, such as 2024-03-01, but 39 rows"),
    ],
)
def test_wrong_wishes_are_refused(table, options, says):
    with pytest.raises(ValueError, match=says):
        make_plan(table, **{"id_column": "id", **options})


def test_bad_cells_are_refused_with_their_count_and_their_ids(table, plan):
    cells = columns()
    cells["temp"] = [*map(str, cells["temp"])]
    for k in range(10, 17):
        cells["temp"][k] = "hot"
    message = r"but 7 rows do not: 'hot' \(A-10\), .*'hot' \(A-16\); missing={'temp': \['hot'\]}"
    with pytest.raises(ValueError, match=message):
        encode(plan, table_of(cells, text=["id"]))
    with pytest.raises(ValueError, match=message):
        make_plan(table_of(cells, text=["id"]), id_column="id", types={"temp": "number"})


@pytest.mark.parametrize("bad", [np.inf, -np.inf, "1e400"])
def test_infinite_cells_are_refused_with_their_count_and_ids(bad):
    table = table_of({"id": ["p", "q", "r"], "x": [1, bad, 2.5]})
    with pytest.raises(ValueError, match=r"but 1 row does not: '-?inf' \(q\); correct these"):
        make_plan(table, id_column="id")
    with pytest.raises(ValueError, match="target column 'x' must hold finite"):
        make_plan(table, id_column="id", target="x")


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["a", "", "b", " "], "2 rows have no id in column 'id': rows 2, 4"),
        (["a", "b", "a", "b"], "2 ids in column 'id' are not unique: a, b;"),
        ([1, "1", 2, "x"], "1 id in column 'id' is not unique: 1;"),
        ([], "the table has no rows"),
    ],
)
def test_ids_are_there_and_different(ids, says):
    with pytest.raises(ValueError, match=says):
        make_plan(table_of({"id": ids, "x": range(len(ids))}, text=["id"]), id_column="id")


def test_one_row_is_fine():
    plan = make_plan(table_of({"id": ["a"], "x": [5.0], "steel": ["B"]}), id_column="id")
    assert encode(plan, table_of({"id": "bc", "x": [1, 2], "steel": "BC"})).tolist() == [
        [1, 1],
        [2, 0],
    ]


def test_columns_named_with_quotes_newlines_and_sql():
    strange = 'x\'; DROP TABLE ev;--\n"y"'
    table = table_of({"id": "abc", strange: [1, 2, 4]})
    plan = make_plan(table, id_column="id")
    again = TablePlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.names == [strange]
    np.testing.assert_array_equal(encode(again, table), [[1], [2], [4]])


def test_too_many_levels_are_refused():
    table = table_of({"id": range(1500), "x": [f"v{k}" for k in range(1500)]})
    with pytest.raises(ValueError, match="1500 different values, which is too many"):
        make_plan(table, id_column="id", types={"x": "category"})


def test_values_beyond_float32_are_encoded_without_overflow():
    table = table_of(
        {"id": "abcd", "x": [1.7e308, -1.7e308, None, 1.6e308], "z": [5e-324, 0, 1e-310, 0]}
    )
    plan = make_plan(table, id_column="id")
    X = encode(plan, table)
    assert np.isfinite(X).all()
    assert np.isfinite(np.square(X)).all()
    assert X[2, 0] == 1.6e308 / plan.columns[0].scale
    tiny = make_plan(table_of({"id": "ab", "x": [1e-200, 2e-200]}), id_column="id")
    with pytest.raises(
        ValueError, match="'x' must have values of the size it had in the first table, but 1 row"
    ):
        encode(tiny, table_of({"id": "ab", "x": [1e200, 2e-200]}))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda plan: [], "a plan is not an object"),
        (lambda plan: plan | {"v": 2}, "of version 2, not 1: upgrade weal"),
        (lambda plan: plan | {"id": 3}, "its id is not text"),
        (lambda plan: plan | {"target": 3}, "its target is not text"),
        (lambda plan: plan | {"more": 3}, "a plan has"),
        (lambda plan: plan | {"columns": {}}, "its columns are not a list"),
        (lambda plan: plan | {"columns": []}, "it has no inputs"),
        (lambda plan: plan | {"columns": [3]}, "its column 3 is not an object"),
        (lambda plan: plan | {"columns": plan["columns"] * 2}, "the same name"),
        (lambda plan: _with(plan, 0, kind="matrix"), "of kind 'matrix', not one of"),
        (lambda plan: _with(plan, 0, kind=[]), "of kind .., not one of"),
        (lambda plan: _with(plan, 0, median=float("nan")), "median of column 'temp' is nan"),
        (lambda plan: _with(plan, 0, median="1"), "median of column 'temp' is '1'"),
        (lambda plan: _with(plan, 0, median=10**400), "median of column 'temp'"),
        (lambda plan: _with(plan, 0, scale=0.0), "scale of column 'temp' is 0.0"),
        (lambda plan: _with(plan, 0, gaps=1), "gaps of column 'temp' is 1"),
        (lambda plan: _with(plan, 0, name=""), "name of column '' is ''"),
        (lambda plan: _with(plan, 0, levels=["a"]), "a column of kind number has"),
        (lambda plan: _with(plan, 2, levels=[]), "levels of column 'steel'"),
        (lambda plan: _with(plan, 2, levels=["a", "a"]), "levels of column 'steel'"),
        (lambda plan: _with(plan, 4, origin="soon"), "origin of column 'made' is 'soon'"),
        (lambda plan: _with(plan, 4, form="odd"), "form of column 'made' is 'odd'"),
    ],
)
def test_json_that_is_no_plan_is_refused(plan, change, says):
    with pytest.raises(ValueError, match=says):
        TablePlan.from_json(change(plan.to_json()))


def _with(plan, n, **changes):
    parts = [dict(column) for column in plan["columns"]]
    parts[n] |= changes
    return plan | {"columns": parts}


CELL = {
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.integers(-(10**9), 10**9),
    "category": st.sampled_from(["a", "b", "c d"]),
    "flag": st.booleans(),
    "date": st.datetimes(),
    "text": st.text(st.characters(exclude_categories=["Cs"])),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(CELL)), min_size=1, max_size=5))
    column = lambda kind: st.lists(st.one_of(CELL[kind], st.none()), min_size=n, max_size=n)  # noqa: E731
    cells = {f"{kind} {k}": draw(column(kind)) for k, kind in enumerate(kinds)}
    cells["always"] = draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n))
    ids = [f"A-{k}" for k in range(n)]
    return {"id": ids, **cells}


def _made(cells):
    """The table and its plan, with one column that is surely of use."""
    table = table_of(cells, text=["id"])
    return table, make_plan(table, id_column="id", types={"always": "number"})


@QUICKLY
@given(tables())
def test_what_is_encoded_is_finite(cells):
    table, plan = _made(cells)
    X = encode(plan, table)
    assert X.shape == (table.n, len(plan.names))
    assert X.dtype == np.float64
    assert np.isfinite(X).all()


@QUICKLY
@given(tables())
def test_a_plan_read_from_json_gives_the_same_inputs(cells):
    table, plan = _made(cells)
    again = TablePlan.from_json(json.loads(json.dumps(plan.to_json(), allow_nan=False)))
    assert again == plan
    np.testing.assert_array_equal(encode(again, table), encode(plan, table))


@QUICKLY
@given(tables(), st.randoms())
def test_the_order_of_rows_is_irrelevant(cells, random):
    cells = {name: column for name, column in cells.items() if not name.startswith("whole")}
    table, plan = _made(cells)
    rows = random.sample(range(table.n), table.n)
    other = table.take(rows)
    assert make_plan(other, id_column="id", types={"always": "number"}).names == plan.names
    np.testing.assert_array_equal(encode(plan, other), encode(plan, table)[rows])


@QUICKLY
@given(tables(), st.randoms())
def test_the_position_of_a_column_is_irrelevant(cells, random):
    table, plan = _made(cells)
    names = random.sample(sorted(cells), len(cells))
    other, its_plan = _made({name: cells[name] for name in names})
    np.testing.assert_array_equal(encode(plan, other), encode(plan, table))
    assert sorted(its_plan.lines()) == sorted(plan.lines())


@QUICKLY
@given(tables(), st.integers(0, 12))
def test_a_table_in_parts_gives_the_same_inputs(cells, cut):
    table, plan = _made(cells)
    cut = min(cut, table.n)
    parts = [table.take(slice(0, cut)), table.take(slice(cut, None))]
    X = np.concatenate([encode(plan, part) for part in parts if part.n])
    np.testing.assert_array_equal(X, encode(plan, table))


def test_the_sample_is_planned_as_it_should_be():
    table = read_table(samples.path("alloys.csv"), text=["sample"])
    plan = make_plan(table, id_column="sample", target="hardness")
    assert plan.describe() == "9 inputs (7 numbers, 1 date, 1 category -> 4, 1 dropped: constant)"
    assert encode(plan, table).shape == (300, 14)
