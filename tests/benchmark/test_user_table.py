import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.benchmark.tasks import availability, draw
from weal.benchmark.user_table import MIN_TABLE_ROWS, sizes, task_from_table

N = 60


@pytest.fixture
def frame():
    """Cells of a small table, as text."""
    rng = np.random.default_rng(0)
    a, b, y = rng.standard_normal((3, N)).tolist()
    return {name: [repr(v) for v in values] for name, values in (("a", a), ("b", b), ("y", y))}


@pytest.fixture
def write(tmp_path):
    def to_file(cells, separator=",", start="", name="mine.csv"):
        rows = [cells.keys(), *zip(*cells.values(), strict=True)]
        path = tmp_path / name
        path.write_text(start + "\n".join(separator.join(row) for row in rows) + "\n", "utf-8")
        return path

    return to_file


def test_a_table_of_numbers_becomes_a_task_that_can_be_drawn(frame, write):
    task, notes = task_from_table(write(frame), "y")
    assert (task.name, task.d, task.rows, task.group, notes) == ("mine", 2, N, "own", ())
    assert availability(task) is None
    split = draw(task, 0, 7)
    assert split.Xt.shape == (task.test, 2)
    rows = {(float(a), float(b), float(y)) for a, b, y in zip(*frame.values(), strict=True)}
    X, y = np.vstack([split.X0, split.Xv, split.Xu, split.Xt]), [*split.y0, *split.yv]
    y = np.array([*y, *split.yu, *split.yt])
    assert {tuple(row) for row in np.column_stack([X, y]).tolist()} == rows


def test_another_content_is_another_key(frame, write):
    first, _ = task_from_table(write(frame), "y")
    again, _ = task_from_table(write(frame, name="copy.csv"), "y")
    other, _ = task_from_table(write(frame), "b")
    assert first.number == again.number != other.number


@pytest.mark.parametrize(("separator", "start"), [(";", ""), ("\t", ""), (",", "\ufeff")])
def test_usual_separators_and_a_byte_order_mark_are_read(frame, write, separator, start):
    task, _ = task_from_table(write(frame, separator, start), "y")
    np.testing.assert_array_equal(task.points.X[:, 0], [float(v) for v in frame["a"]])


def test_columns_of_no_use_are_left_out_with_a_note(frame, write):
    frame |= {"who": ["ann"] * N, "one": ["1"] * N, "none": ["NA"] * N}
    task, notes = task_from_table(write(frame), "y")
    assert task.points.columns == ("a", "b")
    assert notes == (
        "left out column 'who': constant ('ann' in every row)",
        "left out column 'one': constant ('1' in every row)",
        "left out column 'none': empty (no cell has a value)",
    )


def test_a_category_becomes_inputs(frame, write):
    frame["site"] = ["north", "south", "east"] * (N // 3)
    task, notes = task_from_table(write(frame), "y")
    assert task.points.columns == ("a", "b", "site=east", "site=north", "site=south")
    np.testing.assert_array_equal(task.points.X[:2, 2:], [[0, 1, 0], [0, 0, 1]])
    assert notes == ()


def test_a_decimal_comma_among_points_is_read_and_said(frame, write):
    frame["a"][3] = "12,5"
    task, notes = task_from_table(write(frame, separator=";"), "y")
    assert task.points.X[3, 0] == 12.5
    assert notes == ("a: decimal commas beside decimal points, read as numbers ('12,5')",)


def test_rows_without_a_label_are_left_out_and_missing_inputs_filled_in(frame, write):
    frame["a"][0], frame["y"][2] = "", "n/a"
    task, notes = task_from_table(write(frame), "y")
    assert task.rows == N - 1
    assert task.points.columns == ("a", "a missing", "b")
    assert np.isfinite(task.points.X).all()
    assert notes == ("left out 1 rows without a label",)


def test_infinite_cells_are_refused_with_their_rows(frame, write):
    frame["b"][1] = "inf"
    with pytest.raises(ValueError, match=r"mine.csv: column 'b' must hold finite numbers.*row 2"):
        task_from_table(write(frame), "y")


def test_a_missing_target_is_answered_with_the_columns(frame, write):
    with pytest.raises(ValueError, match="no column 'z'; it has a, b, y"):
        task_from_table(write(frame), "z")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["5"] * N}, "is 5 in every row"),
        ({"y": ["low"] * N}, "must hold numbers, but 60 rows do not: 'low' .row 1., 'low' .row 2"),
        ({"y": ["1", *[""] * (N - 1)]}, "1 usable rows .beside 59"),
        (
            {"a": ["x"] * N, "b": ["x"] * N},
            "no column is left to learn from. a: dropped, constant",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(frame, write, change, message):
    with pytest.raises(ValueError, match=message):
        task_from_table(write(frame | change), "y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,y\n", "has no rows"),
        ("a,a,y\n1,2,3\n", "two columns of the same name: 'a'"),
        ("a,y\n1,2\n1,2,3\n", "line 3 of .* has 3 cells, but its header has 2"),
        ("a,y\n" + "1,2\n2,3\n" * 5, f"10 usable rows; a simulation needs {MIN_TABLE_ROWS}"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, text, message):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        task_from_table(tmp_path / "mine.csv", "y")


def test_a_file_that_is_missing_or_not_of_text_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        task_from_table(tmp_path / "none.csv", "y")
    (tmp_path / "bytes.csv").write_bytes(b"a,y\n\0\0,1\n")
    with pytest.raises(ValueError, match="is not a text file"):
        task_from_table(tmp_path / "bytes.csv", "y")


def test_parquet_gives_the_same_task_as_csv(frame, write, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: [float(v) for v in cells] for name, cells in frame.items()}
    pq.write_table(pa.table(columns), tmp_path / "mine.parquet")
    a, _ = task_from_table(write(frame), "y")
    b, _ = task_from_table(tmp_path / "mine.parquet", "y")
    assert a.number == b.number
    np.testing.assert_array_equal(a.points.X, b.points.X)


def test_parquet_columns_of_other_kinds_are_noted_or_read(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {
            "yes": pa.array([i % 2 == 0 for i in range(N)]),
            "count": pa.array([None, *range(1, N)], pa.int64()),
            "who": pa.array(["ann"] * N),
            "y": pa.array(np.arange(N), pa.float32()),
        }
    )
    pq.write_table(table, tmp_path / "mine.parquet")
    task, notes = task_from_table(tmp_path / "mine.parquet", "y")
    assert task.points.columns == ("yes", "count", "count missing")
    assert task.rows == N
    assert notes == ("left out column 'who': constant ('ann' in every row)",)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 but not quite")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        task_from_table(tmp_path / "bad.parquet", "y")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "mine.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match="needs pyarrow: pip install"):
        task_from_table(tmp_path / "mine.parquet", "y")


@given(n=st.integers(MIN_TABLE_ROWS, 10**6))
def test_sizes_fit_into_the_table_and_leave_candidates(n):
    L0, V, U0, test = sizes(n)
    assert L0 + V + U0 + test <= n
    assert min(L0, V) >= 5
    assert test >= 10
    assert U0 >= 20
