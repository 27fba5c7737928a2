"""Rows that are measured already and asked again: leases, answers, refusals, and what is kept."""

import json

import numpy as np
import pandas as pd
import pytest

import weal
from shell import alone_in, typed
from weal import ActiveLearner
from weal.errors import AlreadyLabelled

WRONG = 60.0  # a label that would be the best, and is treated as wrong
DOUBTED = "r31"
pytestmark = pytest.mark.filterwarnings("ignore:.*is far from:UserWarning")


def a_pool(n=80):
    X = np.random.default_rng(2).uniform(size=(n, 3))
    return X, np.round(np.sin(5 * X[:, 0]) + X[:, 1] ** 2, 6)


def a_table():
    X, _ = a_pool()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    return table.assign(name=[f"r{n}" for n in range(len(X))])


def a_campaign(store="memory:", goal="maximise", by="ann", **settings):
    given = {"pool": a_table(), "id_column": "name", "target": "y", "goal": goal, **settings}
    return weal.open_campaign("lab", store, by=by, **given)


def with_doubt(store="memory:", **settings):
    """A campaign with a label that is treated as wrong."""
    one, (_, y) = a_campaign(store, **settings), a_pool()
    one.tell({f"r{n}": y[n] for n in range(30)})
    with pytest.warns(UserWarning, match=DOUBTED):
        one.tell(DOUBTED, WRONG)
    return one


def noisy(store="memory:", **settings):
    """A campaign with noisy labels, which has its first repeat to ask after some rows."""
    one, (_, y) = a_campaign(store, goal="best 2", seed=1, **settings), a_pool()
    y = y + 0.5 * np.random.default_rng(5).normal(size=len(y))
    one.tell({f"r{n}": y[n] for n in range(0, 80, 2)})
    return one, y


def labels_of(one, name):
    return [told.y for told in one.read_ledger().quantity().labels.get(name, ())]


def state_of(one):
    """All that the next answers follow from, in plain values."""
    state = one.read_session().state
    labels = sorted((str(t.name), t.y, t.noise, t.sure) for t in state.view().labels)
    return labels, sorted(map(str, state.asked)), sorted(map(str, state.skipped))


@pytest.fixture
def shell(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    with with_doubt("weal.db"):
        pass
    monkeypatch.setenv("WEAL_STORE", "weal.db")
    monkeypatch.setenv("WEAL_WHO", "ann")


def said(*words, code=0):
    done = typed(*words)
    assert done.code == code, done.err
    return done


def test_a_doubted_label_is_asked_again_first_and_its_answer_is_a_repeat():
    with with_doubt() as one:
        assert one.ask() == DOUBTED
        [row] = one.asked()
        assert row.repeat
        assert "it is measured again: its label is treated as wrong" in row.why
        assert "among the 10 best" in one.card(DOUBTED).why
        one.tell(DOUBTED, 1.25)
        assert labels_of(one, DOUBTED) == [WRONG, 1.25]
        assert not one.read_ledger().leases
        with pytest.raises(AlreadyLabelled, match="--repeat"):  # the lease is over
            one.tell(DOUBTED, 1.3)
        assert one.ask() != DOUBTED


def test_it_asks_what_a_learner_asks():
    one, y = noisy()
    X, _ = a_pool()
    learner = ActiveLearner(
        X, goal="best 2", seed=1, n_start=one.read_session().state.settings.n_start
    )
    for n in range(0, 80, 2):  # one by one: labels told at once select their experts together
        learner.tell(n, y[n])
    rng, again = np.random.default_rng(9), 0
    for _ in range(8):
        query = learner.ask()
        assert one.ask() == f"r{query}"
        [row] = one.asked()
        assert row.repeat == (query in learner.labels.by_name)
        again += row.repeat
        label = y[query] + 0.5 * rng.normal()
        learner.tell(query, label)
        one.tell(f"r{query}", label)
    assert again
    assert one.read_ledger().n_labels == 48


def test_learn_and_no_repeats_ask_for_no_measured_row():
    for settings, given in (
        ({}, {"repeats": False}),
        ({"repeats": False}, {}),
        ({"goal": "learn"}, {}),
    ):
        with with_doubt(**settings) as one:
            ids = one.ask(4, **given)
            assert not set(ids) & one.read_ledger().labelled()
            assert not any(row.repeat for row in one.asked())


def test_nobody_has_the_same_repeat_twice(tmp_path):
    url = str(tmp_path / "weal.db")
    with with_doubt(url) as one, weal.open_campaign("lab", url, by="bo") as other:
        assert one.ask() == DOUBTED
        assert DOUBTED not in other.ask(5)
        with pytest.warns(UserWarning, match="out for a repeat"):
            other.tell(DOUBTED, WRONG)  # an old label, told again by another: nothing is counted
        assert labels_of(other, DOUBTED) == [WRONG]
        assert DOUBTED in one.read_ledger().leases
        other.tell(DOUBTED, 1.5)  # whoever brings the result
        assert labels_of(one, DOUBTED) == [WRONG, 1.5]
        assert DOUBTED not in one.read_ledger().leases


def test_a_label_that_came_while_a_repeat_was_chosen_is_a_conflict(tmp_path, monkeypatch):
    url = str(tmp_path / "weal.db")
    with with_doubt(url) as one, weal.open_campaign("lab", url, by="bo") as other:
        from weal.campaign import suggestions

        choose, tries = suggestions._choose, []

        def while_another_tells(*given):
            found = choose(*given)
            if not tries:
                other.tell(DOUBTED, 1.5, repeat=True)
            tries.append([offer.id for offer in found[0]])
            return found

        monkeypatch.setattr(suggestions, "_choose", while_another_tells)
        assert one.ask() != DOUBTED
        assert tries[0] == [DOUBTED]
        assert labels_of(one, DOUBTED) == [WRONG, 1.5]


def test_the_same_number_again_counts_once_and_only_from_the_person_with_the_lease():
    with with_doubt() as one:
        one.ask()
        with pytest.warns(UserWarning, match="out for a repeat"):
            one.tell({DOUBTED: WRONG, "r0": a_pool()[1][0]})  # a notebook that is run again
        assert labels_of(one, DOUBTED) == [WRONG]
        one.tell(DOUBTED, WRONG)
        assert labels_of(one, DOUBTED) == [WRONG, WRONG]
        one.tell(DOUBTED, WRONG)  # the answer was lost, and told again
        assert labels_of(one, DOUBTED) == [WRONG, WRONG]


def test_two_labels_in_one_call_are_one_repeat_and_one_refusal():
    with with_doubt() as one:
        one.ask()
        with pytest.raises(AlreadyLabelled):
            one.tell([DOUBTED, DOUBTED], [1.2, 1.3])
        assert labels_of(one, DOUBTED) == [WRONG]
        assert DOUBTED in one.read_ledger().leases


def test_replace_corrects_a_row_that_is_out_for_a_repeat_and_sure_confirms_it():
    with with_doubt() as one:
        one.ask()
        one.tell(DOUBTED, WRONG, sure=True)
        [told] = one.read_ledger().quantity().labels[DOUBTED]
        assert told.sure
        one.tell(DOUBTED, 1.2, replace=True)
        assert labels_of(one, DOUBTED) == [1.2]


def test_a_lapsed_repeat_is_no_lease_and_is_offered_again():
    with with_doubt() as one:
        assert one.ask(lease=1e-3) == DOUBTED
        while one.read_ledger().open_leases(one.store.now()):
            pass
        with pytest.raises(AlreadyLabelled, match="--repeat"):
            one.tell(DOUBTED, 1.2)
        assert one.ask() == DOUBTED


def test_a_repeat_is_skipped_or_withdrawn_and_the_label_stays():
    for give_back in ("skip", "withdraw"):
        with with_doubt() as one:
            one.ask()
            getattr(one, give_back)(DOUBTED)
            assert labels_of(one, DOUBTED) == [WRONG]
            assert not one.read_ledger().leases
            assert one.read_ledger().n_labels == len(one.read_session().state.view().labels) == 31
            assert (one.ask() == DOUBTED) is (give_back == "withdraw")
    with with_doubt() as one:
        one.ask()
        one.withdraw(DOUBTED, by="bo")  # who has not asked for it means the label
        assert labels_of(one, DOUBTED) == []


def test_a_file_answers_a_repeat_and_old_lines_of_it_do_not(tmp_path):
    file = tmp_path / "results.csv"
    with with_doubt() as one:
        one.ask(3)
        sheet = tmp_path / "sheet.csv"
        one.worksheet([row.id for row in one.asked()], str(sheet))
        table = pd.read_csv(sheet)
        assert table.set_index("name")["note"].fillna("").tolist() == ["repeat", "", ""]
        file.write_text(f"name,y\n{DOUBTED},{WRONG}\n")
        [line] = one.preview(str(file)).rows
        assert line.action == "same"
        assert "--repeat -- lab r31 60.0" in line.message
        table.loc[table["name"] == DOUBTED, "y"] = 1.25
        table.to_csv(sheet, index=False)
        found = one.tell_file(str(sheet))
        assert found.counts == {"repeated": 1, "empty": 2}
        assert labels_of(one, DOUBTED) == [WRONG, 1.25]
        assert one.tell_file(str(sheet)).counts == {"same": 1, "empty": 2}
        assert labels_of(one, DOUBTED) == [WRONG, 1.25]


def test_failed_in_a_file_skips_the_repeat_and_keeps_the_label(tmp_path):
    file = tmp_path / "results.csv"
    file.write_text(f"name,y\n{DOUBTED},failed\n")
    with with_doubt() as one:
        assert one.preview(str(file)).counts == {"same": 1}
        one.ask()
        assert one.tell_file(str(file)).counts == {"skipped": 1}
        assert labels_of(one, DOUBTED) == [WRONG]
        assert one.ask() != DOUBTED


def test_an_undo_takes_back_one_label_of_several():
    with with_doubt() as one:
        one.ask()
        seq = one.tell(DOUBTED, 1.25)
        for ids, event in (([DOUBTED, "r0"], seq), ("r0", seq), (DOUBTED, 1)):
            with pytest.raises(ValueError, match="not a current label of"):
                one.withdraw(ids, event=event)
        one.withdraw(DOUBTED, event=seq, note="typo")
        assert labels_of(one, DOUBTED) == [WRONG]
        with pytest.raises(ValueError, match="weal show"):
            one.withdraw(DOUBTED, event=seq)  # it is gone
        assert labels_of(one, DOUBTED) == [WRONG]
        assert one.ask() == DOUBTED


def test_a_campaign_that_is_opened_anew_for_every_deed_is_the_unbroken_one(tmp_path):
    from weal.campaign.row_rules import decide_undo

    url = str(tmp_path / "weal.db")
    deeds = [
        lambda one: one.ask(2),
        lambda one: one.tell(DOUBTED, 1.25),
        lambda one: one.transact(
            lambda tx: decide_undo(
                tx, DOUBTED, one.read_ledger().labels_of(DOUBTED)["y"][0].seq, "", ""
            )
        ),
        lambda one: one.change(repeats=False),
        lambda one: one.ask(),
        lambda one: one.tell(DOUBTED, 60.0, repeat=True),
        lambda one: one.change(repeats=True),
        lambda one: one.ask(),
        lambda one: one.withdraw(one.asked()[-1].id),
    ]
    with with_doubt() as calm, with_doubt(url):
        for deed in deeds:
            deed(calm)
            with weal.open_campaign("lab", url, by="ann") as one:
                deed(one)
                assert state_of(one) == state_of(calm)
                assert one.read_ledger().labels_of(DOUBTED).keys() == {"y"}
                assert labels_of(one, DOUBTED) == labels_of(calm, DOUBTED)
        with weal.open_campaign("lab", url, by="ann") as one:
            assert one.ask(2) == calm.ask(2)


def test_who_dies_between_ask_and_tell_finds_the_repeat_and_its_key(tmp_path):
    url = str(tmp_path / "weal.db")
    with with_doubt(url):
        pass
    with weal.open_campaign("lab", url, by="ann") as one:
        assert one.ask(key="K") == DOUBTED
    with weal.open_campaign("lab", url, by="ann") as one:  # the answer was lost
        assert one.ask(key="K") == DOUBTED
        assert [(row.id, row.repeat) for row in one.asked()] == [(DOUBTED, True)]
        one.tell(DOUBTED, 1.25, key="T")
        one.tell(DOUBTED, 1.25, key="T")
        assert labels_of(one, DOUBTED) == [WRONG, 1.25]
        assert one.ask(key="K") == DOUBTED  # what became of it does not matter
        assert not one.read_ledger().leases


def test_the_shell_says_that_a_row_is_a_repeat_and_saves_its_answer(shell):
    [row] = json.loads(said("ask", "lab", "--json").out)
    assert (row["id"], row["repeat"]) == (DOUBTED, True)
    assert "measured again" in said("ask", "lab", "--again").out
    [other] = json.loads(said("ask", "lab", "--no-repeats", "--json").out)
    assert "repeat" not in other
    done = said("withdraw", "lab", DOUBTED)
    assert "the label stays" in done.err
    assert json.loads(said("ask", "lab", "--json").out)[0]["id"] == DOUBTED
    assert "as a repeat" in said("tell", "lab", DOUBTED, "1.25").err
    assert "--repeat" in said("tell", "lab", DOUBTED, "1.3", code=2).err
    with weal.open_campaign("lab", "weal.db") as one:
        assert labels_of(one, DOUBTED) == [WRONG, 1.25]
        [_, told] = one.read_ledger().quantity().labels[DOUBTED]
        said("withdraw", "lab", DOUBTED, "--event", str(told.seq))
        assert labels_of(one, DOUBTED) == [WRONG]


def test_a_setting_forbids_repeats_and_the_doubt_is_still_said(shell):
    said("settings", "lab", "--no-repeats")
    assert json.loads(said("settings", "lab", "--json").out)["repeats"] is False
    done = said("ask", "lab", "--json")
    assert "repeat" not in json.loads(done.out)[0]
    assert f"measure {DOUBTED} again first" in done.err
    said("settings", "lab", "--repeats")
    assert json.loads(said("ask", "lab", "--json").out)[0]["repeat"] is True
    with weal.open_campaign("lab", "weal.db") as one, pytest.raises(ValueError, match="repeats"):
        one.change(repeats="no")
