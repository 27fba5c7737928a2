"""The pages of results are made of result files, and of nothing else."""

import ast
import doctest
import json
import re
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks import record
from benchmarks.pages import choice, figures
from benchmarks.pages.result_files import Figures, load

from weal.benchmark.paper_claims import CLAIMS
from weal.benchmark.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "make_results.py"
COUNTED = ("realisation", "batch", "labels", "queries", "claim")  # what tells rows apart


def script():
    spec = spec_from_file_location("make_results", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def other(value):
    """Another value of the same kind."""
    if isinstance(value, str):
        return re.sub(r"\d", lambda digit: str((int(digit.group()) + 3) % 10), value)
    if isinstance(value, list):
        return [other(one) for one in value]
    return value if value is None else 3.7 * value + (1 if isinstance(value, int) else 0.011)


def all_others(row):
    kept = {*COUNTED, "task", "method", "kind", "who", "section", "reading", "title", "found"}
    return {name: value if name in kept else other(value) for name, value in row.items()}


def pages_of(results):
    """The pages without their figures, which the documentation draws and which take far longer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "svg", lambda *_: b"")
        made = script().made(results)
    return {name: content.decode() for name, content in made.items() if name.endswith(".md")}


@pytest.fixture(scope="module")
def kept():
    return pages_of(record.RESULTS)


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The pages of files whose numbers are all others."""
    folder = tmp_path_factory.mktemp("results")
    for path in record.RESULTS.glob("*.json"):
        found = json.loads(path.read_text())
        found["rows"] = [all_others(row) for row in found["rows"]]
        (folder / path.name).write_text(json.dumps(found))
    return pages_of(folder)


def all_zero(row):
    """Whether a row has fractions and all of them are 0: a change of scale does not show in it."""
    fractions = re.findall(r"\d+\.\d+", row)
    return bool(fractions) and not any(map(float, fractions))


def table_rows(text):
    """The rows of all tables, without their headers."""
    lines = [*text.splitlines(), ""]
    return [
        a for a, b in pairwise(lines) if a.startswith("|") and "---" not in a and "---" not in b
    ]


def test_all_pages_are_made_from_the_files_that_are_kept(kept):
    assert {"index.md", "choice.md", "labels.md", "tables.md", "cost.md"} <= set(kept)
    names = {path.stem.split("-")[0] for path in record.RESULTS.glob("*.json")}
    assert ("claims.md" in kept, "pools.md" in kept) == ("claims" in names, "pools" in names)
    assert all(len(table_rows(text)) > 1 for text in kept.values())
    assert not any(re.search(r"\bnan\b|\binf\b|(?<![`:])\{\w*\}", text) for text in kept.values())


def test_under_every_table_is_how_to_repeat_it(kept):
    for text in kept.values():
        tables = re.findall(r"(?:^\|.*\n)+\n(.*)", text, flags=re.M)
        assert tables
        assert all(below.startswith(":::{dropdown} Measured 20") for below in tables)
        for note in re.findall(r":::\{dropdown\}(.*?)\n:::", text, flags=re.S):
            assert re.search(r"\$ (python|./scripts/results) ", note)
            for word in ("seeds: ", "date: 20", "commit: `", "versions: python"):
                assert word in note


def test_no_row_of_a_table_is_typed_by_hand(kept, changed):
    for name, text in kept.items():
        rows = {row for row in table_rows(text) if re.search(r"\d", row) and not all_zero(row)}
        assert rows
        assert not rows & set(table_rows(changed[name]))


def test_no_page_has_a_measured_number_in_its_template():
    """Words may count (of the paper, of a batch); numbers with a fraction come from files."""
    for path in (ROOT / "benchmarks" / "pages").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                prose = re.sub(r">>>.*", "", node.value, flags=re.S)  # examples of docstrings
                prose = prose.replace("arXiv 2206.05009", "").replace("-0.1 ", "")
                assert not re.search(r"\d\.\d", prose), (path.name, node.value)
                assert not re.search(r"^\|.*\d", prose, flags=re.M), (path.name, node.value)


def test_a_difference_on_the_page_is_the_mean_of_the_runs_in_the_file(kept):
    rows = json.loads((record.RESULTS / "choice.json").read_text())["rows"]
    areas = {(r["task"], r["method"], r["realisation"]): r["area"] for r in rows if r["batch"] == 1}
    task = rows[-1]["task"]
    pairs = [
        area - areas[task, "random", n]
        for (name, method, n), area in areas.items()
        if (name, method) == (task, "auto") and (task, "random", n) in areas
    ]
    line = next(row for row in table_rows(kept["choice.md"]) if row.startswith(f"| {task} |"))
    assert f"| {np.mean(pairs):+.3f} (" in line.replace("\N{NO-BREAK SPACE}", " ")


def test_what_tables_say_is_the_mean_over_tables_of_what_is_in_the_file(kept):
    rows = json.loads((record.RESULTS / "tables.json").read_text())["rows"]
    error = {}
    for row in rows:
        if row["part"] == "fit" and row["labels"] == 80:
            error.setdefault((row["table"], row["who"]), []).append(row["error"])
    names = sorted({name for name, _ in error})
    less = [np.mean(error[n, "weal"]) - np.mean(error[n, "scikit-learn"]) for n in names]
    below = sum(one < 0.0 for one in less)
    said = f"on {below} of {len(names)} tables, by {-np.mean(less):.3f} on average"
    assert said in kept["tables.md"]


def test_files_in_the_repository_are_small_and_say_how_they_were_made():
    for kept in load(record.RESULTS).values():
        assert kept.rows
        assert not kept.about["commit"].endswith("+"), f"{kept.name}: of changed code"
    assert sum(path.stat().st_size for path in record.RESULTS.glob("*.json")) < 700_000


@pytest.mark.parametrize("missing", record.NEEDED)
def test_a_file_that_does_not_say_how_it_was_made_is_refused(tmp_path, missing):
    found = json.loads((record.RESULTS / "choice.json").read_text())
    del found[missing]
    (tmp_path / "choice.json").write_text(json.dumps(found))
    with pytest.raises(ValueError, match=rf"choice.json lacks {missing}: .* again with --to"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '{"what": "a"}', ""])
def test_what_is_no_result_file_is_refused_by_its_name(tmp_path, text):
    (tmp_path / "noise.json").write_text(text)
    with pytest.raises(ValueError, match=r"^noise.json (is not a result file|lacks )"):
        load(tmp_path)


def test_the_script_says_what_is_wrong_and_writes_nothing(tmp_path, monkeypatch):
    (tmp_path / "choice.json").write_text("{}")
    words = ["make_results.py", str(tmp_path / "pages"), "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match=r"^choice.json lacks what, command"):
        script().main()
    assert not (tmp_path / "pages").exists()


def test_a_file_that_names_a_place_on_a_machine_is_refused(tmp_path):
    with pytest.raises(ValueError, match="names a place on a machine: /home/"):
        record.write(tmp_path / "a.json", "a", [{"what": "in /home/ann/data"}], [1])
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_read_again_with_nulls_for_what_is_not_finite(tmp_path):
    rows = [{"task": "a|b", "area": np.float64(-1.23456789), "n": np.int64(3), "none": np.nan}]
    record.write(tmp_path / "a.json", "a thing", rows, "0:3")
    found = record.read(tmp_path / "a.json")
    assert found["rows"] == [{"task": "a|b", "area": -1.23457, "n": 3, "none": None}]
    assert set(record.NEEDED) <= set(found)


def test_the_page_on_choosing_does_with_what_was_run(tmp_path):
    """Two tasks, too few realisations for an interval, no other methods."""
    rows = [
        {"task": task, "method": who, "realisation": n, "batch": 1, "area": -n - (who == "auto")}
        for task in ("Branin", "Diabetes")
        for who in ("auto", "random")
        for n in range(2)
    ]
    record.write(tmp_path / "choice.json", "choice, 3 queries", rows, "0:2")
    text = choice.page(load(tmp_path), Figures())
    assert "too few realisations" in text
    assert "| Branin | -1.500 | -0.500 | -1.000 |" in text


def test_the_page_on_choosing_says_what_bounds_the_gain(tmp_path):
    """Paired with random choice by realisation, on the rows that the oracle does not see."""
    areas = {"random": -0.1, "auto": -0.2, "twice": -0.3, "all": -0.6, "oracle": -0.5}
    rows = [
        {"task": task, "method": who, "realisation": n, "batch": 1, "area": area - n}
        | {"area seen": 2 * area}
        for task in ("Diabetes", "elevation")
        for who, area in areas.items()
        for n in range(2)
        if (task, who) != ("elevation", "oracle")
    ]
    record.write(tmp_path / "choice.json", "choice, 3 queries", rows, "0:2")
    assert "bounds the gain" not in choice.page(load(tmp_path), Figures())
    record.write(tmp_path / "choice-ceiling.json", "ceiling", rows, "0:2")
    text = choice.page(load(tmp_path), Figures())
    assert "| Diabetes | -0.100 | -0.200 | -0.500 | -0.400 | -0.800 |" in text
    assert "| elevation | -0.100 | -0.200 | -0.500 | - | - |" in text
    assert "50 % of what twice the labels are worth" in text
    assert "On 1 of them an oracle that looks at labels before it asks gains -0.400" in text


@pytest.mark.parametrize("name", ["record", "pages.markdown", "pages.figures", "pages.paired"])
def test_examples_in_the_modules_hold(name):
    assert doctest.testmod(import_module(f"benchmarks.{name}")).failed == 0


def test_the_paper_has_its_claims_first_and_a_part_for_each_of_its_ten_tasks(kept):
    text = kept["claims.md"]
    parts = re.split(r"^### ", text.split("## The ten experiments")[1], flags=re.M)[1:11]
    assert len(parts) == len(TASKS) == 10
    for part, task in zip(parts, TASKS.values(), strict=True):
        assert part.startswith(task.title)
        assert f"(claims-{task.name}-light.svg)" in part
        assert re.search(r"^- claim \d, .*: (holds|not shown)$", part, flags=re.M)
    assert text.index("| the paper says |") < text.index("## The ten experiments")


def test_the_page_on_the_paper_begins_with_the_table_of_claims():
    table = script().claims.part_of_paper_page(load(record.RESULTS))
    assert len(table_rows(table)) == len(CLAIMS)
    page = (ROOT / "docs" / "understand" / "paper.md").read_text(encoding="utf-8")
    assert script().PAPER_PART in page.split("\n## ")[1]
