"""Suggestions, reports and status of a campaign, quantity by quantity."""

import json

import numpy as np
import pytest

from campaign.whole_experiment import (
    CRYSTALLISED,
    PHASE,
    PURITY,
    YIELD,
    ids,
    measured,
    result,
    runs,
    teach,
)
from weal.campaign.campaign import Campaign
from weal.campaign.candidate_report import card_lines
from weal.campaign.events import prediction_of
from weal.campaign.plausibility import expected_label
from weal.campaign.status_text import line
from weal.diagnostics import word_scores
from weal.errors import WealError
from weal.learner.quantity_predictions import predict_inputs

EVERY = (YIELD, PURITY, CRYSTALLISED, PHASE)


@pytest.fixture(scope="module")
def taught():
    """A campaign with 20 runs, of which some failed, and two rows out."""
    with measured(*EVERY) as one:
        teach(one, ids(0, 20))
        one.ask(2)
        yield one


def test_an_ask_keeps_the_predictions_of_all_quantities(taught):
    body, session = taught.events()[-1].body, taught.read_session()
    X = session.state.candidates.inputs([taught.events()[-1].id])
    for quantity in EVERY:
        found = predict_inputs(session.state, session.beliefs, quantity, X, 0.9)
        own = prediction_of(body, quantity.name, "yield")
        if found.mean is not None:
            np.testing.assert_allclose([own["mean"], own["sd"]], [found.mean[0], found.sd[0]])
    p = body["quantities"]["phase"]["probabilities"]
    assert list(p) == ["alpha", "beta", "gamma"]
    assert sum(p.values()) == pytest.approx(1.0)
    assert body["quantities"]["crystallised"]["low"] is None
    assert 0.0 < body["quantities"]["worked"]["mean"] < 1.0


def test_a_told_word_is_judged_by_its_own_probability(taught):
    ledger = taught.read_ledger()
    for name, lease in ledger.leases.items():
        p = lease.body["quantities"]["crystallised"]["mean"]
        assert expected_label(ledger, "crystallised", name).mean == p
        phase = expected_label(ledger, "phase", name)
        assert phase.probabilities == tuple(
            lease.body["quantities"]["phase"]["probabilities"].values()
        )


def test_one_number_without_failures_keeps_the_four_keys():
    with measured(YIELD) as one:
        teach(one, [name for name in ids(0, 20) if result(name)])
        one.ask()
        assert "quantities" not in one.events()[-1].body
        assert one.asked()[0].quantities == {}
        status = one.status().to_dict()
        assert not {"quantities", "failures", "waiting"} & status.keys()
        assert "quantities" not in one.card("R-6").to_dict()


def test_a_row_shows_labels_and_predictions_of_each_quantity(taught):
    card = taught.card("R-6")
    text = "\n".join(card_lines(card, taught.read_quantities(), ["temp [C]"]))
    told = result("R-6")
    assert f"yield            {told['yield']:g}," in text
    assert f"crystallised     {told['crystallised']}," in text
    assert "predicted        phase" in text
    json.dumps(card.to_dict(), default=str)


def test_a_failed_row_says_so(taught):
    failed = next(name for name in ids(0, 20) if result(name) is None)
    card = taught.card(failed)
    text = "\n".join(card_lines(card, taught.read_quantities(), []))
    assert "  failed           " in text
    assert card.failure.y == 0.0
    assert card.quantities["worked"].prediction["mean"] < 0.5


def test_status_has_a_part_for_each_quantity(taught):
    found = taught.status()
    assert [one.name for one in found.quantities] == [one.name for one in EVERY]
    assert found.labels == sum(one.labels for one in found.quantities)
    words = found.quantities[2]
    assert sum(words.counts.values()) == words.labels == words.scores.n
    assert words.scores.log_loss < words.scores.baseline
    failed = sum(result(name) is None for name in ids(0, 20))
    assert (found.failures.failed, found.failures.runs) == (failed, 20)
    assert found.failures.where[0].column == "temp [C]"
    text = "\n".join(found.lines())
    assert "purity: error estimates" in text
    assert "Where runs fail" in text
    json.dumps(found.to_dict(), allow_nan=False)


def test_left_out_words_come_in_the_order_of_their_labels():
    from weal.diagnostics.word_scores import left_out_words

    with measured(YIELD, CRYSTALLISED) as one:
        teach(one, [name for name in ids(0, 20) if result(name)])
        session = one.read_session()
        p, codes = left_out_words(session.state, session.beliefs, CRYSTALLISED)
        truth = [result(name)["crystallised"] == "yes" for name in ids(0, 20) if result(name)]
        assert codes.tolist() == truth
        assert ((p > 0.0) & (p < 1.0)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_a_quantity_with_few_labels_has_no_model_and_says_so():
    with measured(YIELD, PURITY) as one:
        working = [name for name in ids(0, 20) if result(name)]
        teach(one, working, ["yield"])
        teach(one, working[:3], ["purity"])
        text = "\n".join(one.status().lines())
        assert "  purity           3 of 6 labels before there is a model" in text
        assert f"  waiting          {len(working) - 3}:" in text
        one.ask()
        assert "purity" not in one.events()[-1].body.get("quantities", {})
        lines = card_lines(one.card("R-6"), one.read_quantities(), [])
        assert any("purity not known yet" in each for each in lines)


@pytest.mark.parametrize("quantity", [CRYSTALLISED, PHASE])
def test_a_campaign_of_words_alone_is_looked_at(quantity):
    with measured(quantity) as one:
        assert "before there is a model" in "\n".join(one.status().lines())
        one.ask(2)
        teach(one, ids(0, 20))
        one.ask(2)
        found = one.status()
        assert found.beliefs is None
        assert found.quantities[0].scores.n == found.labels
        assert "log loss" in "\n".join(found.lines())
        assert (
            "predicted right from the others; always guessing the most common word" in found.advice
        )
        assert all(row.why for row in one.asked())
        assert one.suspects() == []
        assert one.contradictions() == []


def test_a_word_that_the_others_contradict_is_to_be_looked_at_again(constants):
    constants(word_scores, MIN_PLAUSIBLE=0.2)  # of 50 labels
    with measured(YIELD, CRYSTALLISED) as one:
        rows = [name for name in ids(0, 60) if result(name)]
        for name in rows:
            temp = one.card(name).row["temp [C]"]
            one.tell(name, {"crystallised": "yes" if temp < 60.0 else "no"})
        coldest = min(rows, key=lambda name: one.card(name).row["temp [C]"])
        one.tell(coldest, {"crystallised": "no"}, replace=True)
        [_, words] = one.status().quantities
        assert [label.id for label in words.unlikely][:1] == [coldest]
        text = "\n".join(one.status().lines())
        assert f"weal tell --replace runs {coldest} crystallised=VALUE" in text


def test_a_campaign_in_one_line_counts_failures(taught):
    assert "8 failed" in line(taught)
    assert "yield [%], purity [%], crystallised, phase" in line(taught)


def test_experts_and_pools_of_every_part_are_snapshots(tmp_path):
    store = f"sqlite:///{tmp_path}/weal.db"
    with measured(YIELD, PURITY, CRYSTALLISED, store=store) as one:
        teach(one, ids(0, 20))
        one.ask()
        kept = {name: view.selection.experts for name, view in views(one).items()}
        state = one.read_session().state
    from weal.campaign.campaign import open_campaign

    with open_campaign("runs", store) as again:
        found = {name: view.selection.experts for name, view in views(again).items()}
        assert all(experts is not None for experts in found.values())
        assert set(found) == {"yield", "purity", "crystallised", "worked"}
        assert again.read_session().state.n_labels == state.n_labels
        assert kept.keys() == found.keys()
        first = again.ask(3)
    with measured(YIELD, PURITY, CRYSTALLISED) as fresh:  # no snapshots
        teach(fresh, ids(0, 20))
        fresh.ask()
        assert fresh.ask(3) == first


def views(campaign):
    state = campaign.read_session().state
    return {name: state.view(name) for name in state.quantities}


def test_predictions_have_a_set_of_columns_for_each_quantity(taught):
    session, found = taught.read_session(), taught.to_frame("predictions").set_index("id")
    assert found.columns[:6].tolist() == [
        f"yield {name}" for name in ("mean", "sd", "low", "high", "labelled", "label")
    ]
    for name in ("R-3", "R-40"):
        X = session.state.candidates.inputs([name])
        for quantity in EVERY:
            truth = predict_inputs(session.state, session.beliefs, quantity, X, 0.9)
            if truth.mean is not None:
                assert found.loc[name, f"{quantity.name} mean"] == pytest.approx(truth.mean[0])
            for k, word in enumerate(quantity.words):
                p = found.loc[name, f"{quantity.name} P({word})"]
                assert p == pytest.approx(truth.probabilities[0, k])
    told = result("R-6")
    assert found.loc["R-6", "yield label"] == told["yield"]
    assert found.loc["R-6", "phase label"] == told["phase"]
    assert found["failed"].sum() == 8


def test_rows_that_are_no_candidates_are_predicted_by_quantity(taught):
    new = runs().head(3).drop(columns="run")
    found = taught.predict(new)
    assert {"yield mean", "phase P(beta)", "crystallised P(yes)", "P(works)"} <= {*found.columns}
    one = taught.predict(new, quantity="purity [%]")
    assert one.columns.tolist() == ["id", "mean", "sd", "low", "high", "P(works)"]
    np.testing.assert_allclose(one["mean"], found["purity mean"])
    with pytest.raises(ValueError, match="purity"):
        taught.predict(new, quantity="purty")


def test_predictions_name_the_quantities_that_have_no_model():
    with measured(YIELD, PURITY) as one:
        working = [name for name in ids(0, 20) if result(name)]
        with pytest.raises(WealError, match="6 more labels"):
            one.predict(runs().head(2).drop(columns="run"))
        teach(one, working, ["yield"])
        teach(one, working[:3], ["purity"])
        with pytest.warns(UserWarning, match="purity: no predictions yet, 3 of 6 labels"):
            found = one.predict(runs().head(2).drop(columns="run"))
        assert "purity mean" not in found.columns
        with pytest.raises(WealError, match="3 more labels"):
            one.predict(runs().head(2).drop(columns="run"), quantity="purity")


def test_figures_of_each_number_are_drawn_and_words_refused(taught):
    assert taught.plots("purity").predicted().get_xlabel() == "measured purity [%]"
    assert taught.plot.predicted().get_xlabel() == "measured yield [%]"
    with pytest.raises(WealError, match=r"phase has words for labels.*draw yield, purity"):
        taught.plots("phase").predicted()


def test_a_quantity_with_many_labels_helps_one_with_few():
    with measured(YIELD, PURITY) as one:
        working = [name for name in ids(0, 60) if result(name)]
        teach(one, working, ["yield"])
        for name in working[:10]:
            one.tell(name, {"purity": result(name)["yield"] / 2.0 + 30.0})
        found = one.status()
        assert found.quantities[1].source == "yield"
        assert "the predictions of yield are an input" in "\n".join(found.lines())
        store, name = one.store, working[12]
        expected = one.card(name).quantities["purity"].prediction
        one.ask()
        again = Campaign("runs", store, "bob")  # experts from the snapshots
        assert again.card(name).quantities["purity"].prediction == expected
