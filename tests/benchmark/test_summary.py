import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reference.made_up import run, table
from weal.benchmark.statistics import in_arrays, interval, on_scale, p_values, pairs
from weal.benchmark.summary import area, by_run, check, cost, final, labels_needed

THREE = table(
    run("currin", "gp-var", 0, [0.9, 0.5, 0.2], [2.0, 1.0, 4.0]),
    run("currin", "gp-var", 1, [0.8, 0.4, 0.4], [2.0, 1.0, 1.0]),
    run("currin", "gp-var", 2, [0.7, 0.3, 0.9], [2.0, 1.0, 1.0]),
    run("currin", "egp-wvar", 0, [0.9, 0.1, 1e-7], [3.0, 0.0, -1.0], labels=60),
    run("currin", "egp-wvar", 1, [0.9, 0.2, 1e-2], [3.0, 0.0, -2.0], labels=60),
    run("currin", "egp-wvar", 2, [0.9, 0.3, 1e-3], [3.0, 0.0, -6.0], labels=60),
)


def row(frame, method, task="currin", **more):
    found = frame[(frame["method"] == method) & (frame["task"] == task)]
    for name, value in more.items():
        found = found[found[name] == value]
    assert len(found) == 1
    return found.iloc[0]


def test_the_final_table_has_mean_sd_and_median_as_computed_by_hand():
    found = row(final(THREE), "gp-var")
    assert found["nmse_mean"] == pytest.approx(0.5)
    assert found["nmse_sd"] == pytest.approx(np.sqrt((0.09 + 0.01 + 0.16) / 2))
    assert found["npll_mean"] == pytest.approx(2.0)
    assert found["npll_median"] == pytest.approx(1.0)
    assert (found["realisations"], found["t"], found["labels"]) == (3, 2, 12)
    assert row(final(THREE), "egp-wvar")["labels"] == 62


def test_the_lowest_mean_is_best_and_what_cannot_be_told_from_it_a_tie():
    noise = np.array([0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.25, -0.25])
    runs = [run("branin", "gp-var", r, [1, 0.5 + e]) for r, e in enumerate(noise)]
    runs += [run("branin", "random", r, [1, 0.51 - e]) for r, e in enumerate(noise)]
    runs += [run("branin", "egp-qbc", r, [1, 0.6 + e]) for r, e in enumerate(noise)]
    found = final(table(*runs))
    marks = [row(found, m, "branin")["nmse_mark"] for m in ("gp-var", "random", "egp-qbc")]
    assert marks == ["best", "tie", ""]  # the third is worse by 0.1 in every realisation


def test_the_area_is_the_mean_over_queries_of_floored_logs():
    found = row(area(THREE), "egp-wvar")
    areas = [(-1 - 5) / 2, (np.log10(0.2) - 2) / 2, (np.log10(0.3) - 3) / 2]  # 1e-7 counts as 1e-5
    assert found["area_mean"] == pytest.approx(np.mean(areas))
    assert found["area_sd"] == pytest.approx(np.std(areas, ddof=1))
    runs = by_run(THREE)
    assert runs.loc[("currin", "gp-var", 0), "npll_area"] == pytest.approx(2.5)
    assert runs.loc[("currin", "gp-var", 0), "npll_start"] == 2.0


def test_labels_needed_count_the_first_time_and_those_that_never_get_there():
    found = labels_needed(THREE, [0.5, 0.25, 0.01])
    half = row(found, "gp-var", level=0.5)
    assert (half["labels"], half["reached"], half["realisations"]) == (11, 3, 3)
    quarter = row(found, "gp-var", level=0.25)
    assert (quarter["labels"], quarter["reached"]) == (np.inf, 1)
    hundredth = row(found, "egp-wvar", level=0.01)
    assert (hundredth["labels"], hundredth["reached"]) == (62, 3)
    assert row(found, "gp-var", level=0.01)["reached"] == 0


def test_half_of_the_runs_that_reach_a_level_are_not_enough_for_a_median():
    two = table(run("higdon", "random", 0, [0.4]), run("higdon", "random", 1, [0.6]))
    found = labels_needed(two, [0.5]).iloc[0]
    assert (found["labels"], found["reached"]) == (np.inf, 1)


def test_cost_is_processor_time_after_the_start_by_queries():
    seconds = np.array([1.0, 1.5, 3.0])
    found = cost(table(run("higdon", "random", 0, [1, 1, 1], seconds=seconds))).iloc[0]
    assert (found["query"], found["run"]) == (1.0, 3.0)


def test_runs_of_a_task_are_compared_where_the_shortest_ends():
    uneven = table(run("higdon", "random", 0, [1, 0.5, 0.1]), run("higdon", "gp-var", 0, [1, 0.7]))
    found = final(uneven)
    assert row(found, "random", "higdon")["nmse_mean"] == 0.5
    assert set(found["t"]) == {1}


def test_a_number_that_is_not_one_is_not_left_out_of_a_mean():
    broken = THREE.copy()
    broken.loc[2, ["nmse", "npll"]] = np.nan
    found = row(final(broken), "gp-var")
    assert found[["nmse_mean", "nmse_sd", "npll_mean", "npll_median"]].isna().all()
    assert found["nmse_mark"] == ""
    assert row(final(broken), "egp-wvar")["nmse_mark"] == "best"
    assert np.isnan(row(area(broken), "gp-var")["area_mean"])


def test_one_run_of_no_query_has_a_table_too():
    alone = table(run("higdon", "random", 0, [0.4]))
    found = final(alone).iloc[0]
    assert found["nmse_mean"] == 0.4
    assert np.isnan(found["nmse_sd"])
    assert np.isnan(area(alone).iloc[0]["area_mean"])
    assert np.isnan(cost(alone).iloc[0]["query"])


@settings(max_examples=5, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(random):
    order = list(range(len(THREE)))
    random.shuffle(order)
    mixed = THREE.iloc[order]
    for summary in (final, area, labels_needed, cost):
        pd.testing.assert_frame_equal(summary(THREE), summary(mixed), check_exact=False)


def test_rows_are_in_the_order_of_the_paper_then_of_appearance():
    mine = table(
        run("my table", "mine", 0, [1]),
        run("my table", "gp-var", 0, [1]),
        run("higdon", "mine", 0, [1]),
        run("ackley", "mine", 0, [1]),
    )
    found = final(mine)
    assert found["task"].tolist() == ["ackley", "higdon", "my table", "my table"]
    assert found["method"].tolist() == ["mine", "mine", "gp-var", "mine"]


def test_a_table_that_is_none_is_refused_in_words():
    with pytest.raises(ValueError, match="no npll"):
        check(THREE.drop(columns="npll"))
    with pytest.raises(ValueError, match="no results"):
        check(THREE[:0])
    with pytest.raises(ValueError, match=r"twice.*currin, gp-var, 0, 0"):
        check(pd.concat([THREE, THREE[:1]]))


def test_pairs_are_the_realisations_that_both_methods_have():
    runs = table(
        run("branin", "gp-var", 5, [0, 50]),
        run("branin", "gp-var", 2, [0, 20]),
        run("branin", "random", 2, [0, 1]),
        run("branin", "random", 3, [0, 2]),
        run("branin", "random", 5, [0, 3]),
    )
    arrays = in_arrays(by_run(runs))
    who, one, other = pairs(arrays, "branin", ("gp-var", "nmse"), ("random", "nmse_start"))
    assert (who.tolist(), one.tolist(), other.tolist()) == ([2, 5], [20.0, 50.0], [0.0, 0.0])
    gone = pairs(arrays, "branin", ("gp-var", "nmse"), ("egp-qbc", "nmse"))
    assert [len(side) for side in gone] == [0, 0, 0]


def test_nmse_is_compared_in_logs_and_npll_as_it_is():
    values = np.array([1e-8, 0.5, 2.0])
    np.testing.assert_allclose(on_scale("nmse", values), np.log(values))
    np.testing.assert_allclose(on_scale("nmse_start", values), np.log(values))
    for column in ("npll", "npll_start", "joint", "nmse_area", "npll_area"):
        assert (on_scale(column, values) == values).all()
    assert np.isfinite(on_scale("nmse", np.zeros(1))).all()


def test_the_joint_npll_is_summed_up_where_it_was_read():
    runs = table(
        run("higdon", "random", 0, [1, 1, 1], joint=[5.0, np.nan, 3.0]),
        run("higdon", "random", 1, [1, 1, 1], joint=[7.0, np.nan, 4.0]),
        run("higdon", "weal-auto", 0, [1, 1, 1]),
        run("higdon", "weal-auto", 1, [1, 1, 1]),
    )
    found = final(runs)
    assert row(found, "random", "higdon")["joint_mean"] == 3.5
    assert row(found, "random", "higdon")["joint_mark"] == "best"
    assert np.isnan(row(found, "weal-auto", "higdon")["joint_mean"])
    one = by_run(runs).loc[("higdon", "random", 1)]
    assert (one["joint_start"], one["joint"], one["joint_area"]) == (7.0, 4.0, 4.0)


def test_the_interval_of_ten_normal_differences_is_close_to_students():
    rng = np.random.default_rng([4, 2])
    hits, ratios = [], []
    for _ in range(400):
        values = rng.normal(0.3, 2.0, size=10)
        found = interval(values, seed=1)
        half = stats.t.ppf(0.975, 9) * values.std(ddof=1) / np.sqrt(10)
        ratios.append((found.high - found.low) / (2 * half))
        hits.append(found.low <= 0.3 <= found.high)
    assert abs(np.mean(ratios) - 1) < 0.1
    assert abs(np.mean(hits) - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 400)


def test_an_interval_holds_the_values_that_the_flips_do_not_decide_against():
    rng = np.random.default_rng(7)
    for n in (6, 8, 10):
        values = rng.standard_normal(n) ** 3
        found = interval(values)
        for end, out in ((found.low, -1.0), (found.high, 1.0)):
            step = 1e-6 * np.ptp(values)
            inside, outside = (values - (end + sign * out * step) for sign in (-1.0, 1.0))
            assert p_values(inside[:, None])[0][0] > 0.05
            assert p_values(outside[:, None])[0][0] <= 0.05


def test_with_fewer_than_six_the_interval_is_the_whole_line():
    found = interval(np.full(5, 3.0))
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert np.isfinite([interval(np.arange(6.0)).low, interval(np.arange(6.0)).high]).all()


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.floats(-10, 10), min_size=2, max_size=12),
    shift=st.floats(-5, 5),
    seed=st.integers(0, 2**40),
)
def test_an_interval_moves_and_turns_with_its_values(values, shift, seed):
    x = np.array(values)
    found, moved, turned = (interval(v, seed) for v in (x, x + shift, -x))
    assert found.low <= found.mean + 1e-9
    assert found.mean <= found.high + 1e-9
    np.testing.assert_allclose(
        [moved.low, moved.high], [found.low + shift, found.high + shift], atol=1e-12
    )
    np.testing.assert_allclose([turned.low, turned.high], [-found.high, -found.low], atol=1e-9)


def test_the_interval_depends_on_its_key_and_on_nothing_else():
    values = np.sqrt(np.arange(20.0))  # too many for all subsets: some are drawn
    first = interval(values, seed=5)
    interval(values[:7], seed=6)
    assert interval(values, seed=5) == first
    assert interval(values, seed=6) != first


def test_there_is_no_interval_of_one_value_or_of_what_is_not_finite():
    for values in ([1.0], [], [1.0, np.nan, 2.0], [1.0, np.inf, 2.0]):
        found = interval(np.array(values), seed=0)
        assert np.isnan([found.low, found.high]).all()
        assert found.n == len(values)
