"""How weal compares: verdicts survive Holm's correction and never contradict their table."""

import re

import numpy as np
import pytest
from benchmarks import comparison, record
from benchmarks.pages import figures, learning_curves, markdown, overview, paired
from benchmarks.pages.paired import BETTER, OPEN, WORSE, compared, goal_rows, holm, student
from benchmarks.pages.result_files import Figures, ResultFile, load
from scipy import stats

TASKS = {"branin": "paper", "diabetes": "paper", "MASS/cpus": "public", "suzuki": "laboratory"}
GAPS = {  # area of ours less that of the method, by task
    "weal-random": (-0.5, 0.0, 0.01, 0.4),
    "ridge-random": (-1.0, 0.3, 0.0, -0.02),
    "sklearn-std": (-0.2, -0.2, 0.5, 0.0),
}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The page of a small file; `skipped` leaves out a method on the last task."""

    def made(goal="learn", gaps=GAPS, n=6):
        rng = np.random.default_rng(3)
        names = {"learn": "weal-auto", "best": "weal-best"}
        runs = []
        for k, (task, group) in enumerate(TASKS.items()):
            for method in (names[goal], *gaps):
                for r in range(n if method == names[goal] else n - 1):
                    gap = 0.0 if method == names[goal] else gaps[method][k]
                    curve = tuple(-1.0 - gap + 0.03 * rng.standard_normal(3))
                    about = (goal, task, group, method, r)
                    runs.append(comparison.ComparedRun(*about, (10, 15, 20), curve))
        rows = comparison.rows_of(runs)
        record.write(tmp_path / f"{goal}.json", f"goal {goal}, 10 queries", rows, "seed 1")
        monkeypatch.setattr(figures, "svg", lambda *_: b"")
        files = load(tmp_path)
        return overview.page(files, Figures()), goal_rows(files)[0]

    return made


def test_holm_gives_the_values_by_hand():
    # 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 no less than the one before
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([0.03]).tolist() == [0.03]
    assert holm([]).tolist() == []


def test_holm_is_no_less_than_the_plain_value_and_keeps_the_order():
    p = np.random.default_rng(1).uniform(size=40) ** 3
    corrected = holm(p)
    assert np.all(corrected >= p)
    assert np.all(np.diff(corrected[np.argsort(p)]) >= 0.0)


def test_the_interval_and_the_p_value_are_those_of_scipy():
    values = np.array([-0.3, 0.1, -0.4, -0.2, -0.25])
    found, p = student(values)
    truth = stats.ttest_1samp(values, 0.0)
    assert p == pytest.approx(truth.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(truth.confidence_interval(0.95)))


@pytest.mark.parametrize(("values", "p"), [([], 1.0), ([1.0], 1.0), ([0.0] * 4, 1.0)])
def test_nothing_is_decided_of_too_few_or_equal_runs(values, p):
    assert student(np.array(values))[1] == p


def test_verdicts_are_those_of_the_differences(page):
    _, rows = page()
    assert [one.verdict for one in compared(rows, "ridge-random").values()] == [
        *(BETTER, WORSE, OPEN, OPEN)
    ]
    assert all(one.difference.n == 5 for one in compared(rows, "ridge-random").values())


def test_a_verdict_never_contradicts_its_interval(page):
    _, rows = page(n=4)
    for method in GAPS:
        for one in compared(rows, method).values():
            inside = one.difference.low <= 0.0 <= one.difference.high
            assert one.verdict == OPEN or not inside
            assert one.corrected >= one.p


def test_a_higher_score_is_better_where_the_goal_says_so(page):
    gaps = {"sklearn-ei": (0.5,) * 4}  # theirs are lower by 0.5
    _, rows = page("best", gaps)
    assert {one.verdict for one in compared(rows, "sklearn-ei").values()} == {BETTER}


def test_losses_are_on_the_first_screen_with_their_tasks(page):
    text, _ = page()
    first = text.split("```{toctree}")[0]
    worse = next(line for line in first.splitlines() if line.startswith("- *worse*"))
    assert "ridge regression, random rows on 1 of 4 (Diabetes)" in worse
    assert "scikit-learn GP, max variance on 1 of 4 (MASS/cpus)" in worse
    assert first.index("*worse*") < first.index("*no clear difference*") < first.index("*better*")


def test_words_counts_and_bold_cells_agree(page):
    """The first lines, the summary, the words of a task and the bold cells say the same."""
    text, rows = page()
    first = text.split("```{toctree}")[0]
    for method in GAPS:
        found, title = compared(rows, method), rows.title(method)
        counts = {v: sum(one.verdict == v for one in found.values()) for v in (WORSE, OPEN, BETTER)}
        assert f"| {title} | 4 | {counts[WORSE]} | {counts[OPEN]} | {counts[BETTER]} |" in text
        for verdict, n in counts.items():
            line = next(one for one in first.splitlines() if one.startswith(f"- *{verdict}*"))
            assert (f"{title} on {n} of 4" in line) == (n > 0)
    for task in TASKS:
        title = overview.task_title(task)
        line = next(one for one in text.splitlines() if one.startswith(f"| {title} |"))
        said = line.split("|")[2].replace("\N{NO-BREAK SPACE}", " ")
        better, worse = (
            int(hit.group(1)) if (hit := re.search(rf"{word} than (\d)", said)) else 0
            for word in (BETTER, WORSE)
        )
        assert len(re.findall(r"\*\*-\d", line)) == better
        assert len(re.findall(r"\*\*\+\d", line)) == worse
        assert ("no clear difference" in said) == (better + worse == 0)


def test_no_task_lost_is_said_in_words(page):
    text, _ = page(gaps={"weal-random": (-0.5,) * 4})
    assert "- *worse* on no task" in text
    assert "- *better* than weal's model, random rows on 4 of 4" in text


def test_marks_busy_and_outdated_are_for_files_with_times_and_with_scores_of_weal(monkeypatch):
    monkeypatch.setattr(record, "is_outdated", lambda _: True)
    about = {"machine": {"busy": True}, "commit": "0" * 10}
    ours, rival = ({"goal": "learn", "method": name} for name in ("weal-auto", "sklearn-std"))
    files = [ResultFile("learn", about, rows) for rows in ([rival], [ours, rival], [{"ms": 2.0}])]
    assert [markdown.is_outdated(file) for file in files] == [False, True, True]
    assert [markdown.is_busy(file) for file in files] == [False, False, True]


def test_few_realisations_decide_nothing_however_alike(page):
    """Two equal differences have no spread, and a p-value of 0."""
    text, rows = page(n=5)
    assert paired.MIN_REALISATIONS == 5
    assert {one.verdict for one in compared(rows, "ridge-random").values()} == {OPEN}
    assert "- *better* on no task" in text


def test_weal_with_the_refits_of_the_rivals_is_in_the_tables_alone(page):
    text, _ = page(gaps={"weal-refit-5": (-0.5,) * 4, "ridge-random": (-0.5,) * 4})
    assert "weal, refit every 5" not in text.split("```{toctree}")[0]
    assert "| weal, refit every 5 | 4 | 0 | 0 | 4 |" in text


def test_one_realisation_makes_a_page_without_verdicts(page):
    text, _ = page(n=2)
    assert "(n\N{NO-BREAK SPACE}1)" in text
    assert "nan" not in text
    assert "- *better* on no task" in text


def test_the_fixed_table_of_methods_is_on_the_page(page):
    text, _ = page()
    for methods in comparison.METHODS.values():
        for method in methods:
            assert f"- {method.title}: fitted {method.refits}" in text


def test_a_curve_is_drawn_for_every_method_on_the_same_axes(page, monkeypatch):
    _, rows = page()
    monkeypatch.undo()
    made = learning_curves.learning_curves("x", rows, ["branin"])
    assert set(made) == {"x-light.svg", "x-dark.svg"}
    assert made["x-light.svg"] != made["x-dark.svg"]
    text, ours, mark = (ink.lower().encode() for ink in ("#e6e9ee", "#56b4e9", "#e69f00"))
    assert all(ink in made["x-dark.svg"] for ink in (text, ours, mark))
    assert b"#222832" not in made["x-dark.svg"]
    assert paired.by_realisation(rows.rows["branin", "weal-auto"]).keys() == set(range(6))
