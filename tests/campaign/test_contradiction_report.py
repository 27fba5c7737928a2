"""Labels that count and that the others contradict: status, Python and the page name them."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import weal
from shell import typed
from weal.campaign import contradiction_report
from weal.diagnostics.contradiction_search import MOST_LABELS, equal_runs, groups_of
from weal.store import memory

pytestmark = [
    pytest.mark.usefixtures("in_a_folder"),
    pytest.mark.filterwarnings("ignore:.* is far (outside what was expected|from the labels)"),
]
N = 30


def pool(seed=5, n=40):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 2))
    return pd.DataFrame({"id": [f"P-{k:02d}" for k in range(n)], "a": X[:, 0], "b": X[:, 1]})


def hardness(frame):
    return 60.0 + 20.0 * np.sin(3.0 * frame["a"]) + 15.0 * frame["b"] ** 2


def opened(frame, url="weal.db", **given):
    return weal.open_campaign("y 1", url, pool=frame, id_column="id", by="ann", **given)


@pytest.fixture
def ready():
    frame = pool()
    with opened(frame) as one:
        yield one, list(frame["id"][:N]), hardness(frame)[:N].to_numpy().copy()


def told(campaign, ids, y, **given):
    """Tell labels, in the order of the rows."""
    campaign.tell(dict(zip(ids, y.tolist(), strict=True)), **given)


def test_sure_labels_that_the_others_contradict_are_named(ready):
    one, ids, y = ready
    wrong = [4, 13, 22]
    right = [n for n in range(N) if n not in wrong]
    told(one, [ids[n] for n in right], y[right])
    for n in wrong:
        assert typed("tell", "y 1", ids[n], y[n] + 5 * y.std(), "--sure").code == 0
    [found] = one.contradictions()
    assert (found.kind, set(found.ids)) == ("sure", {ids[n] for n in wrong})
    assert found.error > 10 * found.error_without
    np.testing.assert_allclose(found.expected, y[wrong], atol=1.0)
    said = typed("status", "y 1").out
    assert "Labels that contradict the others: the model still uses them" in said
    assert f"3 labels marked as sure do not fit the others: {ids[4]} is" in said
    assert f"`weal tell --replace 'y 1' {ids[4]} VALUE` corrects a label" in said
    assert "without them" in said
    [plain] = json.loads(typed("status", "y 1", "--json").out)["contradictions"]
    assert plain["ids"] == list(found.ids)
    assert plain["words"] == found.words


def test_a_single_sure_label_is_named_where_its_decimal_point_slipped(ready):
    one, ids, y = ready
    y[7] *= 10.0
    told(one, ids, y, sure=True)
    [found] = one.contradictions()
    assert (found.kind, found.ids) == ("sure", (ids[7],))


def test_a_single_peak_that_is_sure_is_no_contradiction(ready):
    one, ids, y = ready
    y[7] = 530.0
    told(one, ids, y, sure=True)
    assert one.contradictions() == []


def test_a_run_of_equal_values_is_named(ready):
    one, ids, y = ready
    y[10:16] = y[9]
    told(one, ids, y)
    [found] = one.contradictions()
    assert (found.kind, found.ids) == ("run", tuple(ids[9:16]))
    assert found.error > 5 * found.error_without
    said = typed("status", "y 1").out
    assert "7 labels in a row are" in said
    assert "A stuck instrument?" in said


def test_a_run_of_one_person_is_named_though_another_tells_labels_in_between(ready):
    one, ids, y = ready
    who = ["ann" if n % 2 else "bob" for n in range(N)]
    stuck = range(8, 20, 2)
    y[stuck] = y[6]
    for name, label, person in zip(ids, y.tolist(), who, strict=True):
        one.tell(name, label, by=person)
    [found] = one.contradictions()
    assert (found.kind, found.ids) == ("run", tuple(ids[n] for n in (6, *stuck)))
    assert "7 labels in a row told by bob are" in found.words


def test_a_person_whose_labels_differ_is_named(ready):
    one, ids, y = ready
    bob = np.arange(N) % 3 == 1
    told(one, [ids[n] for n in np.flatnonzero(~bob)], y[~bob])
    for n in np.flatnonzero(bob):
        typed("tell", "y 1", ids[n], 135.0 - y[n], "--by", "bob")
    [found] = one.contradictions()
    assert (found.kind, found.group) == ("group", ("told by bob",))
    assert set(found.ids) == {ids[n] for n in np.flatnonzero(bob)}
    assert found.error > 10 * found.error_without
    assert "10 labels told by bob differ from the rest" in typed("status", "y 1").out


def test_an_instrument_that_is_no_input_is_named():
    frame = pool()
    frame["instrument"] = ["B" if n % 4 == 2 else "A" for n in range(len(frame))]
    y = hardness(frame) + np.where(frame["instrument"] == "B", 12.0, 0.0)
    with opened(frame, "memory:", types={"instrument": "drop"}) as one:
        told(one, frame["id"][:N], y[:N].to_numpy())
        [found] = one.contradictions()
    assert (found.kind, found.group) == ("group", ("instrument B",))


def test_a_day_is_named(monkeypatch):
    frame, start = pool(), datetime(2026, 3, 1, 12, tzinfo=UTC)
    y = hardness(frame)[:N].to_numpy().copy()
    y[16:24] += 10.0
    with opened(frame, "memory:") as one:
        for day in range(4):
            time = start + timedelta(days=day)
            monkeypatch.setattr(memory.MemoryStore, "now", lambda self, time=time: time)
            rows = slice(8 * day, min(8 * day + 8, N))
            told(one, frame["id"][:N][rows], y[rows])
        [found] = one.contradictions()
    assert (found.kind, found.group) == ("group", ("told on 2026-03-03",))


def test_a_plateau_at_a_bound_is_no_stuck_instrument():
    frame = pool()
    y = np.clip(160.0 * frame["a"] - 20.0, 0.0, 100.0)[:N].to_numpy()
    order = np.argsort(y, kind="stable")
    with opened(frame, "memory:") as one:
        told(one, frame["id"][:N].to_numpy()[order], y[order])
        assert one.contradictions() == []


def test_a_person_who_measures_elsewhere_does_not_differ():
    frame = pool()
    jump = hardness(frame)[:N] + np.where(frame["a"][:N] > 0.6, 40.0, 0.0)
    there = (frame["a"][:N] > 0.6).to_numpy()
    with opened(frame, "memory:") as one:
        told(one, frame["id"][:N][there], jump[there].to_numpy(), by="bob")
        told(one, frame["id"][:N][~there], jump[~there].to_numpy())
        assert one.contradictions() == []


def test_scores_in_the_order_of_a_sorted_table_are_no_runs():
    frame = pool()
    y = np.round(hardness(frame)[:N].to_numpy().copy() / 10.0)
    order = np.argsort(y, kind="stable")
    with opened(frame, "memory:") as one:
        told(one, frame["id"][:N].to_numpy()[order], y[order], sure=True)
        assert one.contradictions() == []


def test_nothing_changes_and_a_second_status_finds_nothing_anew(ready, monkeypatch):
    one, ids, y = ready
    y[10:16] = y[9]
    told(one, ids, y)
    events, before = len(one.to_frame("events")), one.to_frame("predictions")
    first = one.status()
    assert len(one.to_frame("events")) == events
    pd.testing.assert_frame_equal(one.to_frame("predictions"), before)

    def again(*given):
        raise AssertionError("found anew")

    monkeypatch.setattr(contradiction_report, "contradictions", again)
    with weal.open_campaign("y 1", "weal.db") as other:
        assert other.status().contradictions == first.contradictions
        other.tell(ids[12], 70.0, replace=True)
        with pytest.raises(AssertionError, match="found anew"):
            other.status()


@pytest.mark.parametrize("data", [b"", b"{", b'{"of": 1}', b'{"of": "x", "found": [1]}'])
def test_what_is_kept_and_damaged_is_found_anew(ready, data):
    one, ids, y = ready
    y[10:16] = y[9]
    told(one, ids, y)
    first = one.contradictions()
    ledger = one.read_ledger()
    one.store.write_snapshot(
        "y 1", contradiction_report.CONTRADICTIONS_KIND, ledger.seq, ledger.hash, data
    )
    assert one.contradictions() == first


def test_names_that_are_hostile_do_not_reach_the_terminal(ready):
    one, ids, y = ready
    bob = np.arange(N) % 3 == 1
    told(one, [ids[n] for n in np.flatnonzero(~bob)], y[~bob])
    told(one, [ids[n] for n in np.flatnonzero(bob)], 135.0 - y[bob], by="bob\x1b[2J\nmallory")
    assert [found.kind for found in one.contradictions()] == ["group"]
    said = typed("status", "y 1").out
    assert "\x1b" not in said
    assert "mallory" in said


def test_few_or_equal_labels_contradict_nothing(ready):
    one, ids, _ = ready
    told(one, ids[:12], np.full(12, 7.0))
    assert one.contradictions() == []
    assert one.status().contradictions == ()


def test_of_many_labels_a_stated_sample_is_looked_at():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (140, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1]
    who = {n: "bob" if n % 5 == 2 else "ann" for n in range(140)}
    y[[n for n in who if who[n] == "bob"]] += 0.5
    learner = weal.ActiveLearner(X, seed=0)
    learner.tell(range(140), y)
    [found] = learner.contradictions({"measured by": who})
    assert (found.group, len(found.ids)) == (("measured by bob",), 28)
    assert found.looked_at <= MOST_LABELS < found.of == 140
    assert f"(by {found.looked_at} of 140 labels)" in found.words


def test_of_two_people_the_one_with_fewer_labels_is_named():
    names = ["ann"] * 7 + ["bob"] * 4
    [found] = groups_of({"told by": names, "told on": ["1"] * 7 + ["2"] * 4}, 11)
    assert found.names == ("told by bob", "told on 2")
    assert found.which.tolist() == [False] * 7 + [True] * 4
    [half] = groups_of({"told by": ["ann"] * 5 + ["bob"] * 5}, 10)
    assert half.which.sum() == 5
    assert groups_of({"told by": ["ann"] * 9 + ["bob"] * 2}, 11) == []
    assert groups_of({"told by": [None] * 11}, 11) == []


def test_a_row_that_is_measured_again_is_no_run():
    X = np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [2.0]])
    y = np.array([5.0, 3.0, 3.0, 3.0, 3.0, 4.0])
    assert equal_runs(X, y, []) == []
    [run] = equal_runs(np.arange(6.0)[:, None], y, [])
    assert run.which.tolist() == [False, True, True, True, True, False]
    assert equal_runs(np.arange(6.0)[:, None], np.sort(y), []) == []


def test_a_finding_names_the_row_that_has_the_label_now(ready):
    """Of two rows with equal inputs: one is withdrawn, and the other is told the same."""
    frame = pool()
    frame.loc[1, ["a", "b"]] = frame.loc[0, ["a", "b"]]
    y = hardness(frame).to_numpy().copy()
    with opened(frame, "twins.db") as one:
        ids = [name for name in frame["id"][:N] if name != "P-01"]
        told(one, ids[1:], y[2:N])
        one.tell("P-00", y[0] + 45.0, sure=True)
        named = {name for found in one.contradictions() for name in found.ids}
        one.withdraw("P-00")
        one.tell("P-01", y[0] + 45.0, sure=True)
        after = {name for found in one.contradictions() for name in found.ids}
        assert "P-00" not in after
        assert ("P-01" in after) == ("P-00" in named)
