"""The one number of a campaign: which estimate it is, its interval, its words, its comparisons."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import weal
from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, ids, measured, teach
from shell import typed
from weal.diagnostics.estimate_intervals import rms_error, rms_interval, share_interval
from weal.diagnostics.headline import MIN_CHECKS
from weal.diagnostics.posterior_draws import draw_values, expected_rows, possible_gain
from weal.goals.grammar import parse_goal

RNG = np.random.default_rng(7)
ROWS = pd.DataFrame(
    {"id": [f"r{n}" for n in range(80)], "a": RNG.uniform(size=80), "b": RNG.uniform(size=80)}
)
TRUE = 20.0 * np.sin(4.0 * ROWS["a"]) + 5.0 * ROWS["b"]
LABELS = (TRUE + 0.3 * RNG.normal(size=80)).round(2)


def begin(url="memory:", labels=24, **settings):
    """A campaign, with labels of the first rows."""
    pool = ROWS.assign(**{"hardness [HV]": None})
    own = {"id_column": "id", "target": "hardness [HV]", "by": "ann"}
    campaign = weal.open_campaign("steel", url, pool=pool, **own, **settings)
    for n in range(labels):
        campaign.tell(f"r{n}", LABELS[n])
    return campaign


@pytest.mark.parametrize("n", [10, 20, 60])
@pytest.mark.parametrize("tails", [None, 4.0])
def test_intervals_of_errors_hold_as_often_as_they_say(n, tails):
    """Normal errors: 90 % of 2,000 samples. Tails without a fourth moment: three quarters."""
    rng = np.random.default_rng([n, int(tails or 0)])
    size = (2000, n)
    errors = rng.normal(size=size) if tails is None else student(tails).rvs(size, random_state=rng)
    true = 1.0 if tails is None else np.sqrt(tails / (tails - 2.0))
    ends = [rms_interval(np.sqrt(np.mean(one**2)), n, rms_error(one)) for one in errors]
    share = np.mean([low <= true <= high for low, high in ends])
    assert share >= (0.87 if tails is None else 0.72)
    assert tails is not None or share <= 0.97


def test_intervals_at_their_ends():
    assert rms_interval(0.0, 5) == (0.0, 0.0)
    low, high = rms_interval(1e-300, 5, 1e-301)
    assert 0.0 < low < 1e-300 < high
    assert share_interval(0, 8)[0] == 0.0
    assert share_interval(8, 8)[1] == 1.0
    assert rms_error(np.array([1.0])) is None


def test_the_error_is_left_out_until_there_are_random_checks():
    with begin() as campaign:
        status = campaign.status()
        found, beliefs = status.headline, status.beliefs
        assert (found.kind, found.source) == ("error", "leave-one-out")
        assert found.value == beliefs.left_out.now
        assert (found.low, found.high) == beliefs.left_out_interval
        assert found.low < found.value < found.high
        assert found.words.startswith(
            f"Predictions of hardness are off by {found.shown} HV (90 %: "
        )
        assert "of what guessing the mean would be off" in found.words
        assert "not chosen any row" in found.note
        first, last = found.comparisons
        assert (first.name, first.value) == ("first 5 labels", beliefs.left_out.course[0][1])
        assert (last.name, last.value) == ("guessing the mean", beliefs.baseline)
        campaign.ask(2)
        for name in campaign.ask(MIN_CHECKS, check=True):
            campaign.tell(name, LABELS[int(name[1:])])
        status = campaign.status()
        found = status.headline
        assert found.source == "random checks"
        assert found.value == status.check.rmse
        assert (found.low, found.high) == rms_interval(
            status.check.rmse, MIN_CHECKS, status.check.error
        )


def test_the_shell_has_the_same_headline_in_json(tmp_path):
    url = f"sqlite:///{tmp_path}/weal.db"
    begin(url).close()
    shown = json.loads(typed("status", "steel", "--store", url, "--json").out)
    with weal.open_campaign("steel", url) as campaign:
        found = campaign.status().headline
    assert shown["headline"]["words"] == found.words
    assert shown["headline"]["value"] == found.value
    assert [one["name"] for one in shown["headline"]["comparisons"]] == [
        "first 5 labels",
        "guessing the mean",
    ]


def test_random_choice_is_an_estimate_of_the_replay():
    with begin(labels=10) as campaign:
        for _ in range(6):
            name = campaign.ask()
            campaign.tell(name, LABELS[int(name[1:])])
        status = campaign.status()
        (random,) = [one for one in status.headline.comparisons if "random" in one.name]
        assert random.estimated
        assert random.value == status.beliefs.random.ratio * status.headline.value
        assert random.name == "16 random rows"


@pytest.mark.parametrize("goal", ["maximise", "minimise"])
def test_the_best_found_and_what_may_be_gained(goal):
    sign = 1.0 if goal == "maximise" else -1.0
    with begin(goal=goal, labels=20) as campaign:
        found = campaign.status().headline
    labels = sign * LABELS[:20]
    assert found.kind == "best"
    assert found.value == sign * labels.max()
    assert f"row r{labels.argmax()}" in found.words
    assert found.comparisons[0].value == sign * labels[:5].max()
    left = found.remaining
    assert 0.0 <= left.low <= left.value <= left.high
    truth = (sign * TRUE).max() - sign * TRUE[labels.argmax()]
    assert left.low - 0.5 <= truth <= left.high + 0.5  # of the noise


def test_rows_above_a_level_found_and_expected():
    with begin(goal="above 18") as campaign:
        status = campaign.status()
        found = status.headline
        assert found.kind == "members"
        assert found.value == status.members.measured
        left, truth = found.remaining, int((TRUE[24:] > 18.0).sum())
        assert left.low <= truth <= left.high
        assert abs(left.value - status.members.unmeasured) < 0.15 * status.members.unmeasured + 1.0
        assert found.words.startswith(f"{found.value:.0f} rows above 18 found; about ")
        assert found.comparisons[0].value == (LABELS[:5] > 18.0).sum()


def test_draws_have_the_moments_of_the_predictions():
    with begin() as campaign:
        session = campaign.read_session()
        model = session.model("hardness")
        X = session.state.candidates.inputs([f"r{n}" for n in range(40, 60)])
        mean, sd = model.predict(X, return_std=True)
        drawn = draw_values(model, X, 4000, 0)
        assert np.allclose(drawn.mean(axis=0), mean, atol=4.0 * sd.max() / np.sqrt(4000) * 1.5)
        assert np.allclose(drawn.std(axis=0), sd, rtol=0.15)
        everything = expected_rows(model, parse_goal("above -1e9"), X, 0)
        assert (everything.low, everything.value, everything.high) == (20.0, 20.0, 20.0)
        nothing = possible_gain(model, X[mean.argmax()], X[[mean.argmin()]], X, False, 0)
        assert nothing.gain.high == 0.0


def test_words_two_objectives_and_constraints_have_a_headline_too():
    with measured(YIELD, PURITY, CRYSTALLISED) as campaign:
        teach(campaign, ids(0, 24))
        status = campaign.status()
        own = {one.name: one.headline for one in status.quantities}
        assert status.headline == own["yield"]
        words = own["crystallised"]
        scores = next(one for one in status.quantities if one.name == "crystallised").scores
        assert (words.kind, words.value) == ("accuracy", scores.accuracy)
        assert (words.low, words.high) == share_interval(
            round(scores.accuracy * scores.n), scores.n
        )
        for goal, kind in (
            ("maximise yield and maximise purity", "front"),
            ("maximise yield subject to purity >= 90", "best"),
            ("learn weights yield=0 purity=0", "accuracy"),
        ):
            found = campaign.status(goal=goal).headline
            assert found.kind == kind
            json.dumps(campaign.status(goal=goal).to_dict(), allow_nan=False)


def test_labels_without_a_spread_and_huge_ones_have_words():
    pool = ROWS.assign(y=None)
    for scale in (0.0, 1e-12, 1e12):
        with weal.open_campaign(
            "odd", "memory:", pool=pool, id_column="id", target="y"
        ) as campaign:
            for n in range(14):
                campaign.tell(f"r{n}", 3.0 + scale * float(TRUE[n]))
            found = campaign.status().headline
        assert "nan" not in found.words
        assert "inf" not in found.words
    with begin(labels=3) as campaign:
        assert campaign.status().headline is None
