"""A campaign that is opened again asks what the unbroken one would have asked."""

import json
from datetime import timedelta

import numpy as np
import pytest
from numpy.testing import assert_allclose

from campaign.lab import campaign, number, pool, truth
from soak import count
from weal.active_learner import ActiveLearner
from weal.campaign import creation, session, suggestions
from weal.campaign.campaign import Campaign
from weal.campaign.idempotency import AskCall
from weal.campaign.replay import replay, replay_new_events
from weal.campaign.session import read_pool_snapshot
from weal.campaign.suggestions import _choose, decide_leases
from weal.formats import snapshots
from weal.learner import choosing
from weal.learner.batch_options import BatchOptions
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.posterior_cache import PosteriorCache
from weal.model import expert_kind

# Labels that no model can take are told on purpose; whoever tells them is warned.
pytestmark = pytest.mark.filterwarnings("ignore:r.* is far (from|outside):UserWarning")


def again(one):
    """The session of the same campaign, opened anew."""
    return Campaign("lab", one.store).read_session()


def unaided(one):
    """The same, without a checkpoint, taken event by event in several goes."""
    session, events = again(one), one.events()
    session.replay = replay(events[: len(events) // 2], session.pool, session.ledger)
    if not session.replay.labelled:
        session.replay = replay(events, session.pool, session.ledger)
    session.replay = replay_new_events(session.replay, events[session.replay.seq :], session.pool)
    session.beliefs = PosteriorCache(POOL_BYTES)
    return session


def offered(session, one, n=4):
    found, _ = suggestions.choose_rows(session.choosable(one.store.now()), session.beliefs, n, 0)
    return [offer.id for offer in found]


def belief(session):
    return session.model().predict(session.pool.X, return_std=True)


def on_the_pool(session):
    return session.beliefs.posterior(session.view()).pool


def act(one, rng, step):
    """One thing that people do, drawn at random."""
    labelled, out = list(one.read_ledger().quantity().labels), list(one.read_ledger().leases)
    deed = rng.choice(["ask", "tell", "unasked", "repeat", "correct", "withdraw", "skip", "add"])
    if deed == "ask":
        one.ask(int(rng.integers(1, 4)), by="bob" if rng.random() < 0.3 else None)
    elif deed == "tell" and out:
        name = out[int(rng.integers(len(out)))]
        one.tell(name, truth(number(name)))
    elif deed == "unasked":
        free = [name for name in one.read_session().pool.ids if name not in labelled]
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
    elif deed == "add" and one.read_ledger().rows < 60 and rng.random() < 0.3:
        one.add(pool(one.read_ledger().rows, one.read_ledger().rows + 5))


@pytest.mark.parametrize("seed", range(4))
def test_the_next_question_does_not_depend_on_when_it_was_opened(seed):
    rng = np.random.default_rng(seed)
    acquisition = ["auto", "ivr", "multi", "gpm-var"][seed]
    with campaign(acquisition=acquisition, seed=seed) as live:
        for name in live.ask(5):
            live.tell(name, truth(number(name)))
        for step in range(count(36, long=60)):
            act(live, rng, step)
            if step % 12 == 11:
                sessions = [live.read_session(), again(live), unaided(live)]
                for other in sessions[1:]:
                    assert_allclose(
                        belief(other), belief(live.read_session()), rtol=1e-6, atol=1e-9
                    )
                assert len({tuple(offered(session, live)) for session in sessions}) == 1


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
        given = one.read_session().pool
        learner = ActiveLearner(given.X, acquisition="wvar", ids=given.ids, n_start=5, seed=0)
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
        state = one.read_session().view()
        seq, head, data = one.store.read_snapshot("lab", snapshots.EXPERTS_KIND)
        assert (seq, head) == (one.read_ledger().seq, one.read_ledger().hash)
        kept = snapshots.unpack_experts_snapshot(data, state)
        assert kept.dictionary == one.read_model().dictionary_
        assert again(one).view().selection.experts.dictionary == kept.dictionary
        other = json.loads(data)
        nothing = json.dumps({**other, "arrays": "x"}).encode()
        deep = b"[" * 100_000
        endless = data.replace(b'"settled": ', b'"settled": 1e999, "before": ')
        flat = json.loads(data)
        for array in flat["arrays"].values():
            array["shape"] = -1
        few = json.loads(data)  # forged: the weights of other experts
        few["experts"]["dictionary"] = few["experts"]["dictionary"][:1] * 3
        forged = [json.dumps(one).encode() for one in (flat, few)]
        for broken in (None, b"", b"{", b"[]", nothing, deep, endless, *forged):
            assert snapshots.unpack_experts_snapshot(broken, state) is None
        one.tell("r39", truth(39))
        assert snapshots.unpack_experts_snapshot(data, one.read_session().view()) is not None
        one.change(warp=None)
        assert snapshots.unpack_experts_snapshot(data, one.read_session().view()) is None
        one.change(warp="auto")
        assert snapshots.unpack_experts_snapshot(data, one.read_session().view()) is not None
        name = next(iter(one.read_ledger().quantity().labels))
        one.tell(name, 5.0, replace=True)
        assert snapshots.unpack_experts_snapshot(data, one.read_session().view()) is None


def test_a_checkpoint_is_equal_to_the_last_bit_for_inducing_points_too(constants):
    constants(expert_kind, MAX_LABELS_ALWAYS_EXACT=6, MAX_FACTOR_BYTES=8 * 6**2)
    with campaign() as one:
        for n in range(14):
            one.tell(f"r{n}", truth(n))
        one.ask()
        opened = again(one)
        assert opened.view().selection.experts is not None
        np.testing.assert_array_equal(on_the_pool(opened).mu, on_the_pool(one.read_session()).mu)


def test_a_wrong_checkpoint_changes_nothing():
    with campaign() as one:
        for name in one.ask(12):
            one.tell(name, truth(number(name)))
        one.ask()
        wanted = offered(one.read_session(), one)
        one.store.write_snapshot("lab", snapshots.EXPERTS_KIND, 1, "nonsense", b"\x80\x04nonsense")
        assert offered(again(one), one) == wanted


def test_a_kept_belief_is_used_when_it_fits_and_thrown_away_when_not():
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        one.ask()
        _, _, data = one.store.read_snapshot("lab", snapshots.POOL_KIND)
        found = snapshots.unpack_pool_snapshot(data, one.read_session().view())
        assert found.n == 12
        np.testing.assert_array_equal(found.mu, on_the_pool(one.read_session()).mu[found.members])
        others = [data.replace(b'"n": 12', n) for n in (b'"n": 11', b'"n": Infinity')]
        for broken in (b"", b"{}\n", b"[]\n", b"[" * 100_000, data[:-8], *others):
            assert snapshots.unpack_pool_snapshot(broken, one.read_session().view()) is None
        one.tell("r39", truth(39))
        assert snapshots.unpack_pool_snapshot(data, one.read_session().view()).n == 12
        kept, anew = on_the_pool(one.read_session()), on_the_pool(again(one))
        np.testing.assert_array_equal(anew.mu, kept.mu)
        np.testing.assert_array_equal(anew.v, kept.v)
        one.add(pool(40, 45))
        assert snapshots.unpack_pool_snapshot(data, one.read_session().view()) is None
        one.tell("r1", 5.0, replace=True)
        assert snapshots.unpack_pool_snapshot(data, one.read_session().view()) is None


def test_a_belief_is_kept_now_and_then_and_not_where_it_is_large(constants):
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        kept = []
        for _ in range(10):
            one.tell(name := one.ask(), truth(number(name)))
            kept.append(read_pool_snapshot(one.store, one.read_ledger(), one.read_session().view()))
        assert [found.n for found in kept if found] == [12, 12, 15, 15, 15, 15, 20, 20]
    with campaign(n_start=30) as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        one.ask()
        assert one.store.read_snapshot("lab", snapshots.POOL_KIND) is None
    constants(session, MAX_POOL_SNAPSHOT_BYTES=100)
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        one.ask()
        assert one.store.read_snapshot("lab", snapshots.POOL_KIND) is None


def settled(one):
    """Labels by which experts were settled, and the candidates that the scaling is of."""
    selection = one.read_session().view().selection
    return selection.n, selection.labels[1].tolist(), selection.scaling


def test_when_experts_are_settled_follows_from_the_events():
    with campaign(rows=12) as one:
        for n in range(4):
            one.tell(f"r{n}", truth(n))
        assert one.read_session().view().selection is None
        one.tell("r4", truth(4))
        n, by, first = settled(one)
        assert (n, by) == (5, [truth(k) for k in range(5)])
        one.add(pool(12, 15))
        for k in range(5, 9):
            one.tell(f"r{k}", truth(k))
        assert settled(one)[0] == 5
        one.tell("r9", truth(9))
        n, by, scaling = settled(one)
        assert (n, len(by), scaling) == (10, 10, first)
        one.tell("r2", 7.0, replace=True)
        n, by, scaling = settled(one)
        assert (n, by[-1], scaling) == (10, 7.0, first)
        one.withdraw("r3")
        assert settled(one)[0] == 9


def test_an_open_campaign_and_one_opened_anew_are_equal_to_the_last_bit():
    rng = np.random.default_rng(8)
    with campaign(acquisition="multi") as live:
        for name in live.ask(5):
            live.tell(name, truth(number(name)))
        for step in range(40):
            act(live, rng, step)
            opened = again(live)
            if opened.view().has_model and live.read_learner().fitted:
                kept, anew = on_the_pool(live.read_session()), on_the_pool(opened)
                np.testing.assert_array_equal(anew.mu, kept.mu)
                np.testing.assert_array_equal(anew.v, kept.v)


def wild(one):
    """A label that no model can take, corrected later."""
    for n in range(10):
        one.tell(f"r{n}", truth(n))
    one.tell("r39", 1e300)


@pytest.mark.parametrize("end", ["correct", "withdraw", "repeat"])
def test_a_label_that_is_left_out_is_so_when_opened_anew(end):
    with campaign() as live:
        wild(live)
        assert list(live.read_session().replay.unusable) == ["r39"]
        if end == "correct":
            live.tell("r39", truth(39), replace=True)
        elif end == "withdraw":
            live.withdraw("r39")
        else:
            live.tell("r39", truth(39), repeat=True)
        opened = again(live)
        assert opened.replay.unusable == live.read_session().replay.unusable
        assert bool(opened.replay.unusable) == (end == "repeat")
        assert opened.model().n_labels_ == (10 if end == "withdraw" else 11)
        assert offered(opened, live) == offered(live.read_session(), live)


def test_a_bad_repeat_costs_no_good_label():
    with campaign() as one:
        wild(one)
        one.tell("r39", truth(39), replace=True)
        one.tell("r39", 1e300, repeat=True)
        assert one.read_learner().labels.values("r39") == [truth(39)]
        one.tell("r39", truth(39) + 0.1, repeat=True)
        assert one.read_learner().labels.values("r39") == [truth(39), truth(39) + 0.1]
        assert list(one.read_session().replay.unusable) == ["r39"]


def test_a_bad_correction_takes_the_label_that_it_corrects():
    with campaign() as one:
        wild(one)
        one.tell("r5", 1e300, replace=True)
        assert one.read_learner().labels.values("r5") == []
        assert sorted(one.read_session().replay.unusable) == ["r39", "r5"]
        assert one.read_model().n_labels_ == 9


def test_a_row_whose_label_is_left_out_is_neither_out_nor_asked_again():
    with campaign(rows=14) as one:
        for n in range(10):
            one.tell(f"r{n}", truth(n))
        out = one.ask(2)
        one.tell(out[0], 1e300)
        assert list(one.read_learner().pending) == out[1:]
        assert set(one.ask(2)) == {"r10", "r11", "r12", "r13"} - set(out)


def test_an_ask_that_wrote_nothing_leaves_no_trace():
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        wanted = again(one)
        for _ in range(3):
            offered(one.read_session(), one)
        assert offered(one.read_session(), one) == offered(wanted, one)
        np.testing.assert_array_equal(one.read_session().state.log_omega, wanted.state.log_omega)


def test_a_change_of_acquisition_during_an_ask_breaks_nothing():
    with campaign() as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        lease, call = timedelta(days=1), AskCall(1, "bob", check=False)
        session = one.read_session()
        ledger, (found, common) = (
            session.ledger,
            _choose(session, one.store.now(), call, 0, True, BatchOptions()),
        )
        one.change(acquisition=["wvar", "igs"])
        one.store.transact(
            "lab", lambda book: decide_leases(book, ledger, found, call, lease, common)
        )
        assert one.read_learner().acquisition_weights == {"wvar": 0.5, "igs": 0.5}
        one.ask()
        assert sorted(one.read_learner().acquisition_weights) == ["igs", "wvar"]
        assert one.read_session().state.weighed


@pytest.mark.parametrize("deed", ["told", "corrected", "withdrawn"])
def test_functions_are_weighed_once_for_the_labels_that_there_are(deed, monkeypatch):
    times, weighed = [], choosing._updated_log_weights
    monkeypatch.setattr(
        choosing, "_updated_log_weights", lambda *given: times.append(1) or weighed(*given)
    )
    with campaign(acquisition="multi") as one:
        for n in range(12):
            one.tell(f"r{n}", truth(n))
        assert not one.read_session().state.weighed
        one.ask()
        state = one.read_session().state
        kept = one.events()[-1].body["ask"]["log_omega"]
        assert state.weighed
        assert state.log_omega.tolist() == kept
        one.ask(check=True)
        one.ask()
        assert one.read_session().state.log_omega.tolist() == kept
        assert len(times) == 1
        if deed == "withdrawn":
            one.withdraw("r1")
        else:
            one.tell("r1" if deed == "corrected" else "r39", 0.5, replace=deed == "corrected")
        assert not one.read_session().state.weighed
        one.ask(check=True)
        assert not one.read_session().state.weighed
        one.ask()
        assert one.read_session().state.weighed
        one.ask()
        assert len(times) == 2


def test_candidates_and_settings_may_both_change_while_it_is_open():
    with campaign(rows=20) as one:
        one.ask(3)
        other = Campaign("lab", one.store)
        other.add(pool(20, 25))
        other.change(acquisition="wvar")
        assert len(one.ask(20)) == 20


def test_a_pool_in_several_chunks_is_one_pool(constants):
    constants(creation, CHUNK_ROWS=16)
    with campaign(acquisition="ivr") as one:
        for n in range(8):
            one.tell(f"r{n}", truth(n))
        one.ask()
        assert one.read_learner().reference is None
        assert len(one.read_session().pool.parts) == 3


def test_a_candidate_no_model_can_take_is_refused():
    with campaign(rows=20) as one:
        far = pool(20, 22)
        far.loc[21 - 20, "a"] = 1e150
        with pytest.raises(ValueError, match=r"1 row has a value.*'r21'"):
            one.add(far)
        assert one.read_ledger().rows == 20


def test_candidates_that_come_before_the_first_label_are_first_ones():
    with campaign(rows=20, acquisition="ivr") as live:
        live.ask()
        live.add(pool(20, 40))
        for n in range(10):
            live.tell(f"r{3 * n}", truth(3 * n))
        opened = again(live)
        assert offered(opened, live) == offered(live.read_session(), live)
        assert live.read_learner().reference is None
        assert opened.learner.reference is None
