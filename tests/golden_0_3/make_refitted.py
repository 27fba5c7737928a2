"""What is predicted for stores of these golden files whose experts are selected again.

Since they were made, a noise ratio that does not show beside stated noise is on its bound
(`core.extensions.ard`), which changes the experts of classes and grades. To be made again only
where the selection of experts changes on purpose:

    PYTHONPATH=tests OMP_NUM_THREADS=1 python tests/golden_0_3/make_refitted.py
"""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from golden_0_2.make import spell
from golden_0_2.reading import read_asks
from golden_0_3 import reading

HERE = Path(__file__).parent
CHANGED = ("sorts", "boards")


def refitted(name, folder):
    """What the store without its snapshots answers now."""
    store = Path(shutil.copy(HERE / "campaigns.db", folder))
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM weal_snapshot")
    found = {"beliefs": reading.read_beliefs(store, name)}
    asks = json.loads((HERE / "expected.json").read_text("utf-8"))["campaigns"][name]["asks"]
    return found if asks is None else found | {"asks": read_asks(store, name, "-n", "2")}


def main():
    found = {}
    for name in CHANGED:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = refitted(name, folder)
    (HERE / "refitted.json").write_text(spell(found), "utf-8")


if __name__ == "__main__":
    main()
