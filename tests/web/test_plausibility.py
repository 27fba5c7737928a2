"""The shell, Python and the page judge the same number alike."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest

import weal
from shell import typed
from web.visiting import Visitor, plain

REASON = re.compile(
    r"\S+ is far from (?:its prediction \([^)]*\)|the labels so far: \S+ to [\d.]+\d)"
)


@pytest.fixture
def alloys(tmp_path):
    """A store with a model, a row that was asked and its prediction, and a row that was not."""
    url = f"sqlite:///{tmp_path}/weal.db"
    rng = np.random.default_rng(3)
    pool = {"id": [f"P-{k}" for k in range(40)], "a": rng.uniform(-1, 1, 40).tolist()}
    import pandas as pd

    with weal.open_campaign("lab", url, pool=pd.DataFrame(pool), id_column="id", by="ann") as one:
        for k in range(9):
            one.tell(f"P-{k}", 60.0 + 20.0 * np.sin(2.0 * pool["a"][k]))
        name = one.ask()
        (asked,) = one.asked([name])
        other = next(f"P-{k}" for k in range(9, 40) if f"P-{k}" != name)
    return tmp_path, name, other, asked


def reasons(text):
    return REASON.findall(text)


def in_the_shell(url, name, y):
    done = typed("tell", "lab", name, y, "--store", url, "--json")
    assert done.code == 0
    return reasons(" ".join(json.loads(done.out)["doubts"]))


def in_python(url, name, y):
    with weal.open_campaign("lab", url, by="ann") as one, warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        one.tell(name, y)
    return reasons(" ".join(str(each.message) for each in w))


def in_a_file(url, name, y):
    with weal.open_campaign("lab", url, by="ann") as one:
        preview = one.preview(f"id,value\n{name},{y}\n".encode(), name="r.csv")
    return reasons(" ".join(row.message for row in preview.rows))


def test_the_page_asks_about_a_label_beyond_its_bounds_and_keeps_a_bound_as_a_note(
    tmp_path, servers
):
    url = f"sqlite:///{tmp_path}/weal.db"
    import pandas as pd

    pool = pd.DataFrame({"id": [f"P-{k}" for k in range(9)], "a": np.arange(9.0) ** 2})
    given = {"pool": pool, "id_column": "id", "target": "yield [%]", "by": "ann"}
    weal.open_campaign("lab", url, **given).close()
    with Visitor(servers.start(url)) as ann:
        secret = ann.secret()
        asked = ann.tell("lab", "P-1", "104", secret, "key-1")
        assert "104 is above 100, the upper bound of yield [%]." in plain(asked.text)
        ann.tell("lab", "P-2", ">95", secret, "key-2")
        ann.tell("lab", "P-3", "99,5", secret, "key-3")
    with weal.open_campaign("lab", url) as one:
        ledger = one.read_ledger()
    assert {name: some[0].y for name, some in ledger.quantity().labels.items()} == {"P-3": 99.5}
    assert ledger.skipped == {"P-2": ">95: a bound, not learned from"}


def test_shell_python_files_and_page_judge_a_number_alike(alloys, servers):
    folder, asked, other, prediction = alloys
    mean, half = prediction.mean, 0.5 * (prediction.high - prediction.low)
    numbers = [(asked, mean + c * half) for c in (100.0, 4.1, -4.1, 3.9, 0.5)]
    numbers += [(other, y) for y in (61.0, 6000.0, 0.6)]
    server = servers.start(f"sqlite:///{folder}/weal.db")
    with Visitor(server) as ann:
        secret, counts = ann.secret(), []
        for n, (name, y) in enumerate(numbers):
            copies = [folder / f"{n}-shell.db", folder / f"{n}-python.db"]
            shell_db, python_db = (shutil.copy(folder / "weal.db", copy) for copy in copies)
            shell = in_the_shell(f"sqlite:///{shell_db}", name, repr(y))
            assert shell == in_python(f"sqlite:///{python_db}", name, y)
            assert shell == in_a_file(f"sqlite:///{folder}/weal.db", name, y)
            if shell:  # the page asks and saves nothing; a plausible number is saved
                answer = ann.tell("lab", name, repr(y), secret, f"key-{n}")
                assert reasons(plain(answer.text)) == shell
            counts.append(len(shell))
        for name, y in ((asked, mean + 3.9 * half), (other, 61.0)):
            answer = ann.tell("lab", name, repr(y), secret, f"right-{name}")
            assert reasons(plain(answer.text)) == []
    assert counts == [1, 1, 1, 0, 0, 0, 1, 1]
    with weal.open_campaign("lab", f"sqlite:///{folder}/weal.db") as one:
        assert {asked, other} <= set(one.read_ledger().quantity().labels)
