"""What the store keeps of a pool: the original cells."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weal.errors import UnreadableFile
from weal.tables.table import table_of

pytest.importorskip("pyarrow")
from weal.tables.parquet_io import parquet_to_table, table_to_parquet

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda t: t.strip())
CELLS = [
    TEXT,
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)),
    st.none(),
]
COLUMN = st.one_of([st.lists(st.one_of(cell, st.none()), min_size=4, max_size=4) for cell in CELLS])


@settings(max_examples=60, deadline=None)
@given(columns=st.dictionaries(TEXT, COLUMN, min_size=1, max_size=5), data=st.data())
def test_every_cell_comes_back(columns, data):
    text = data.draw(st.sets(st.sampled_from(sorted(columns))))
    table = table_of(columns, text=text)
    again = parquet_to_table(table_to_parquet(table))
    assert list(again.columns) == list(table.columns)
    for name, cells in table.columns.items():
        assert type(again.columns[name]) is type(cells)
        assert again.cells(name) == table.cells(name)
        assert [type(c) for c in again.cells(name)] == [type(c) for c in table.cells(name)]


def test_ids_that_look_like_something_else_stay_text():
    ids = ["007", "NA", "1e3", "-", " x "]
    table = table_of({"id": ids, "x": [1, 2, 3, 4, 5]}, text=["id"])
    assert parquet_to_table(table_to_parquet(table)).cells("id") == ids


def test_frames_are_taken_too():
    pa = pytest.importorskip("pyarrow")
    table = parquet_to_table(table_to_parquet(pa.table({"a": [1, None], "b": ["x", "y"]})))
    assert (table.cells("a"), table.cells("b")) == ([1, None], ["x", "y"])


def test_tables_without_rows_come_back():
    assert parquet_to_table(table_to_parquet(table_of({"a": [], "b": np.zeros(0)}))).n == 0


@pytest.mark.parametrize("data", [b"", b"PAR1", b"\x80\x04pickle", bytes(100)])
def test_other_bytes_are_refused(data):
    with pytest.raises(UnreadableFile, match="not Parquet, or damaged"):
        parquet_to_table(data)
