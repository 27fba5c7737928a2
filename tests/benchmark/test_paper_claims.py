from collections import Counter

import numpy as np
import pandas as pd
import pytest

from reference.made_up import ends, run, table
from weal.benchmark.methods import METHODS
from weal.benchmark.paper_claims import (
    BASELINE,
    CLAIMS,
    EGP,
    MULTI,
    SINGLE,
    SYNTHETIC,
    Claim,
    required_count,
)
from weal.benchmark.paper_verdicts import judge
from weal.benchmark.tasks import TASKS

PAPER = (BASELINE, *EGP)
PARTS_AND_COMPARISONS = {1: (5, 25), 2: (5, 30), 3: (5, 30), 4: (5, 30), 5: (4, 24), 6: (8, 48)}


def claim(number):
    return CLAIMS[number - 1]


def levels(tasks, **of_methods):
    """A level for every method of the paper on these tasks; 1 where none is given."""
    given = {name.replace("_", "-"): level for name, level in of_methods.items()}
    return {(task, m): given.get(m, 1.0) for task in tasks for m in PAPER}


def found(number, results, seed=1):
    (one,) = judge(results, seed, [claim(number)])
    return one


def verdicts(one):
    return Counter(c.verdict for part in one.parts for c in part.comparisons)


def test_there_are_six_claims_about_tasks_and_methods_that_there_are():
    # [1, claim:1, claim:2, claim:3, claim:4, claim:5, claim:6]
    assert [c.number for c in CLAIMS] == [1, 2, 3, 4, 5, 6]
    for c in CLAIMS:
        every = [one for part in c.parts for one in part.comparisons]
        assert (len(c.parts), len(every)) == PARTS_AND_COMPARISONS[c.number]
        assert {one.task for one in every} <= set(TASKS)
        assert {one.low for one in every} | {one.high for one in every} <= set(METHODS)


def test_a_comparison_is_of_two_methods_or_of_two_ends_of_one():
    every = [c for one in CLAIMS for part in one.parts for c in part.comparisons]
    assert all((c.low == c.high) == c.rise for c in every)
    assert all(len({c.task for c in part.comparisons}) == 1 for one in CLAIMS for part in one.parts)


def test_malaria_is_called_a_stand_in_wherever_it_is_named():
    results = ends(levels(["malaria-standin"], gp_var=2.0))
    one = found(5, results)
    texts = [one.claim.says, one.words, *one.notes, *(part.part.says for part in one.parts)]
    assert all("stand-in" in text for text in texts if "Malaria" in text)
    assert sum("Malaria" in text for text in texts) >= 5


@pytest.mark.parametrize("n", range(1, 8))
def test_how_many_are_needed_is_at_least_one_and_at_most_all(n):
    assert required_count("all", n) == n
    assert n / 2 < required_count("most", n) <= n
    assert required_count("all but one", n) == max(n - 1, 1)


def test_a_claim_that_the_numbers_bear_out_holds():
    # [1, claim:3]
    one = found(3, ends(levels(SYNTHETIC, egp_multiafs=0.5)))
    assert (one.verdict, one.area) == ("holds", "holds")
    assert verdicts(one) == {"holds": 30}
    alone = "(each on its own, uncorrected: 30 of 30 hold)."
    assert one.words == f"Parts: 5 of 5 hold. Comparisons: 30 of 30 hold {alone}"


def test_a_claim_that_the_numbers_contradict_does_not_hold():
    # [1, claim:3]
    one = found(3, ends(levels(SYNTHETIC, egp_multiafs=2.0)))
    assert one.verdict == "does not hold"
    assert verdicts(one) == {"does not hold": 30}


def test_a_claim_that_holds_on_some_tasks_holds_partly():
    mixed = levels(SYNTHETIC, egp_multiafs=0.5) | {("higdon", "egp-qbc"): 0.1}
    one = found(3, ends(mixed))
    assert one.verdict == "partly"
    assert [part.verdict for part in one.parts] == ["holds"] * 4 + ["does not hold"]
    assert one.parts[-1].words.startswith("5 of 6 hold, 1 does not; 0.")


def test_methods_that_are_equal_leave_it_undecided():
    same = [run(t, m, r, [1.0, 0.5, 0.5]) for t in SYNTHETIC for m in PAPER for r in range(8)]
    one = found(3, table(*same))
    assert one.verdict == "undecided"
    assert verdicts(one) == {"undecided": 30}


def test_differences_of_both_signs_are_undecided():
    signs = [1, -1, 1, -1, 1, -1, 1, -1]
    runs = [run("currin", "gp-var", r, [1, 1 + 0.3 * s]) for r, s in enumerate(signs)]
    runs += [run("currin", m, r, [1, 1]) for m in EGP for r in range(8)]
    assert set(verdicts(found(1, table(*runs)))) == {"undecided", "missing"}


def test_the_difference_its_interval_and_the_wins_are_those_of_the_pairs():
    low, high = np.array([1, 2, 3, 4, 5, 7.0]), np.array([2, 4, 4, 9, 6, 6.5])
    runs = [run("california", MULTI, r, [1, 1], [9, v]) for r, v in enumerate(low)]
    runs += [run("california", "gp-var", r, [1, 1], [9, v]) for r, v in enumerate(high)]
    part = next(p for p in found(4, table(*runs)).parts if "lowest" in p.part.says)
    (one,) = (c for c in part.comparisons if c.verdict != "missing")
    assert (one.low, one.high) == pytest.approx((22 / 6, 31.5 / 6))
    assert one.difference.mean == pytest.approx(-9.5 / 6)
    assert (one.difference.low, one.difference.high) == (-5.0, 0.5)  # of six: all of them
    assert (one.wins, one.difference.n) == (5, 6)


def one_comparison(nmse_low, nmse_high):
    """What is found of EGP-multiAFs against GP-Var on Currin, and nothing else."""
    runs = [run("currin", MULTI, r, [1, v]) for r, v in enumerate(nmse_low)]
    runs += [run("currin", BASELINE, r, [1, v]) for r, v in enumerate(nmse_high)]
    (one,) = (c for c in found(3, table(*runs)).comparisons if c.verdict != "missing")
    return one


def test_nmse_is_decided_in_logs_so_that_one_bad_run_does_not_outvote_the_rest():
    """Ten times lower in nine of ten: the mean of the raw differences says the opposite."""
    high = np.geomspace(1e-6, 1e-1, 10)
    low = high / 10.0
    low[4] = 2.0 * high[-1]
    one = one_comparison(low, high)
    assert one.low > one.high
    assert one.difference.mean < 0.0
    even = one_comparison(high / 10.0, high)
    assert even.verdict == "holds"
    assert even.difference.mean == pytest.approx(-np.log(10.0))
    assert even.p == pytest.approx(2 / 1024)


def test_what_is_certain_by_itself_need_not_be_within_its_claim():
    rng = np.random.default_rng(5)
    own = {m: np.exp(0.5 * rng.standard_normal(10)) for m in PAPER}
    runs = [
        run(task, m, r, [1, v * (0.72 if m == MULTI and task == "currin" else 1.0)])
        for task in SYNTHETIC
        for m in PAPER
        for r, v in enumerate(own[m] * np.exp(0.5 * rng.standard_normal(10)))
    ]
    one = found(3, table(*runs))
    alone = Counter(c.alone for c in one.comparisons)
    assert alone["undecided"] < verdicts(one)["undecided"]
    assert all(c.p >= c.p_alone for c in one.comparisons)
    assert f"uncorrected: {alone['holds']} of 30 hold" in one.words


def test_the_comparisons_of_another_claim_are_another_family():
    results = ends(levels(SYNTHETIC, egp_multiafs=0.97, gp_var=1.2), spread=0.3)
    (alone,) = judge(results, 1, [claim(3)])
    among = judge(results, 1)[2]
    assert [c.p for c in alone.comparisons] == [c.p for c in among.comparisons]


def test_the_last_reading_decides_and_the_area_is_a_second_opinion():
    runs = []
    for r in range(8):
        runs.append(run("currin", "gp-var", r, [1.0, 0.9, 0.9, 0.5 + r / 100]))
        runs += [run("currin", m, r, [1.0, 0.1, 0.1, 0.8 + r / 90]) for m in SINGLE]
    part = found(1, table(*runs)).parts[0]
    assert (part.verdict, part.area) == ("does not hold", "holds")


def test_most_means_more_than_half():
    # [1, claim:1]
    def verdict(better):
        names = {m: 0.5 if i < better else 2.0 for i, m in enumerate(SINGLE)}
        results = ends({("ackley", m): names.get(m, 1.0) for m in PAPER})
        return next(p for p in found(1, results).parts if p.part.task == "ackley").verdict

    assert [verdict(n) for n in (2, 3, 5)] == ["does not hold", "holds", "holds"]


def test_four_of_five_functions_are_enough_for_npll():
    # [1, claim:2]
    def verdict(*losing):
        tasks = [task for task in SYNTHETIC if task not in losing]
        good = ends(levels(tasks, gp_var=2.0))
        return found(2, pd.concat([good, ends(levels(losing, gp_var=0.5))]) if losing else good)

    assert verdict().verdict == "holds"
    assert verdict("ackley").verdict == "holds"
    assert verdict("ackley", "branin").verdict == "partly"


def test_five_of_six_are_enough_on_the_stand_in():
    # [1, claim:5]
    results = ends(levels(["malaria-standin"], gp_var=2.0, egp_qbc=4.0))
    part = next(p for p in found(5, results).parts if "five of six" in p.part.says)
    assert part.verdict == "holds"
    assert Counter(c.verdict for c in part.comparisons) == {"holds": 5, "does not hold": 1}


@pytest.mark.parametrize(("start", "verdict"), [(0.5, "holds"), (3.0, "does not hold")])
def test_npll_rises_when_it_ends_above_its_start(start, verdict):
    # [1, claim:5]
    results = ends(levels(["malaria-standin"]), start=start)
    part = next(p for p in found(5, results).parts if "rises" in p.part.says)
    assert (part.verdict, part.area, len(part.comparisons)) == (verdict, verdict, 7)
    assert "at the start" in part.words


def test_fewer_than_six_realisations_decide_nothing_and_it_is_said():
    one = found(3, ends(levels(SYNTHETIC, egp_multiafs=0.1), realisations=5))
    assert one.verdict == "undecided"
    assert any("Only 5 realisations" in note for note in one.notes)
    assert found(3, ends(levels(SYNTHETIC, egp_multiafs=0.1), realisations=6)).verdict == "holds"


def test_a_task_that_is_missing_is_said_to_be_and_is_not_counted():
    one = found(4, ends(levels(["diabetes"], gp_var=2.0)))
    assert one.verdict == "holds"
    assert verdicts(one) == {"holds": 12, "missing": 18}
    assert "Missing, wholly or in part, and not counted: California housing." in one.notes
    assert one.words.startswith(
        "Parts: 2 of 2 hold, 3 missing. Comparisons: 12 of 12 hold, 18 missing (each on its own"
    )


def test_a_claim_without_any_of_its_tasks_is_missing():
    one = found(6, ends(levels(["currin"])))
    assert (one.verdict, one.notes) == ("missing", ())
    assert "none of its tasks" in one.words


def test_shared_rows_are_told_where_realisations_share_them_and_only_there():
    tasks = ["diabetes", "california", "malaria-standin", "currin"]
    ones = judge(ends(levels(tasks)), 1)
    notes = {one.claim.number: " ".join(one.notes) for one in ones}
    assert "every realisation uses all 442 rows, so its intervals are too narrow" in notes[4]
    assert "California housing: two realisations share about 10% of their rows" in notes[4]
    assert "Malaria (stand-in): two realisations share about 85% of their rows" in notes[5]
    assert not any("rows" in notes[number] for number in (1, 2, 3, 6))


def test_a_difference_that_hardly_matters_is_counted_in_words():
    one = found(3, ends(levels(["currin"], egp_multiafs=0.999), spread=0.001))
    assert one.verdict == "holds"
    assert any(note.startswith("6 of the comparisons are decided by less") for note in one.notes)
    big = found(3, ends(levels(["currin"], egp_multiafs=0.5)))
    assert not any("hardly matters" in note for note in big.notes)


def test_the_exact_baseline_is_judged_beside_when_it_was_run():
    results = ends(levels(["currin", "gramacy"], gp_var=2.0))
    assert not any("exact" in note for note in found(1, results).notes)
    exact = ends({(task, "gp-var-exact"): 0.5 for task in ("currin", "gramacy")})
    one = found(1, pd.concat([results, exact]))
    assert one.verdict == "holds"
    (note,) = (note for note in one.notes if "exact" in note)
    assert "does not hold. Parts: 0 of 2 hold, 2 do not" in note


def test_multi_is_judged_against_methods_with_as_many_labels_when_they_were_run():
    results = ends(levels(["currin"], egp_multiafs=0.8))
    fair = ends({("currin", f"{m}+v"): 0.5 for m in (BASELINE, *SINGLE)})
    one = found(3, pd.concat([results, fair]))
    assert one.verdict == "holds"
    (note,) = (note for note in one.notes if "validation labels" in note)
    assert "does not hold. Parts: 0 of 1 hold, 1 does not" in note
    assert "Comparisons: 0 of 6 hold, 6 do not" in note


def test_runs_that_are_not_finite_are_undecided_not_won():
    results = ends(levels(["currin"], gp_var=2.0))
    last = (results["method"] == "gp-var") & (results["t"] == 2) & (results["realisation"] == 0)
    results.loc[last, ["nmse", "npll"]] = np.nan
    one = found(1, results)
    assert verdicts(one) == {"undecided": 5, "missing": 20}


def test_the_order_of_rows_is_irrelevant():
    results = ends(levels(SYNTHETIC, egp_multiafs=0.97, gp_var=1.2), spread=0.3)
    mixed = results.sample(frac=1.0, random_state=np.random.default_rng(3))
    for a, b in zip(judge(results, 4), judge(mixed, 4), strict=True):
        assert (a.verdict, a.area, a.words, a.notes) == (b.verdict, b.area, b.words, b.notes)


def test_a_claim_of_ones_own_is_judged_like_the_papers():
    part = claim(3).parts[2]
    own = Claim(7, "EGP-multiAFs is best on Currin.", (part,))
    (one,) = judge(ends(levels(["currin"], egp_multiafs=0.5)), 1, [own])
    assert one.verdict == "holds"


def test_the_other_scaling_is_judged_beside_when_it_was_run():
    results = ends(levels(["currin"], egp_multiafs=2.0))
    assert not any("shifted" in note for note in found(3, results).notes)
    other = ends({("currin", "egp-multiafs-range"): 0.5})
    one = found(3, pd.concat([results, other]))
    assert one.verdict == "does not hold"
    (ranged,) = (v for says, v in one.variants if "shifted and scaled" in says)
    assert ranged.verdict == "holds"
    assert {c.comparison.low for c in ranged.comparisons} == {"egp-multiafs-range"}


def test_the_joint_density_is_judged_beside_when_it_was_read():
    results = ends(levels(["currin"], gp_var=2.0))
    assert not any("joint" in note for note in found(2, results).notes)
    one = found(2, results.assign(joint=-100.0 * results["npll"]))
    assert one.verdict == "holds"
    (joint,) = (v for says, v in one.variants if "joint" in says)
    assert joint.verdict == "does not hold"
    assert {c.comparison.metric for c in joint.comparisons} == {"joint"}


def test_claim_three_is_judged_in_uncertainty_too():
    good, bad = levels(["currin"], egp_multiafs=0.5), levels(["currin"], egp_multiafs=2.0)
    results = ends(good).assign(npll=ends(bad)["nmse"])
    one = found(3, results)
    assert one.verdict == "holds"
    (npll,) = (v for says, v in one.variants if "uncertainty" in says)
    assert npll.verdict == "does not hold"
    assert not any("uncertainty" in note for note in found(1, results).notes)
