"""status, explain, predict_interval and suspects of a learner, beside those of a campaign."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import weal
from weal import ActiveLearner, UnknownId
from weal.diagnostics.suspects import Suspects


def table(n=60):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "temp": rng.uniform(20, 200, n).round(1),
            "acid": rng.uniform(0, 1, n).round(3),
            "steel": rng.choice(["A", "B"], n),
        },
        index=[f"P-{k}" for k in range(n)],
    )
    y = frame["temp"] / 10 + 8 * np.sin(4 * frame["acid"]) + 3 * (frame["steel"] == "A")
    return frame, dict(zip(frame.index, y.tolist(), strict=True))


@pytest.fixture(scope="module")
def taught():
    frame, y = table()
    learner = ActiveLearner(frame, target="hardness [HV]")
    for _ in range(4):
        ids = learner.ask(6)
        learner.tell({name: y[name] for name in ids})
    learner.ask()
    learner.skip(next(name for name in frame.index if name not in learner.labels.by_name))
    return learner


def test_a_learner_without_labels_says_what_is_missing():
    learner = ActiveLearner(table()[0])
    found = learner.status()
    assert (found.labels, found.candidates, found.headline, found.beliefs) == (0, 60, None, None)
    assert found.missing == learner.n_start
    assert f"{found.missing} more labels needed" in repr(found)
    assert learner.suspects() == []


def test_a_pool_too_small_for_a_model_asks_for_candidates():
    learner = ActiveLearner([[0.0], [1.0], [2.0]])
    assert "add candidates with learner.add()" in learner.status().advice
    learner.tell(range(3), [0.0, 1.0, 2.0])
    assert learner.status().advice == "All candidates are labelled: there is nothing left to ask."


def test_the_status_of_the_learner_of_a_campaign_has_the_numbers_of_the_campaign(taught):
    frame, _ = table()
    with weal.open_campaign("demo", "memory:", pool=frame, target="hardness [HV]") as campaign:
        campaign.tell({label.name: label.y for label in taught.labels})
        theirs, ours = campaign.status(), campaign.read_session().learner.status()
    assert (ours.labels, ours.labelled, ours.pending, ours.skipped) == (24, 24, 0, 0)
    for part in ("left_out", "noise", "expected", "baseline", "left_out_coverage"):
        assert getattr(ours.beliefs, part) == getattr(theirs.beliefs, part)
    assert (ours.headline, ours.advice) == (theirs.headline, theirs.advice)


def test_a_status_is_a_frozen_value_with_text_and_html(taught):
    found = taught.status(until="error < 0.001")
    assert any("until error < 0.001" in line for line in found.lines())
    assert repr(found) == "\n".join(found.lines())
    assert found._repr_html_().startswith("<pre>24 labels, 60 candidates (40 % labelled)")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.labels = 3
    with pytest.raises(ValueError, match="until"):
        taught.status(until="soon")


def test_a_second_status_goes_on_from_the_first():
    frame, y = table()
    learner = ActiveLearner(frame)
    learner.tell({name: y[name] for name in frame.index[:14]})
    learner.status()
    learner.tell({name: y[name] for name in frame.index[14:16]})
    again, fresh = learner.status(), ActiveLearner.of(learner.state).status()
    assert again.beliefs.left_out.course == fresh.beliefs.left_out.course


@pytest.mark.parametrize("goal", ["best 5", "above 1e6"])
def test_the_headline_is_that_of_the_goal(taught, goal):
    learner = ActiveLearner.of(taught.state)
    learner.change_goal(goal)
    found = learner.status()
    assert found.headline.kind == ("best" if goal == "best 5" else "members")
    assert found.goal_lines
    assert found.members is not None
    if found.members.best_id is not None:
        assert found.members.best_id in learner.labels.by_name
    assert "weal settings" not in repr(found)  # no command of a campaign


def test_words_have_a_share_of_right_predictions():
    X = np.linspace(0, 6, 41)[:, None]
    learner = ActiveLearner(X, target="phase", types={"phase": "classes:low,mid,high"})
    learner.tell(range(0, 41, 2), [["low", "mid", "high"][int(x // 2.1)] for x in X[::2, 0]])
    found = learner.status()
    assert found.headline.kind == "accuracy"
    assert found.beliefs is None
    explained = learner.explain(1)
    assert sum(explained.probabilities.values()) == pytest.approx(1.0)
    assert explained.mean is None
    assert "low" in explained.predicted
    assert learner.suspects() == []
    with pytest.raises(ValueError, match="predict_proba"):
        learner.predict_interval(1)


def test_intervals_of_ids_and_of_rows_are_those_of_the_model(taught):
    frame, _ = table()
    low, high = taught.predict_interval(frame.head(5), level=0.8)
    assert_allclose((low, high), taught.model.predict_interval(frame.head(5), 0.8))
    again = taught.predict_interval(list(frame.index[:5]), 0.8)
    assert_allclose(again, (low, high))
    one = taught.predict_interval("P-0", 0.8)
    assert all(isinstance(end, float) for end in one)
    assert_allclose(one, (low[0], high[0]))
    for level in (0.0, 1.0, 90, float("nan")):
        with pytest.raises(ValueError, match="probability between 0 and 1"):
            taught.predict_interval("P-0", level)
    with pytest.raises(UnknownId):
        taught.predict_interval("P-999")


def test_an_asked_row_is_explained(taught):
    name = next(iter(taught.pending))
    found = taught.explain(name)
    assert (found.id, found.asked, found.labels) == (name, True, ())
    assert found.row == dict(table()[0].loc[name])
    mean, sd = taught.predict(name, return_std=True)
    assert (found.mean, found.sd) == pytest.approx((mean, sd))
    assert (found.low, found.high) == pytest.approx(taught.predict_interval(name))
    assert "Chosen because" in found.why
    assert len(found.near) == 3
    assert all(one.id in taught.labels.by_name for one in found.near)
    assert repr(found).splitlines()[0] == name
    assert "<pre>" in found._repr_html_()


def test_labelled_skipped_and_other_rows_are_explained(taught):
    label = taught.labels.told[0]
    assert taught.explain(label.name).labels == (label.y,)
    assert "Spread over the candidates" in taught.explain(label.name).why
    [skipped] = taught.skipped
    assert taught.explain(skipped).skipped
    assert taught.explain(skipped).why.startswith("It was not asked.")
    with pytest.raises(UnknownId, match="P-999"):
        taught.explain("P-999")


def test_hostile_cells_do_not_leave_the_html():
    frame = pd.DataFrame({"<b>x": np.arange(8.0), "y": np.arange(8.0) ** 2})
    frame.index = [f"<script>{n}" for n in range(8)]
    learner = ActiveLearner(frame)
    shown = learner.explain(learner.ask())._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown


def test_suspects_are_those_of_a_campaign():
    frame, y = table()
    names = list(frame.index[:30])
    told = {name: y[name] for name in names}
    told["P-7"] *= 10
    learner = ActiveLearner(frame)
    learner.tell(told)
    found = learner.suspects()
    with weal.open_campaign("demo", "memory:", pool=frame) as campaign:
        with pytest.warns(UserWarning, match="P-7"):
            campaign.tell(told)
        theirs = campaign.suspects()
    assert [one.id for one in found] == [one.id for one in theirs] == ["P-7"]
    assert found[0].factor == 10.0
    assert repr(found) == found[0].words
    assert found._repr_html_().startswith("<pre>P-7")
    assert [one.id for one in learner.status().suspects] == ["P-7"]
    assert repr(Suspects()) == "No label is suspect."


@pytest.mark.parametrize(
    "ids",
    [
        list(range(100, 130)),
        [f"s{n}" for n in range(30)],
        list(pd.date_range("2026-01-01", periods=30)),
        [(n // 6, "abcdef"[n % 6]) for n in range(30)],
    ],
    ids=["int", "str", "Timestamp", "tuple"],
)
def test_ids_keep_their_type(ids):
    X = np.random.default_rng(0).uniform(0, 1, (30, 2))
    learner = ActiveLearner(X, ids=ids, goal="maximise")
    for _ in range(12):
        name = learner.ask()
        assert type(name) is type(ids[0])
        assert name in ids
        learner.tell(name, float(X[ids.index(name)].sum()))
    kinds = {type(one.id) for one in learner.explain(name).near} | {type(learner.explain(name).id)}
    kinds |= {type(one) for one in [*learner.labels.by_name, *learner.pending, *learner.ask(3)]}
    kinds |= {type(learner.status().members.best_id)}
    kinds |= {type(one) for one in learner.to_frame("labels")["id"].tolist()}
    kinds |= {type(one) for one in learner.best(3)["id"].tolist()}
    kinds |= {type(row["id"]) for row in learner.history}
    assert kinds == {type(ids[0])}


def test_a_plan_prints_a_line_for_each_column():
    frame, _ = table()
    plan = ActiveLearner(frame.assign(day="2026-01-05", note="same")).plan
    text = repr(plan)
    assert text.splitlines()[0].startswith("<TablePlan: 3 inputs (2 numbers, 1 category -> 2")
    assert "steel" in text
    assert "constant" in text
    assert plan._repr_html_().count("<tr>") == 5
    wide = pd.DataFrame({f"c{n}": [1.0, 2.0, n] for n in range(200)}).assign(s=["a", "b", "a"])
    assert "141 more columns" in repr(ActiveLearner(wide, types={"s": "category"}).plan)
