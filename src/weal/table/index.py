"""The index of a pandas frame as the ids of its rows, where no column holds them.

An index that counts the rows from 0 says nothing; one of several levels is left alone, and so is
one without a name beside a column `id`.
"""

from typing import Any

from weal.table.cells import cell_text, some_of

ID = "id"  # name of the ids where the index has none


def with_ids(source: Any, id_column: str | None, *, wanted: str = ID) -> tuple[Any, str | None]:
    """The frame with its index as a column, and the name of that; others as they are.

    >>> import pandas as pd
    >>> with_ids(pd.DataFrame({"T": [900, 950]}, index=["P-1", "P-2"]), None)[0].columns.tolist()
    ['id', 'T']
    """
    index = _index(source)
    if index is None or id_column is not None:
        return source, id_column
    name = wanted if index.name is None else index.name
    if name in source.columns:
        return source, None
    names = [cell_text(one) for one in index.tolist()]
    if gaps := [n for n, gone in enumerate(index.isna(), start=1) if gone]:
        raise ValueError(f"the index of the frame has no id for row {some_of(gaps)}: name each row")
    if len(set(names)) < len(names):
        twice = list(dict.fromkeys(one for one in names if names.count(one) > 1))
        raise ValueError(
            f"the index of the frame has {some_of(twice)} more than once, and ids are unique: name "
            "the column of the ids (id_column), or number the rows (reset_index(drop=True))"
        )
    return source.reset_index(names=name), str(name)


def _index(source: Any) -> Any | None:
    """The index of one level that says who the rows are."""
    index: Any = getattr(source, "index", None)
    if not hasattr(source, "reset_index") or getattr(index, "nlevels", 0) != 1:
        return None
    counts = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return None if counts and index.name is None else index
