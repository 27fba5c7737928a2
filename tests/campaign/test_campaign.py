"""What a campaign does for its users; the same on every store."""

import os

import numpy as np
import pytest

import weal
from campaign.lab import N, campaign, number, pool, truth
from weal.campaign.campaign import Campaign, open_campaign
from weal.errors import AlreadyLabelled, Exhausted, UnknownCampaign, UnknownId


def label(one, names):
    for name in names:
        one.tell(name, truth(number(name)))


def test_ask_and_tell(url):
    with campaign(url) as one:
        ids = one.ask(20)
        assert len(set(ids)) == 20
        numbers = [one.tell(name, truth(number(name))) for name in ids]
        assert numbers == sorted(numbers)
        assert one.read_ledger().n_labels == one.read_model().n_labels_ == 20
        assert isinstance(one.ask(), str)
        found = one.read_model().predict(one.read_session().pool.X)
        np.testing.assert_allclose(found, [truth(n) for n in range(N)], atol=0.3)


def test_a_campaign_that_is_there_is_opened_and_not_made_anew(tmp_path):
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    with campaign(url) as one:
        one.tell("r3", 1.0)
    with campaign(url, rows=7) as one:
        assert (one.read_ledger().rows, one.read_ledger().n_labels) == (N, 1)
    with open_campaign("lab", url) as one:
        assert one.read_ledger().n_labels == 1


def test_an_unknown_campaign_names_those_there_are(tmp_path):
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    campaign(url).close()
    with pytest.raises(UnknownCampaign, match="lab"):
        open_campaign("alloys", url)


def test_public_names():
    assert weal.open_campaign is open_campaign


def test_every_ask_offers_other_rows(url):
    with campaign(url) as one:
        label(one, one.ask(6))
        rows = [*one.ask(3), *one.ask(3, by="bob"), one.ask()]
        assert len(set(rows)) == 7
        leases = one.read_ledger().open_leases(one.store.now())
        assert [lease.who for lease in leases] == ["ann"] * 3 + ["bob"] * 3 + ["ann"]


def test_a_lapsed_lease_is_offered_again(url):
    with campaign(url, rows=8) as one:
        gone = one.ask(8, lease=1e-6)
        assert sorted(one.ask(8)) == sorted(gone)
        with pytest.raises(Exhausted, match="8 asked"):
            one.ask()


def test_labels_of_rows_never_asked_are_welcome(url):
    with campaign(url) as one:
        one.tell("r7", 0.5)
        one.tell(["r8", "r9"], [0.25, -0.125])
        assert [told.y for told in one.read_ledger().quantity().told()] == [0.5, 0.25, -0.125]


def test_the_same_label_again_is_nothing_new(url):
    with campaign(url) as one:
        first = one.tell("r7", 0.5)
        later = one.tell("r8", 0.25)
        assert one.tell("r7", 0.5) == first
        assert one.tell(["r8", "r7"], [0.25, 0.5]) == first
        assert one.read_ledger().seq == later


def test_another_label_needs_a_word(url):
    with campaign(url) as one:
        one.tell("r7", 0.5)
        with pytest.raises(AlreadyLabelled, match=r"0\.5 already.*--replace.*--repeat"):
            one.tell("r7", 0.6)
        one.tell("r7", 0.6, repeat=True)
        assert [told.y for told in one.read_ledger().quantity().told()] == [0.5, 0.6]
        one.tell("r7", 0.7, replace=True)
        assert [told.y for told in one.read_ledger().quantity().told()] == [0.7]
        kinds = [event.kind for event in one.events() if event.id == "r7"]
        assert kinds == ["told", "told", "corrected"]
        with pytest.raises(ValueError, match="not both"):
            one.tell("r7", 0.8, replace=True, repeat=True)


def test_a_replicate_counts_twice_in_the_model(url):
    with campaign(url) as one:
        label(one, [f"r{n}" for n in range(6)])
        one.tell("r0", truth(0) + 0.1, repeat=True)
        assert one.read_model().n_labels_ == 7
        one.withdraw("r0")
        assert one.read_model().n_labels_ == 5


def test_a_key_is_used_once(url):
    with campaign(url) as one:
        first = one.tell("r7", 0.5, repeat=True, key="run 12")
        assert one.tell("r7", 0.5, repeat=True, key="run 12") == first
        assert one.read_ledger().n_labels == 1
        one.tell(["r1", "r2"], [1.0, 2.0], key="run 13")
        one.tell(["r1", "r2"], [1.0, 2.0], key="run 13", repeat=True)
        assert one.read_ledger().n_labels == 3


def test_all_of_a_batch_is_taken_or_nothing(url):
    with campaign(url) as one:
        seq = one.read_ledger().seq
        with pytest.raises(UnknownId, match="r99"):
            one.tell(["r1", "r99"], [1.0, 2.0])
        with pytest.raises(ValueError, match="the label of r2"):
            one.tell(["r1", "r2"], [1.0, float("nan")])
        with pytest.raises(AlreadyLabelled):
            one.tell(["r1", "r1"], [1.0, 2.0])
        assert one.read_ledger().seq == seq


def test_skipped_rows_are_not_offered(url):
    with campaign(url, rows=8) as one:
        one.skip(["r1", "r2"], note="broken")
        one.skip("r1")
        assert set(one.ask(6)) == {f"r{n}" for n in (0, 3, 4, 5, 6, 7)}
        one.unskip("r2")
        assert one.ask() == "r2"
        one.tell("r1", 0.5)
        assert not one.read_ledger().skipped
        with pytest.raises(AlreadyLabelled, match="nothing to skip"):
            one.skip("r1")


def test_withdraw_takes_labels_and_leases_back(url):
    with campaign(url, rows=8) as one:
        one.tell("r1", 0.5)
        one.withdraw("r1", note="wrong sample")
        asked = one.ask(8)
        one.withdraw(asked[0])
        assert one.ask() == asked[0]
        one.withdraw(asked[:2])
        with pytest.raises(ValueError, match="nothing to withdraw"):
            one.withdraw(asked[0])


def test_candidates_can_be_added(url):
    with campaign(url, rows=8) as one:
        label(one, one.ask(6))
        assert one.add(pool(8, 12)) == 4
        assert one.read_ledger().rows == 12
        assert set(one.ask(6)) >= {"r8", "r9", "r10", "r11"}
        with pytest.raises(ValueError, match="r8"):
            one.add(pool(8, 9))


def test_check_rows_are_drawn_at_random_and_marked(url):
    with campaign(url) as one:
        label(one, one.ask(6))
        rows = one.ask(5, check=True)
        assert all(lease.body["check"] for lease in one.read_ledger().open_leases(one.store.now()))
        label(one, rows)
        assert [past.body["check"] for past in one.read_ledger().quantity().foretold[-5:]] == [
            True
        ] * 5
        assert one.read_ledger().checks == 5
        assert set(one.ask(5, check=True)).isdisjoint(rows)


def test_settings_can_change_but_not_the_seed(url):
    with campaign(url) as one:
        label(one, one.ask(6))
        one.change(acquisition="wvar", lease="2d")
        one.ask()
        body = next(iter(one.read_ledger().leases.values())).body
        assert list(body["why"]["shares"]) == ["wvar"]
        assert one.read_ledger().settings["lease"] == 2 * 24 * 3600.0
        with pytest.raises(ValueError, match="seed cannot change"):
            one.change(seed=2)
        with pytest.raises(ValueError, match="no setting colour"):
            one.change(colour="red")


def test_what_was_expected_is_kept_with_the_question(url):
    with campaign(url) as one:
        label(one, one.ask(6))
        (name,) = one.ask(1)
        body = one.read_ledger().leases[name].body
        mean, sd = one.read_model().predict(one.read_learner().rows([name]), return_std=True)
        np.testing.assert_allclose([body["mean"], body["sd"]], [mean[0], sd[0]])
        assert body["low"] < body["mean"] < body["high"]
        assert sum(body["why"]["shares"].values()) == pytest.approx(1.0)


def test_a_label_no_model_can_take_is_kept_and_left_out(url):
    with campaign(url) as one:
        label(one, one.ask(8))
        with pytest.warns(UserWarning, match=r"r39: 1e\+300 is far from the labels so far"):
            one.tell("r39", 1e300)
        assert list(one.read_session().replay.unusable) == ["r39"]
        assert one.read_model().n_labels_ == 8
        assert one.read_ledger().n_labels == 9
        with Campaign("lab", one.store) as again:
            assert list(again.read_session().replay.unusable) == ["r39"]
            again.tell("r39", truth(39), replace=True)
            assert not again.read_session().replay.unusable
            assert again.read_model().n_labels_ == 9


def test_who_is_taken_from_the_environment(url, monkeypatch):
    monkeypatch.setenv("WEAL_WHO", "mk")
    with open_campaign("x", url, pool=pool(), id_column="name") as one:
        one.tell("r1", 0.5)
        one.tell("r2", 0.5, by="bob")
        assert [told.who for told in one.read_ledger().quantity().told()] == ["mk", "bob"]


def test_rows_without_ids_are_numbered(url):
    frame = pool(0, 6).drop(columns="name")
    with open_campaign("x", url, pool=frame) as one:
        one.tell(3, 0.5)
        one.add(pool(6, 8).drop(columns="name"))
        one.tell("8", 0.25)
        assert [told.id for told in one.read_ledger().quantity().told()] == ["3", "8"]


def test_labels_in_the_table_are_told(url):
    frame = pool(0, 12)
    frame["y"] = [truth(n) if n < 7 else None for n in range(12)]
    with open_campaign("x", url, pool=frame, id_column="name", target="y") as one:
        assert one.read_ledger().n_labels == 7
        assert "y" not in one.read_session().pool.plan.names
        more = pool(12, 14).assign(y=[truth(12), None])
        one.add(more)
        assert one.read_ledger().n_labels == 8


def test_a_results_file_is_taken_whole_or_not_at_all(url, tmp_path):
    file = tmp_path / "results.csv"
    with campaign(url) as one:
        file.write_text("name,value,note\nr1,0.5,fine\nr2,,\nr3,-0.25,\n")
        assert one.tell_file(file).labels == 2
        seq = one.read_ledger().seq
        file.write_text("name,value\nr4,0.5\nr5,n.a.\n")
        with pytest.raises(ValueError, match=r"n\.a\."):
            one.tell_file(file)
        file.write_text("name,value\nr4,0.5\nr77,0.1\n")
        with pytest.raises(UnknownId, match="r77"):
            one.tell_file(file)
        assert one.read_ledger().seq == seq
        assert one.read_ledger().quantity().told()[0].note == "fine"


def test_moving_the_file_away_breaks_nothing(tmp_path):
    file, url = tmp_path / "pool.csv", f"sqlite:///{tmp_path / 'lab.db'}"
    pool().to_csv(file, index=False)
    with open_campaign("x", url, pool=file, id_column="name", n_start=5) as one:
        label(one, one.ask(6))
    os.remove(file)
    with open_campaign("x", url) as one:
        assert len(one.ask(3)) == 3
        assert one.read_session().pool.row(3)["steel"] == "hard"


def test_a_pool_with_one_row(url):
    with campaign(url, rows=1) as one:
        assert one.ask() == "r0"
        one.tell("r0", 1.0)
        with pytest.raises(Exhausted):
            one.ask()


def test_a_nearly_empty_column_is_not_learnt_from_without_a_word(url):
    frame = pool(0, 12)
    frame["y"] = [truth(n) if n < 2 else None for n in range(12)]
    with pytest.raises(ValueError, match=r"'y' is empty in 83% of the rows.*target='y'"):
        open_campaign("x", url, pool=frame, id_column="name")
    with open_campaign("x", url, pool=frame, id_column="name", types={"y": "number"}) as one:
        assert "y" in one.read_session().pool.plan.names
