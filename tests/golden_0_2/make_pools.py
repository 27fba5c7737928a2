"""Golden pools: Parquet files that a learner and a campaign stand on, and a CSV converted once."""

import numpy as np

import weal
from golden_0_2.rows import measure, points

FILES = ("pool/part-0.parquet", "pool/part-1.parquet", "pool/part-2.parquet")
ROWS = 60  # of each file
CSV = "pool.csv"


def pool_points():
    return points(40, ROWS * len(FILES), 2)


def pool_label(name):
    """The label of a row, by its id."""
    n = int(name.removeprefix("P-"))
    return float(measure(pool_points()[n : n + 1], seed=n)[0])


def make_pools(folder):
    """Write the Parquet files, the CSV and its conversion."""
    import pyarrow
    from pyarrow import parquet

    (folder / "pool").mkdir()
    X = pool_points()
    for k, name in enumerate(FILES):
        rows = range(k * ROWS, (k + 1) * ROWS)
        table = pyarrow.table(
            {
                "sample": [f"P-{n}" for n in rows],
                "a": X[rows.start : rows.stop, 0],
                "b": X[rows.start : rows.stop, 1],
            }
        )
        parquet.write_table(table, folder / name, row_group_size=ROWS)
    lines = [f"C-{n};{a:.4f};{b:.4f}".replace(".", ",") for n, (a, b) in enumerate(X[:50])]
    (folder / CSV).write_text("\n".join(["sample;a;b", *lines, ""]), encoding="utf-8")
    weal.open_pool(folder / CSV, id_column="sample")


def make_converted_case(folder):
    """What a learner on the converted CSV asks for."""
    X = pool_points()
    learner = weal.ActiveLearner(weal.open_pool(folder / CSV, id_column="sample"), threads=1)
    ids = [f"C-{n}" for n in range(0, 50, 6)]
    labels = measure(X[np.arange(0, 50, 6)], seed=41).tolist()
    learner.tell(ids, labels)
    return {"ids": ids, "labels": labels, "asks": learner.ask(3)}
