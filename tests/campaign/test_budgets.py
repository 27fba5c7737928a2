"""The cost budget of a campaign: counted, shown, kept by `run`, and said by `ask`."""

import json

import pandas
import pytest
from numpy.testing import assert_allclose

import weal
from shell import typed

POOL = pandas.DataFrame(
    {"temp": [20.0 + 7 * k % 90 for k in range(30)], "hours": [0.5 + k % 5 for k in range(30)]},
    index=[f"s{k}" for k in range(30)],
)


def measure(row):
    return row["temp"] / 30


def begin(**settings):
    return weal.open_campaign("demo", "memory:", pool=POOL, target="y", by="ann", **settings)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_spends_the_budget_and_not_more(workers):
    with begin(cost="hours", budget=20) as campaign:
        run = campaign.run(measure, 30, workers=workers)
        told = campaign.read_ledger().quantity().labels
        spent = sum(POOL["hours"][name] for name in told)
        assert run.reason == "cost"
        assert run.labels == len(told)
        assert_allclose(run.cost, spent)
        assert 15 < spent <= 20
        assert not campaign.read_ledger().leases  # what was not measured was given back
        status = campaign.status()
        assert_allclose([status.spending.spent, status.spending.out], [spent, 0.0])
        assert f"budget           {spent:g} of 20 (hours) spent" in "\n".join(status.lines())
        assert campaign.run(measure, 30).labels <= 2
        campaign.change(budget=None)
        assert campaign.status().spending is None
        assert campaign.run(measure, 2).reason == "budget"


def test_what_counts_and_what_does_not():
    table = POOL.assign(y=[measure(row) for row in POOL[:2].to_dict("records")] + [None] * 28)
    with weal.open_campaign("demo", "memory:", pool=table, target="y", by="ann", budget=5) as one:
        assert one.status().spending.spent == 0  # labels of the table were there before
        one.tell("s2", 1.1)
        one.tell("s2", 1.15, repeat=True)
        one.fail("s3", note="stirrer")
        one.tell("s4", 1.0)
        one.withdraw("s4")
        one.skip("s5")
        assert one.status().spending.spent == 3  # a label, its repeat, a failure
        with pytest.warns(
            UserWarning, match="used up: 3 of 5 labels spent, 3 more by rows"
        ) as seen:
            one.ask(3)
        assert "weal settings demo --budget NUMBER" in str(seen[0].message)
        assert one.run(measure, 5).reason == "cost"  # the rows that are out have its rest
        one.withdraw([row.id for row in one.asked()])
        assert one.run(measure, 5).labels == 2
        assert one.status().advice.startswith("Stop: the budget is used up, 5 of 5 labels spent.")


def test_the_shell_knows_the_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_STORE", "sqlite:///b.db")
    POOL.to_csv("pool.csv", index_label="id")
    new = ("new", "demo", "--pool", "pool.csv", "--id", "id", "--cost", "hours", "--budget")
    for wrong in ("0", "-3", "much", "1,5", "inf"):
        code, _, err = typed(*new, wrong)
        assert code == 2, wrong
        assert "budget" in err
    assert typed(*new, "3")[0] == 0
    code, _, err = typed("ask", "demo", "-n", "8")
    assert code == 0
    assert "the budget is used up" in err
    found = json.loads(typed("status", "demo", "--json")[1])["spending"]
    assert (found["budget"], found["spent"], found["unit"]) == (3.0, 0.0, "hours")
    assert found["out"] > 3
    assert typed("settings", "demo", "--budget", "none")[0] == 0
    assert json.loads(typed("status", "demo", "--json")[1])["spending"] is None


def test_old_campaigns_have_no_budget():
    with begin() as campaign:
        assert campaign.read_ledger().settings["budget"] is None
        ledger = campaign.read_ledger()
        ledger.settings.pop("budget")  # as in a store of weal 0.2
        assert campaign.status().spending is None
        campaign.ask(3)
