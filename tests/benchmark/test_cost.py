"""Costs beside other packages: sections of a command, finished cases, and what the page says."""

import json

import pandas as pd
import pytest
from benchmarks import cost, cost_cases, record
from benchmarks.pages import query_cost
from benchmarks.pages.result_files import Figures


def test_a_second_counts_for_the_innermost_section(monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 7.0, 8.0])
    monkeypatch.setattr(cost_cases.time, "process_time", lambda: next(clock))
    times = cost_cases.SectionTimes()
    inner = times.wrap("pass", lambda: "found")
    with times.section("ask"):
        assert inner() == "found"
    assert times.spent == {"all else": 1.0, "ask": 2.0 + 1.0, "pass": 4.0}


def test_finished_cases_are_kept_and_a_line_that_was_cut_off_is_measured_again(tmp_path):
    kept = cost.KeptCases(tmp_path)
    kept.add("a", [{"seconds": 2.0, "busy": True}])
    kept.add("b", [{"seconds": 1.0, "busy": False}])
    kept.add("a", [{"seconds": 3.0, "busy": True}])  # busier than before
    with (tmp_path / "cases.jsonl").open("a") as file:
        file.write('\n["c", [{"sec')
    again = cost.KeptCases(tmp_path)
    assert again.rows.keys() == {"a", "b"}
    assert again.rows["a"][0]["seconds"] == 2.0
    again.add("a", [{"seconds": 5.0, "busy": False}])
    assert cost.KeptCases(tmp_path).rows["a"][0]["seconds"] == 5.0


def test_a_case_beside_other_work_is_marked_busy(monkeypatch):
    case = cost.CostCase("query", {"method": "weal", "labels": 50}, lambda: [{"seconds": 1.0}])
    for cores, busy in ((0.2, False), (1.4, True)):
        monkeypatch.setattr(record.OtherProcesses, "cores", lambda self, cores=cores: cores)
        assert cost.measured(case)[0]["busy"] is busy


def test_cases_have_every_size_and_leave_botorch_out_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(cost, "find_spec", lambda name: None)
    found = [json.loads(case.key("v")) for case in cost.cases(False, True)]
    queries = [(about["method"], about["labels"]) for _, part, about in found if part == "query"]
    assert sorted(queries) == sorted(
        (method, labels) for method in ("weal", "scikit-learn") for labels in (50, 500, 2000)
    )
    commands = [one for _, part, one in found if part == "command"]
    assert {one["candidates"] for one in commands} == {10**3, 10**4, 10**5}
    assert max(one["candidates"] for _, part, one in found if part == "shards") == 10**7


def some_rows():
    sizes = [(50, 1000, 0.02, 0.004), (50, 10000, 0.05, 0.1), (500, 1000, 0.1, 0.03)]
    rows = []
    for labels, count, ours, theirs in sizes:
        about = {"part": "query", "labels": labels, "candidates": count, "MB": 99.0, "busy": False}
        rows += [
            {**about, "what": what, "method": method, "seconds": seconds * k}
            for what, k in (("step", 1.0), ("fit", 10.0))
            for method, seconds in (("weal", ours), ("scikit-learn", theirs))
        ]
    rows += [{"part": "query", "labels": n, "what": "imports", "method": "scikit-learn",
              "seconds": 2.0, "MB": 50.0, "busy": False} for n in (50, 500)]  # fmt: skip
    rows.append({"part": "command", "labels": 50, "candidates": 1000, "method": "weal",
                 "what": "weal ask", "seconds": 1.5, "MB": 130.0, "busy": True})  # fmt: skip
    return pd.DataFrame(rows)


def test_the_page_says_first_where_a_step_is_slower_and_marks_busy_times(monkeypatch):
    monkeypatch.setattr(query_cost, "in_inks", lambda *_: {})
    rows = some_rows()
    first = query_cost.found(rows).splitlines()[0]
    assert "slower than one of scikit-learn in 2 of 3 sizes (at most 5 times its time" in first
    made = {title: text for title, _, text in query_cost.sections(rows, Figures())}
    line = made["A command"].splitlines()[-1].replace("\N{NO-BREAK SPACE}", " ")
    assert "1.5 s busy" in line
    assert f"{2.0 + 0.04 + 0.004:.3g} s" in line  # imports, fit and step of the rival


@pytest.mark.parametrize("method", ["weal", "scikit-learn"])
def test_a_small_query_has_imports_a_fit_and_a_step(method):
    ours = method == "weal"
    found = cost_cases.query_weal(12, [30]) if ours else cost_cases.query_rival(method, 12, [30])
    rows = list(found)
    assert [row["what"] for row in rows] == ["imports", "fit", "step"]
    assert all(row["seconds"] >= 0.0 and row["MB"] > 1.0 for row in rows)
