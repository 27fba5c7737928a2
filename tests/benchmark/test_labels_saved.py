"""Does choosing pay: ratios and words against numbers computed by hand."""

import numpy as np
import pytest

from reference.made_up import SETTING, run, table, weights
from weal.benchmark.labels_saved import compare_choices, in_one_line
from weal.benchmark.report import choice_csv, choice_section, write

NOISE = np.array([0.1, -0.2, 0.15, -0.05, 0.05, -0.1, 0.2, -0.15])


def results(**factors):
    """Runs on tasks where the default has that factor of the error of random choice."""
    rows = []
    for task, factor in factors.items():
        for r, e in enumerate(NOISE):
            other = np.array([1.0, 0.5, 0.2]) * np.exp(e)
            rows.append(run(task, "weal-random", r, other))
            rows.append(run(task, "weal-auto", r, other * [1.0, factor, factor] * np.exp(e / 4)))
    return table(*rows)


def test_ratios_are_geometric_means_with_intervals_around_them():
    (row,) = compare_choices(results(branin=0.5))
    assert (row.task, row.method, row.other) == ("branin", "weal-auto", "weal-random")
    assert row.at_end.mean == pytest.approx(0.5, rel=1e-12)
    assert row.over_all.mean == pytest.approx(0.5, rel=1e-12)
    assert row.at_end.low < 0.5 < row.at_end.high < 1.0
    assert row.at_end.n == 8
    assert row.other_nmse == pytest.approx(0.2 * np.exp(NOISE).mean())


def test_where_choosing_does_not_pay_one_sees_it():
    rows = compare_choices(results(branin=0.5, higdon=2.0, currin=1.0))
    words = {row.task: (row.end, row.area) for row in rows}
    assert words["branin"] == ("lower", "lower")
    assert words["higdon"] == ("higher", "higher")
    assert words["currin"] == ("no clear difference",) * 2
    assert in_one_line(rows) == "lower on 1, higher on 1, no clear difference on 1 of 3 tasks"


def test_only_pairs_that_were_run_are_told():
    few = results(branin=0.5)
    even = few[few["method"] == "weal-random"].assign(method="weal-even")
    assert [row.other for row in compare_choices(table(few, even))] == ["weal-random", "weal-even"]
    assert compare_choices(few[few["method"] == "weal-auto"]) == []
    assert choice_section(few[few["method"] == "weal-auto"], 1) is None


def test_the_report_has_a_section_and_a_table_of_it(tmp_path):
    found = results(branin=0.5, higdon=2.0)
    page = write(tmp_path, found, weights(["branin"])[:0], SETTING).read_text(encoding="utf-8")
    assert "Does choosing pay?" in page
    assert "weal, auto, against weal, random: lower on 1, higher on 1" in page
    rows = choice_csv(found, SETTING["seed"])
    assert rows["ratio at the end"].tolist() == pytest.approx([0.5, 2.0])
    assert (tmp_path / "choice.csv").is_file()


def test_too_few_realisations_decide_nothing():
    found = results(branin=0.01)
    (row,) = compare_choices(found[found["realisation"] < 5])
    assert (row.end, row.at_end.low, row.at_end.high) == ("no clear difference", 0.0, np.inf)
