"""A campaign that is opened again asks what the unbroken one would have asked."""

import json
from datetime import timedelta

import numpy as np
import pytest
from numpy.testing import assert_allclose

from campaign.lab import campaign, number, pool, truth
from weal.active_learner import ActiveLearner
from weal.campaign import checkpoint
from weal.campaign.campaign import Campaign
from weal.campaign.mind import Mind, first_rows
from weal.campaign.rules import asked
from weal.learner.resuming import Move, past


def step_by_step(one):
    """A mind that has taken every step."""
    mind = object.__new__(Mind)
    mind.pool, mind.settings, mind.aside = one.mind.pool, one.ledger.settings, {}
    mind.kept, mind.first = None, first_rows(one.ledger)
    mind.learner, mind.done = mind._begun(one.ledger), mind.first[0]
    mind.follow(one.ledger)
    return mind


def offered(mind, one, n=4):
    out = [lease.id for lease in one.ledger.open_leases(one.store.now())]
    offers, _ = mind.offers(one.ledger, out, n, 0)
    return [offer.id for offer in offers]


def belief(mind):
    return mind.learner.model.predict(mind.pool.X, return_std=True)


def act(one, rng, step):
    """One thing that people do, drawn at random."""
    labelled, out = list(one.ledger.labels), list(one.ledger.leases)
    deed = rng.choice(["ask", "tell", "unasked", "repeat", "correct", "withdraw", "skip", "add"])
    if deed == "ask":
        one.ask(int(rng.integers(1, 4)), by="bob" if rng.random() < 0.3 else None)
    elif deed == "tell" and out:
        name = out[int(rng.integers(len(out)))]
        one.tell(name, truth(number(name)))
    elif deed == "unasked":
        free = [name for name in one.mind.pool.ids if name not in labelled]
        name = free[int(rng.integers(len(free)))]
        one.tell(name, truth(number(name)), noise=0.01 if rng.random() < 0.3 else None)
    elif deed in ("repeat", "correct") and labelled:
        name = labelled[int(rng.integers(len(labelled)))]
        how = {"repeat": True} if deed == "repeat" else {"replace": True}
        one.tell(name, truth(number(name)) + 0.01 * step, **how)
    elif deed == "withdraw" and len(labelled) > 8 and rng.random() < 0.3:
        one.withdraw(labelled[int(rng.integers(len(labelled)))])
    elif deed == "skip" and out and rng.random() < 0.3:
        one.skip(out[0])
    elif deed == "add" and one.ledger.rows < 60 and rng.random() < 0.3:
        one.add(pool(one.ledger.rows, one.ledger.rows + 5))


@pytest.mark.parametrize("seed", range(4))
def test_the_next_question_does_not_depend_on_when_it_was_opened(seed):
    rng = np.random.default_rng(seed)
    acquisition = ["auto", "ivr", "multi", "gpm-var"][seed]
    with campaign(acquisition=acquisition, seed=seed) as live:
        for name in live.ask(5):
            live.tell(name, truth(number(name)))
        for step in range(60):
            act(live, rng, step)
            if step % 12 == 11:
                minds = [live.mind, Campaign("lab", live.store).mind, step_by_step(live)]
                minds.append(Mind(live.ledger, live.mind.pool, None))
                for other in minds[1:]:
                    assert_allclose(belief(other), belief(live.mind), rtol=1e-6, atol=1e-9)
                assert len({tuple(offered(mind, live)) for mind in minds}) == 1


def test_a_campaign_opened_anew_for_every_deed_is_the_unbroken_one(tmp_path):
    def play(reopen):
        asked, url = [], f"sqlite:///{tmp_path / f'{reopen}.db'}"
        one = campaign(url)
        for _ in range(10):
            ids = one.ask(2)
            asked += ids
            for name in ids:
                one.tell(name, truth(number(name)))
            if reopen:
                one.close()
                one = campaign(url)
        one.close()
        return asked

    assert play(True) == play(False)


def test_it_is_the_learner_of_the_package_that_asks():
    with campaign(acquisition="wvar") as one:
        learner = ActiveLearner(
            None, one.mind.pool.X, "wvar", ids=one.mind.pool.ids, n_start=5, seed=0
        )
        for _ in range(12):
            name = one.ask()
            assert name == learner.ask()
            one.tell(name, truth(number(name)))
            learner.tell(name, truth(number(name)))


def test_a_checkpoint_is_used_when_it_fits_and_thrown_away_when_not():
    with campaign() as one:
        for name in one.ask(12):
            one.tell(name, truth(number(name)))
        one.ask()
        found, settings = one.mind.past(one.ledger), one.ledger.settings
        seq, head, data = one.store.snapshot("lab", checkpoint.KIND)
        assert (seq, head) == (one.ledger.seq, one.ledger.hash)
        picked = checkpoint.read(data, found, settings)
        assert len(picked.dictionary) == len(one.model.weights_)
        assert checkpoint.read(data, found, {**settings, "warp": "auto"}) is None
        other = json.loads(data)
        for broken in (None, b"", b"{", b"[]", json.dumps({**other, "noise": "x"}).encode()):
            assert checkpoint.read(broken, found, settings) is None
        one.tell("r39", truth(39))
        assert checkpoint.read(data, one.mind.past(one.ledger), settings) is not None
        name = next(iter(one.ledger.labels))
        one.tell(name, 5.0, replace=True)
        assert checkpoint.read(data, one.mind.past(one.ledger), settings) is None


def test_a_wrong_checkpoint_changes_nothing():
    with campaign() as one:
        for name in one.ask(12):
            one.tell(name, truth(number(name)))
        one.ask()
        wanted = offered(one.mind, one)
        one.store.keep_snapshot("lab", checkpoint.KIND, 1, "nonsense", b"\x80\x04nonsense")
        assert offered(Campaign("lab", one.store).mind, one) == wanted


def tell(n, kind="tell"):
    return Move(kind, f"r{n}", float(n))


def test_the_past_is_found_by_counting():
    moves = [tell(n) for n in range(5)]
    assert past(moves[:4], 9, 5) is None
    found = past(moves, 9, 5)
    assert (found.rows, found.moves, len(found.labels)) == (9, 5, 5)
    moves += [Move("add", rows=12), *(tell(n) for n in range(5, 9))]
    assert past(moves, 9, 5).moves == 5
    assert past(moves, 9, 5).rows == 9
    later = past([*moves, tell(9)], 9, 5)
    assert (later.moves, len(later.labels)) == (11, 10)
    corrected = past([*moves, tell(2, "correct")], 9, 5)
    assert (corrected.moves, len(corrected.labels)) == (11, 9)
    assert corrected.labels[-1] == ("r2", 2.0, 0.0)
    assert [name for name, _, _ in corrected.first] == [f"r{n}" for n in range(5)]
    assert past([*moves, *(tell(n, "forget") for n in range(9))], 9, 5) is None


def test_an_open_campaign_and_one_opened_anew_are_equal_to_the_last_bit():
    rng = np.random.default_rng(8)
    with campaign(acquisition="multi") as live:
        for name in live.ask(5):
            live.tell(name, truth(number(name)))
        for step in range(40):
            act(live, rng, step)
            again = Campaign("lab", live.store).mind
            if again.learner.fitted and live.learner.fitted:
                kept, anew = (mind.learner._knowledge.pool for mind in (live.mind, again))
                np.testing.assert_array_equal(anew.mu, kept.mu)
                np.testing.assert_array_equal(anew.v, kept.v)


def wild(one):
    """A label that no model can take, corrected later."""
    for n in range(10):
        one.tell(f"r{n}", truth(n))
    one.tell("r39", 1e300)


@pytest.mark.parametrize("end", ["correct", "withdraw", "repeat"])
def test_a_label_left_aside_is_so_when_opened_anew(end):
    with campaign() as live:
        wild(live)
        assert list(live.mind.aside) == ["r39"]
        if end == "correct":
            live.tell("r39", truth(39), replace=True)
        elif end == "withdraw":
            live.withdraw("r39")
        else:
            live.tell("r39", truth(39), repeat=True)
        again = Campaign("lab", live.store).mind
        assert again.aside == live.mind.aside
        assert bool(again.aside) == (end == "repeat")
        assert again.learner.model.n_labels_ == (10 if end == "withdraw" else 11)
        assert offered(again, live) == offered(live.mind, live)


def test_a_bad_repeat_costs_no_good_label():
    with campaign() as one:
        wild(one)
        one.tell("r39", truth(39), replace=True)
        one.tell("r39", 1e300, repeat=True)
        assert one.mind.learner.labels.values("r39") == [truth(39)]
        one.tell("r39", truth(39) + 0.1, repeat=True)
        assert one.mind.learner.labels.values("r39") == [truth(39), truth(39) + 0.1]
        assert list(one.mind.aside) == ["r39"]


def test_an_ask_that_wrote_nothing_leaves_no_trace(monkeypatch):
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        wanted = Campaign("lab", one.store).mind
        for _ in range(3):
            offered(one.mind, one)
        assert offered(one.mind, one) == offered(wanted, one)
        omega = one.mind.learner.chooser.log_omega
        np.testing.assert_array_equal(omega, wanted.learner.chooser.log_omega)


def test_a_change_of_acquisition_during_an_ask_breaks_nothing():
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        mind = one.mind
        offers, common = mind.offers(one.ledger, [], 1, 0)
        one.change(acquisition=["wvar", "igs"])
        lease = timedelta(days=1)
        one.store.transact("lab", lambda book: asked(book, offers, 1, "bob", lease, common))
        one.ask()
        assert one.ledger.ask["acquisition"] == ["wvar", "igs"]


def test_candidates_and_settings_may_both_change_while_it_is_open():
    with campaign(rows=20) as one:
        one.ask(3)
        other = Campaign("lab", one.store)
        other.add(pool(20, 25))
        other.change(acquisition="wvar")
        assert len(one.ask(20)) == 20


def test_a_pool_in_several_chunks_is_one_pool(monkeypatch):
    monkeypatch.setattr("weal.campaign.creating.CHUNK", 16)
    with campaign(acquisition="ivr") as one:
        for n in range(8):
            one.tell(f"r{n}", truth(n))
        one.ask()
        assert one.learner.target is None
        assert len(one.mind.pool.parts) == 3


def test_a_candidate_no_model_can_take_is_refused():
    with campaign(rows=20) as one:
        far = pool(20, 22)
        far.loc[21 - 20, "a"] = 1e150
        with pytest.raises(ValueError, match=r"1 rows have a value.*'r21'"):
            one.add(far)
        assert one.ledger.rows == 20


def test_candidates_that_come_before_the_first_label_are_first_ones():
    with campaign(rows=20, acquisition="ivr") as live:
        live.ask()
        live.add(pool(20, 40))
        for n in range(10):
            live.tell(f"r{3 * n}", truth(3 * n))
        again = Campaign("lab", live.store).mind
        assert offered(again, live) == offered(live.mind, live)
        assert live.learner.target is None
        assert again.learner.target is None
