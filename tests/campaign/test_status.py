import json

import numpy as np
import pytest

from campaign.lab import campaign
from campaign.taught import measured, taught, teach
from weal.campaign.campaign import Campaign
from weal.diagnostics.error_trend import coverage
from weal.diagnostics.leave_one_out import leave_one_out
from weal.store.protocol import open_store

# Labels that no model can take are told on purpose; whoever tells them is warned.
pytestmark = pytest.mark.filterwarnings("ignore:r.* is far (from|outside):UserWarning")


@pytest.fixture(scope="module")
def one():
    found = taught(20, rows=80)
    for name in found.ask(4, check=True):
        found.tell(name, measured(name))
    return found


@pytest.fixture(scope="module")
def known(one):
    return one.status(goal=0.02)


def test_before_there_is_a_model_it_says_how_many_labels_are_missing():
    one = taught(3)
    found = one.status()
    assert (found.labels, found.missing, found.beliefs, found.needed) == (3, 2, None, None)
    assert any("2 more labels" in line for line in found.lines())
    assert found.advice.startswith("Too early")
    assert campaign().status().labels == 0


def test_a_status_is_plain_json_and_short_plain_lines(known):
    text = json.dumps(known.to_dict(), allow_nan=False)
    assert json.loads(text)["beliefs"]["expected"]["now"] == known.beliefs.expected.now
    lines = known.lines()
    assert len(lines) < 40
    assert all(line.isascii() and "\n" not in line and len(line) < 160 for line in lines)
    for word in (
        "leave-one-out",
        "prequential",
        "expected",
        "random test",
        "random",
        "until error < 0.02",
    ):
        assert any(word in line for line in lines), word


def test_the_same_events_give_the_same_status(tmp_path, known):
    url = f"sqlite:///{tmp_path}/weal.db"
    with taught(20, url, rows=80) as live:
        first = live.status(goal=0.1)
    with Campaign("lab", open_store(url), "ann") as again:
        assert again.status(goal=0.1) == first
    other = taught(20, rows=80)
    assert other.status(goal=0.1) == first


def test_the_random_test_is_the_error_on_check_rows_as_predicted_when_asked(one, known):
    past = [pair for pair in one.read_ledger().quantity().foretold if pair.body["check"]]
    errors = np.array([pair.told.y - pair.body["mean"] for pair in past])
    assert known.check.n == 4
    assert known.check.rmse == pytest.approx(np.sqrt((errors**2).mean()))
    spread = np.array([np.sqrt((np.delete(errors, n) ** 2).mean()) for n in range(4)])
    jackknife = np.sqrt(3 / 4 * ((spread - spread.mean()) ** 2).sum())
    assert known.check.error == pytest.approx(jackknife, rel=0.5)


def test_coverage_counts_labels_in_their_intervals(one, known):
    bodies = [(pair.told.y, pair.body) for pair in one.read_ledger().quantity().foretold]
    inside = [body["low"] <= y <= body["high"] for y, body in bodies if body["low"] is not None]
    assert (known.coverage.inside, known.coverage.n) == (sum(inside), len(inside))
    assert known.coverage.low < known.coverage.inside / known.coverage.n <= known.coverage.high
    alone = leave_one_out(one.read_model().trained, one.read_model().scaling, 0.9)
    y = np.array([told.y for told in one.read_ledger().quantity().told()])
    assert known.beliefs.left_out_coverage.inside == ((alone.low <= y) & (y <= alone.high)).sum()


def test_a_share_is_bounded_by_what_so_many_labels_can_say():
    found = coverage(9, 10)
    assert found.low < 0.65
    assert found.high > 0.97
    many = coverage(900, 1000)
    assert (many.low, many.high) == (pytest.approx(0.88, abs=0.01), pytest.approx(0.917, abs=0.01))
    assert 0.0 <= coverage(0, 1).low < coverage(1, 1).high <= 1.0


def test_rows_that_are_out_lapsed_skipped_measured_again_and_left_out_are_counted():
    one = taught(8)
    name = one.read_ledger().quantity().told()[0].id
    one.tell(name, measured(name) + 0.01, repeat=True)
    one.ask(2, by="bob")
    late = one.ask(1, lease=1e-6)
    left = [
        n
        for n in one.read_session().pool.ids
        if n not in one.read_ledger().quantity().labels | one.read_ledger().leases
    ]
    one.skip(left[:3])
    one.tell(left[5], 1e300)
    found = one.status()
    assert (found.labels, found.labelled, found.repeats, found.skipped) == (10, 9, 1, 3)
    assert [out.who for out in found.out] == ["bob", "bob"]
    assert [out.id for out in found.lapsed] == [late] if isinstance(late, str) else late
    assert list(found.unusable) == [left[5]]
    text = "\n".join(found.lines())
    assert left[5] in text
    assert "bob" in text


def test_the_model_is_told_in_words(known):
    beliefs = known.beliefs
    assert sum(beliefs.inputs.values()) == pytest.approx(1.0)
    assert sum(beliefs.acquisition.values()) == pytest.approx(1.0)
    assert beliefs.experts[0].weight == max(one.weight for one in beliefs.experts)
    assert 0.0 <= beliefs.noise < 0.5
    assert beliefs.expected.course[-1] == (24, beliefs.expected.now)
    assert beliefs.left_out.course[0][0] == 5


def test_the_goal_is_that_of_the_settings_unless_one_is_given():
    one = taught(9, goal=0.3)
    assert (one.status().goal, one.status().until) == ("learn", "error < 0.3")
    assert one.status(goal=0.1).needed.goal == 0.1
    assert one.status(until="error < 0.1") == one.status(goal=0.1)
    assert one.status(until="never").needed is None
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="above 0"):
            one.status(goal=bad)


def test_labels_that_were_planned_and_a_label_that_is_good_enough_end_a_campaign():
    one = taught(9)
    highest = max(
        label.y for several in one.read_ledger().quantity().labels.values() for label in several
    )
    assert one.status(until="labels = 9").advice.startswith("Stop: there are 9 labels")
    assert one.status(until="labels = 12").stopping[0] == "until labels = 12: 3 to come"
    assert one.status(until=f"best > {highest - 1e-6}").advice.startswith("Stop: the label")
    assert "the highest label is" in one.status(until=f"best > {highest}").stopping[0]


def test_a_pool_that_is_all_labelled_has_nothing_to_ask():
    one = teach(campaign(rows=9), 9)
    found = one.status(goal=1e-9)
    assert found.advice.startswith("All candidates are labelled")
    assert found.beliefs.random is not None


def test_labels_that_are_all_the_same_have_a_status():
    one = campaign(rows=20)
    for name in one.ask(8):
        one.tell(name, 5.0)
    assert one.status(goal=0.1).lines()


def test_progress_is_reported(one):
    seen = []
    one.status(progress=lambda what, done, of: seen.append((what, done <= of)))
    assert all(fine for _, fine in seen)
    assert "comparison with random choice" in {what for what, _ in seen}
