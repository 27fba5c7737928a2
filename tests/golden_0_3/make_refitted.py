"""What is predicted for stores of these golden files whose experts are selected again.

Since they were made, a noise ratio that does not show beside stated noise is on its bound
(`core.extensions.ard`), which changes the experts of classes and grades. To be made again only
where the selection of experts changes on purpose:

    PYTHONPATH=tests OMP_NUM_THREADS=1 python tests/golden_0_3/make_refitted.py
"""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

from golden_0_2.make import spell
from golden_0_2.reading import read_asks
from golden_0_3 import reading

HERE = Path(__file__).parent
CHANGED = ("sorts", "boards")


def refitted(name, folder, asks):
    """What the store without its snapshots answers now."""
    store = Path(shutil.copy(HERE / "campaigns.db", folder))
    reading.drop_snapshots(store)
    found = {"beliefs": reading.read_beliefs(store, name)}
    return found if asks is None else found | {"asks": read_asks(store, name, "-n", "2")}


def check_near(now, then):
    """Probabilities are the same within 0.08, and grades within a quarter of their sd."""
    for column in then:
        moved = np.abs(np.subtract(now[column], then[column])) if "P(" in column else 0.0
        assert np.max(moved) <= 0.08, column
        if column.endswith("grade mean"):
            moved = np.abs(np.subtract(now[column], then[column]))
            assert (moved <= 0.25 * np.array(then[column.replace(" mean", " sd")])).all()


def main():
    found, expected = {}, json.loads((HERE / "expected.json").read_text("utf-8"))["campaigns"]
    for name in CHANGED:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = refitted(name, folder, expected[name]["asks"])
        now, then = (case["beliefs"]["predictions"] for case in (found[name], expected[name]))
        check_near(now, then)
    (HERE / "refitted.json").write_text(spell(found), "utf-8")


if __name__ == "__main__":
    main()
