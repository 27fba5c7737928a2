"""Runs of campaigns: labels are events at once, rows are given back, no label is lost."""

import os
import signal

import pandas
import pytest

import slow_oracles
import weal

POOL = pandas.DataFrame(
    {"a": [(7 * k % 40) / 40 for k in range(40)], "b": [k % 6 / 3 for k in range(40)]},
    index=[f"s{k}" for k in range(40)],
)


def plain(row):
    return slow_oracles.plain([row["a"], row["b"]])


def begin(store="memory:", name="demo", by="ann", **settings):
    return weal.open_campaign(name, store, pool=POOL, target="y", by=by, **settings)


def is_true(campaign):
    labels = campaign.read_ledger().quantity().labels
    return all(one.y == plain(POOL.loc[name]) for name, (one,) in labels.items())


@pytest.mark.covering
@pytest.mark.parametrize("store", ["memory:", "sqlite:///run.db"])
@pytest.mark.parametrize("how", [{}, {"workers": 4}])
def test_labels_are_events_of_who_runs(tmp_path, monkeypatch, store, how):
    monkeypatch.chdir(tmp_path)
    with begin(store) as campaign:
        run = campaign.run(plain, 15, by="robot", **how)
        assert (run.reason, run.labels) == ("budget", 15)
        assert is_true(campaign)
        told = [event for event in campaign.events() if event.kind == "told"]
        assert len(told) == len({event.id for event in told}) == 15
        assert {event.who for event in told} == {"robot"}
        assert not campaign.read_ledger().leases
        assert campaign.run(plain, 99, **how).reason == "exhausted"
        assert campaign.run(plain, 5, until="labels = 3", **how).reason == "exhausted"


def crashes(row):
    return slow_oracles.crashes([row["a"], row["b"]])


def test_failures_of_processes_are_events_with_the_reason():
    wrong = set(POOL.index[POOL["a"] > 0.7])
    with begin() as campaign:
        run = campaign.run(crashes, 40, workers=2, timeout=100, on_failure="skip")
        assert {one.id for one in run.failures} == set(campaign.read_ledger().skipped) <= wrong
        assert set(campaign.read_ledger().skipped.values()) == {
            "RuntimeError: the process of the oracle ended (exit 7)"
        }
        assert is_true(campaign)
    with begin(name="other") as campaign:
        run = campaign.run(crashes, 12, timeout=100, on_failure="fail")
        assert len(campaign.read_ledger().failures.labels) == len(run.failures)


def test_ctrl_c_keeps_labels_and_gives_rows_back():
    with begin() as campaign:

        def callback(own, name, label):
            assert own is campaign
            if campaign.read_ledger().n_labels == 5:
                os.kill(os.getpid(), signal.SIGINT)

        run = campaign.run(plain, 40, workers=3, callback=callback)
        assert run.reason == "interrupted"
        assert run.labels == campaign.read_ledger().n_labels >= 5
        assert is_true(campaign)
        assert not campaign.read_ledger().leases


def test_a_label_that_another_person_tells_meanwhile_stays():
    with begin() as campaign:

        def measure(row):
            name = POOL.index[(POOL["a"] == row["a"]) & (POOL["b"] == row["b"])][0]
            campaign.tell(name, 99.0, by="bo")
            raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            campaign.run(measure, 3)
        labels = campaign.read_ledger().quantity().labels
        assert [one.y for (one,) in labels.values()] == [99.0]


def test_two_people_run_the_same_campaign(tmp_path):
    store = f"sqlite:///{tmp_path}/two.db"
    with begin(store) as ann, begin(store, by="bo") as bo:
        for _ in range(6):
            assert ann.run(plain, 2, workers=2).labels == 2
            assert bo.run(plain, 3, workers=3).labels == 3
        assert ann.read_ledger().n_labels == 30
        assert is_true(ann)


def test_the_settings_say_when_to_stop():
    with begin(until="labels = 7") as campaign:
        assert campaign.run(plain, 40).reason == "target"
        assert campaign.read_ledger().n_labels == 7
        with pytest.raises(ValueError, match="cannot be sent"):
            campaign.run(lambda row: 1.0, 4, timeout=3)
        assert not campaign.read_ledger().leases


@pytest.mark.parametrize("how", [{}, {"workers": 3}])
def test_an_oracle_may_measure_several_quantities(how):
    def measure(row):
        return {"y": plain(row), "z": row["a"]} if row["b"] else {"z": row["a"]}

    settings = {"pool": POOL, "target": ["y", "z"], "by": "ann", "budget": 14}
    with weal.open_campaign("demo", "memory:", **settings) as campaign:
        run = campaign.run(measure, 30, until="best > 99", **how)
        assert (run.reason, run.labels, run.cost) == ("cost", 14, 14.0)
        ledger = campaign.read_ledger()
        assert ledger.quantity("z").n_labels == 14
        assert campaign.status().spending.spent == 14  # two labels of a row are one measurement
    learner = weal.ActiveLearner(POOL, target=["y", "z"])
    assert learner.run(measure, 12, until="best > 99", **how).labels == 12


def begin_several():
    types = {"crystals": "pass"}
    targets = ["y", "purity", "crystals"]
    return weal.open_campaign(
        "several", "memory:", pool=POOL, target=targets, types=types, by="ann"
    )


@pytest.mark.parametrize("how", [{}, {"workers": 3}])
@pytest.mark.parametrize("on_failure", ["raise", "skip", "fail"])
@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"y": 1.0, "yeild": 2.0}, "no quantity 'yeild'"),
        ({"y": 1.0, "crystals": "maybe"}, "write yes or no"),
        (3.5, "name them"),
    ],
)
def test_results_that_cannot_be_read_are_no_failed_runs(found, says, on_failure, how):
    with begin_several() as campaign:
        with pytest.raises(ValueError, match=says):
            campaign.run(lambda row: found, 5, on_failure=on_failure, **how)
        ledger = campaign.read_ledger()
        assert ledger.n_labels == 0
        assert not ledger.failures.labels
        assert not ledger.skipped


def test_of_several_results_those_that_are_there_are_told():
    nan = float("nan")
    with begin_several() as campaign:

        def oracle(row):
            known = row["a"] > 0.3
            return {"y": row["a"] if known else nan, "purity": None, "crystals": known or None}

        run = campaign.run(oracle, 12, on_failure="fail")
        labels = {name: own.labels for name, own in campaign.read_ledger().quantities.items()}
        failed = {one.id for one in run.failures}
        assert run.labels + len(failed) == 12
        assert failed == set(campaign.read_ledger().failures.labels)
        assert all(POOL["a"][name] <= 0.3 for name in failed)
        assert len(failed) > 0
        assert set(labels["y"]) == set(labels["crystals"]) != set()
        assert labels["purity"] == {}


def test_a_run_goes_on_where_another_person_told_the_row():
    with begin() as campaign:

        def oracle(name):
            campaign.tell(name, 99.0, by="bob")
            return 1.0

        run = campaign.run(oracle, 2, by_id=True, on_failure="fail")
        assert run.labels == 0
        assert "has the label 99.0 already" in run.failures[0].why
        labels = campaign.read_ledger().quantity().labels
        assert [told.y for rows in labels.values() for told in rows] == [99.0, 99.0]
        assert not campaign.read_ledger().failures.labels
