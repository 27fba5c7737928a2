"""Write src/weal/samples/reactions.csv: 400 recipes of an invented reaction, 10 of them run.

The same bytes each time: python scripts/make_reactions.py
"""

import csv
import io
import random

from weal.samples.reactions import REACTIONS_TABLE, measure_row

ROWS, LABELS, SEED = 400, 10, 1
COLUMNS = ["run", "temp", "hours", "catalyst", "pressure", "yield"]


def table_text() -> str:
    """The whole table as CSV."""
    rng = random.Random(SEED)
    rows = [_row(n, rng) for n in range(1, ROWS + 1)]
    for row in rng.sample(rows, LABELS):
        row["yield"] = str(measure_row(row["run"], row))
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _row(n: int, rng: random.Random) -> dict[str, str]:
    """A recipe that the equipment allows."""
    return {
        "run": f"R-{n:03}",
        "temp": f"{rng.uniform(50.0, 120.0):.0f}",
        "hours": f"{rng.uniform(1.0, 24.0):.1f}",
        "catalyst": f"{rng.uniform(0.5, 8.0):.2f}",
        "pressure": f"{rng.uniform(1.0, 6.0):.1f}",
        "yield": "",
    }


if __name__ == "__main__":
    REACTIONS_TABLE.write_text(table_text(), encoding="utf-8", newline="\n")
