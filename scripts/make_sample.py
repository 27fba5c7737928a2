"""Write src/weal/samples/alloys.csv: 300 invented alloys, 12 of them measured.

The same bytes each time: python scripts/make_sample.py
"""

import csv
import io
import random
from collections.abc import Callable
from datetime import date, timedelta

from weal.samples.alloys import ALLOYS_TABLE, QUENCH, hardness

ROWS, LABELS, SEED = 300, 12, 6
FIRST_DAY = date(2024, 1, 8)
RANGES = {  # lowest, highest, decimals
    "carbon": (0.1, 0.9, 3),
    "manganese": (0.3, 1.6, 2),
    "chromium": (0.0, 3.0, 2),
    "molybdenum": (0.0, 0.6, 3),
    "nickel": (0.0, 3.5, 2),
    "temper_temp": (180.0, 650.0, 0),
    "temper_hours": (0.5, 6.0, 1),
}
MISSING = {"molybdenum": 0.06, "temper_hours": 0.04}  # share of cells that nobody wrote down
COLUMNS = ["sample", *RANGES, "quench", "cast_on", "furnace", "hardness"]


def table_text() -> str:
    """The whole table as CSV."""
    draw = random.Random(SEED).random
    samples = sorted([*random.Random(SEED).sample(range(1, 1000), ROWS - 1), 417])
    if len(set(samples)) < ROWS:
        raise SystemExit("sample 417 was drawn; take another SEED")
    rows = [_row(f"A-{number:04}", draw) for number in samples]
    for n in sorted(range(ROWS), key=lambda n: draw())[:LABELS]:
        rows[n]["hardness"] = str(hardness(rows[n]["sample"], rows[n]))
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _row(sample: str, draw: Callable[[], float]) -> dict[str, str]:
    row = {"sample": sample, "furnace": "F2", "hardness": ""}
    for name, (low, high, decimals) in RANGES.items():
        value = f"{low + (high - low) * draw():.{decimals}f}"
        row[name] = "" if draw() < MISSING.get(name, 0.0) else value
    row["quench"] = list(QUENCH)[int(draw() * len(QUENCH))]
    row["cast_on"] = (FIRST_DAY + timedelta(days=int(draw() * 120))).isoformat()
    return row


if __name__ == "__main__":
    ALLOYS_TABLE.write_text(table_text(), encoding="utf-8", newline="\n")
