"""`weal simulate`: would active learning pay on a table like mine?"""

import sys
from pathlib import Path

import numpy as np
import pytest

from weal.cli import main
from weal.files import write_files

TINY = ["--realisations", "2", "--queries", "3", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(  # it has tests of its own, and takes seconds
        "weal.benchmark.report.write",
        lambda folder, *rest: write_files(Path(folder), {"report.html": b""}),
    )


@pytest.fixture
def simulate(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as left:
            main.main(["simulate", *words, *TINY])
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return call


def columns(n=60):
    rng = np.random.default_rng(3)
    a, b = rng.uniform(size=(2, n))
    return {"a": a, "b": b, "site": ["north", "south"] * (n // 2), "y": np.sin(6 * a) + b}


def write_csv(path, table):
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    Path(path).write_text("\n".join([",".join(table), *lines, ""]))
    return path


def test_a_csv_is_learnt_by_our_methods_and_at_random(simulate):
    code, out, err = simulate(write_csv("mine.csv", columns()), "--target", "y")
    assert code == 0
    assert "left out" not in err  # the category is an input, too
    assert out.splitlines()[0].split() == ["NMSE", "mine"]
    methods = {line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]}
    assert {"weal-random", "weal-auto"} <= methods
    assert Path("weal-out/simulate-mine/report.html").is_file()
    assert (out + err).count("Undecided: 2 realisations are too few to tell") == 1
    assert "no clear difference" not in out + err
    assert "undecided" in out


def test_parquet_gives_the_same_as_csv(simulate):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = columns()
    pq.write_table(pa.table(table), "mine.parquet")
    few = ["--target", "y", "--methods", "random,egp-wvar"]
    of_parquet = simulate("mine.parquet", *few, "--out", "one")
    of_csv = simulate(write_csv("mine.csv", table), *few, "--out", "two")
    assert of_parquet[0] == of_csv[0] == 0
    assert of_parquet[1].split("\n\n")[:2] == of_csv[1].split("\n\n")[:2]


def test_a_table_that_was_edited_is_computed_anew(simulate):
    table, few = columns(), ["--target", "y", "--methods", "random", "--out", "here"]
    simulate(write_csv("mine.csv", table), *few)
    assert "2 of 2 curves were finished before" in simulate("mine.csv", *few)[2]
    table["y"][5] += 1.0
    assert "already" not in simulate(write_csv("mine.csv", table), *few)[2]


def test_a_table_named_like_a_task_of_the_paper_is_not_taken_for_it(simulate):
    _, out, _ = simulate(write_csv("higdon.csv", columns()), "--target", "y", "--methods", "random")
    assert out.splitlines()[0].split() == ["NMSE", "higdon-table"]


@pytest.mark.parametrize(
    ("change", "target", "says"),
    [
        ({}, "z", "has no column 'z'; it has a, b, site, y"),
        ({}, "site", "must hold numbers"),
        ({"y": [1.0] * 60}, "y", "is 1 in every row"),
        (dict.fromkeys(["a", "b", "site"], ["x"] * 60), "y", "no column is left to learn from"),
        ({"y": [""] * 50 + list(range(10))}, "y", "10 usable rows"),
        ({"y": [0.0] * 59 + [1.0]}, "y", "are 0"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_and_nothing_is_written(
    simulate, change, target, says
):
    code, out, err = simulate(
        write_csv("mine.csv", {**columns(), **change}), "--target", target, "--seed", "1"
    )
    assert (code, out) == (2, "")
    assert says in err.strip().splitlines()[-1]
    assert [path.name for path in Path().iterdir()] == ["mine.csv"]


def test_a_file_that_is_not_there_is_refused(simulate):
    code, _, err = simulate("nothing.csv", "--target", "y")
    assert code == 2
    assert "there is no file nothing.csv" in err


def test_labels_saved_are_counted_the_slow_way():
    from weal.benchmark.labels_saved import labels_saved

    rng = np.random.default_rng(0)
    chosen, drawn = rng.random((2, 40, 9))
    slow = []
    for one, other in zip(chosen, drawn, strict=True):
        reached = max(min(one), min(other))
        first = [next(t for t in range(9) if part[t] <= reached) for part in (one, other)]
        slow.append(first[1] - first[0])
    assert labels_saved(chosen, drawn).tolist() == slow


@pytest.mark.parametrize(
    ("saved", "says"),
    [
        ([5, 6, 7, 6, 6, 5], "Yes"),
        ([-5, -6, -4, -5, -4, -5], "No"),
        ([-5, 6, 1, 0, 2, -3], "Undecided: choosing (weal-auto)"),
        ([5, 6, 7, 6], "Undecided: 4 realisations are too few"),
    ],
)
def test_the_answer_is_a_sentence(saved, says):
    import pandas as pd

    from weal.benchmark.labels_saved import labels_saved_on_task as answer

    rows = []
    for r, n in enumerate(saved):
        chosen, drawn = (10 - max(n, 0), 10) if n >= 0 else (10, 10 + n)
        for name, end in (("weal-auto", chosen), ("weal-random", drawn)):
            nmse = [0.1 if t >= end else 1.0 for t in range(11)]
            rows += [(name, r, t, e) for t, e in enumerate(nmse)]
    table = pd.DataFrame(rows, columns=["method", "realisation", "t", "nmse"])
    found = answer(table, "weal-auto", "weal-random")
    assert found.saved.mean == pytest.approx(np.mean(saved))
    assert found.words.startswith(says)
    assert f"{len(saved)} realisations" in found.words
