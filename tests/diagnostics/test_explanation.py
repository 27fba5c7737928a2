from datetime import timedelta

import numpy as np
import pytest

from campaign.lab import campaign, pool
from campaign.taught import measured, taught, teach
from weal import text
from weal.diagnostics.effects import distances, input_importance


@pytest.fixture(scope="module")
def one():
    found = taught(20, rows=60)
    found.ask(2, by="bob", lease=timedelta(hours=5))
    found.ask(1, check=True)
    return found


def test_every_row_that_is_out_says_what_was_expected_of_it_and_why(one):
    asked = one.asked()
    bodies = [lease.body for lease in one.read_ledger().leases.values()]
    cells = pool(0, 60).set_index("name")
    assert [row.who for row in asked] == ["bob", "bob", "ann"]
    assert [row.check for row in asked] == [False, False, True]
    for row, body in zip(asked, bodies, strict=True):
        assert (row.mean, row.sd, row.low, row.high) == tuple(
            body[name] for name in ("mean", "sd", "low", "high")
        )
        assert row.low < row.mean < row.high
        assert row.row["a"] == cells.loc[row.id, "a"]
        assert row.row["steel"] == cells.loc[row.id, "steel"]
        assert text.plus_minus(row.mean, row.sd) in row.why
        assert row.near[0].id in row.why
        assert row.why.isascii()
    assert asked[0].until - asked[0].since == timedelta(hours=5)


def test_the_shares_of_a_choice_are_told_and_a_check_has_none(one):
    chosen, _, check = one.asked()
    assert chosen.shares == {"mvr-var-igs": 1.0}
    assert chosen.why.endswith(
        "Chosen because its label would teach the model most about all candidates: the model is "
        "uncertain there, and it is far from the measured rows (mvr-var-igs)."
    )
    assert set(chosen.scores) == set(chosen.shares)
    assert check.shares == {}
    assert check.why.startswith("Drawn at random, for an unbiased test.")


def test_the_share_of_each_of_several_functions_is_told():
    with taught(14, rows=40) as several:
        several.change(acquisition="multi")
        (chosen,) = several.asked(several.ask(1))
    assert sum(chosen.shares.values()) == pytest.approx(1.0)
    first = max(chosen.shares, key=chosen.shares.get)
    assert f"({first} {text.percent(chosen.shares[first])})" in chosen.why


def test_the_neighbours_are_the_nearest_labelled_rows(one):
    ledger, model = one.read_ledger(), one.read_model()
    at = one.read_learner().candidates.index
    labelled = list(ledger.quantity().labels)
    Z = model.scaling.inputs(one.read_session().pool.X)
    for row in one.asked():
        slow = {}
        for name in labelled:
            total = 0.0
            for w, kernel in zip(model.weights_, model.dictionary_, strict=True):
                ell = kernel.column_scales(Z.shape[1])
                total += w * (((Z[at[row.id]] - Z[at[name]]) / ell) ** 2).sum()
            slow[name] = np.sqrt(total)
        best = sorted(labelled, key=slow.get)[:3]
        assert [near.id for near in row.near] == best
        assert [near.label for near in row.near] == [
            ledger.quantity().labels[name][0].y for name in best
        ]
        ratios = [near.distance / slow[near.id] for near in row.near]
        assert ratios == pytest.approx([ratios[0]] * 3)


def test_what_was_expected_stays_while_labels_come():
    one = taught(12, rows=60)
    name = one.ask()
    before = one.asked([name])[0]
    teach(one, 18)
    after = one.asked([name])[0]
    assert (before.mean, before.shares) == (after.mean, after.shares)
    assert before.until == after.until


def test_before_there_is_a_model_rows_fill_the_space():
    one = campaign()
    first, second = one.ask(2)
    asked = one.asked()
    assert [row.why for row in asked] == [
        "Spread over the candidates, before there is a model."
    ] * 2
    assert asked[0].mean is None
    one.tell(first, measured(first))
    one.tell(second, measured(second))
    third = one.asked([one.ask()])[0]
    assert {near.id for near in third.near} == {first, second}
    assert third.why.startswith("Spread over the candidates")


def test_only_rows_that_are_out_can_be_explained(one):
    with pytest.raises(ValueError, match="not out with anybody"):
        one.asked(["r59" if "r59" not in one.read_ledger().leases else "r58"])
    assert campaign().asked() == []


def test_replicates_count_as_their_mean():
    one = taught(12, rows=60)
    name = one.read_ledger().quantity().told()[0].id
    one.tell(name, measured(name) + 1.0, repeat=True)
    one.ask(6)
    labels = {near.id: near.label for row in one.asked() for near in row.near}
    assert labels.get(name, measured(name) + 0.5) == pytest.approx(measured(name) + 0.5)


def test_inputs_matter_as_their_lengthscales_say(one):
    found = input_importance(one.read_model(), one.read_session().pool.plan.names)
    assert sum(found.values()) == pytest.approx(1.0)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert set(list(found)[:2]) == {"a", "b"}  # the steel does not matter


def test_distances_before_there_is_a_model_are_in_sds():
    one = campaign(rows=30)
    X = one.read_session().pool.X
    found = distances(None, X, X[:2], X[2:5])
    sd = X.std(axis=0)
    slow = [[np.sqrt((((x - z) / sd) ** 2).sum()) for z in X[2:5]] for x in X[:2]]
    np.testing.assert_allclose(found, slow)


@pytest.mark.parametrize(
    ("mean", "sd", "said"),
    [
        (312.4, 18.2, "312 +- 18"),
        (-0.00123, 0.00004, "-0.00123 +- 4e-05"),
        (2e12, 3e11, "2e+12 +- 3e+11"),
        (5.0, 0.0, "5 +- 0"),
        (1.0, 0.96, "1.00 +- 0.96"),
    ],
)
def test_a_value_is_told_to_the_digits_that_its_uncertainty_deserves(mean, sd, said):
    assert text.plus_minus(mean, sd) == said
