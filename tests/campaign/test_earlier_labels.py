"""A campaign that begins with the labels of an earlier one."""

import numpy as np
import pandas as pd
import pytest

import weal
from shell import typed
from weal.campaign.earlier_labels import read_earlier
from weal.errors import UnknownCampaign


def table(seed, n=120):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(rng.uniform(0.0, 1.0, (n, 3)), columns=["u", "v", "w"])
    made.insert(0, "sample", [f"{seed}-{k}" for k in range(n)])
    made["solvent"] = rng.choice(["THF", "DMF"], n)
    return made


def truth(row):
    return float(np.sin(6.0 * row.u) * np.cos(4.0 * row.v) + row.w + 0.5 * (row.solvent == "THF"))


@pytest.fixture
def earlier(tmp_path):
    rows = table(1)
    store = f"sqlite:///{tmp_path}/weal.db"
    rows["yield"] = [truth(row) for row in rows.itertuples()]
    with weal.open_campaign(
        "first", store, pool=rows, id_column="sample", target="yield"
    ) as campaign:
        yield store, campaign


def test_the_labels_of_the_earlier_campaign_are_a_source(earlier):
    store, _ = earlier
    rows = table(2)
    with weal.open_campaign(
        "second", store, pool=rows, id_column="sample", like="first", target="strength"
    ) as campaign:
        alone = weal.open_campaign("alone", store, pool=rows, id_column="sample", target="strength")
        for row in rows[:20].itertuples():
            for one in (campaign, alone):
                one.tell(row.sample, 300.0 * truth(row) + 40.0 * row.u)
        assert campaign.read_ledger().n_labels == 20
        (body,) = campaign.read_ledger().earlier
        assert (body["campaign"], len(body["y"])) == ("first", 120)
        assert body["quantity"]["name"] == "yield (first)"
        y = np.array([300.0 * truth(row) + 40.0 * row.u for row in rows.itertuples()])
        errors = []
        for one in (campaign, alone):
            mean = one.to_frame("predictions")["mean"].to_numpy()
            errors.append(np.sqrt(np.mean((mean[20:] - y[20:]) ** 2)))
        alone.close()
        assert errors[0] < 0.6 * errors[1]
        assert campaign.ask(3)


def test_the_targets_are_those_of_the_earlier_campaign_unless_named(earlier):
    store, _ = earlier
    with weal.open_campaign(
        "second", store, pool=table(2), id_column="sample", like="first"
    ) as campaign:
        assert list(campaign.read_ledger().quantities) == ["yield"]
        campaign.tell("2-0", 0.5)
        assert campaign.read_ledger().n_labels == 1


def test_what_does_not_fit_is_refused_and_nothing_is_written(earlier):
    store, campaign = earlier
    other = table(2).assign(pressure=1.0 + np.arange(120.0))
    with pytest.raises(ValueError, match=r"no column 'pressure'.*--like"):
        weal.open_campaign("second", store, pool=other, id_column="sample", like="first")
    with pytest.raises(UnknownCampaign):
        weal.open_campaign("second", store, pool=table(2), id_column="sample", like="fist")
    empty = weal.open_campaign("empty", store, pool=table(2), id_column="sample")
    with empty, pytest.raises(ValueError, match="has no labels yet"):
        read_earlier(empty)
    assert "second" not in campaign.store.campaigns()


def test_the_shell_says_what_is_known(earlier, tmp_path):
    store, _ = earlier
    table(3).to_csv(tmp_path / "rows.csv", index=False)
    found = typed(
        "new", "second", "--pool", str(tmp_path / "rows.csv"), "--id", "sample",
        "--like", "first", "--store", store,
    )  # fmt: skip
    assert found.code in (0, None), found.err
    assert "120 labels of first: yield (first)" in found.out + found.err


def test_status_names_the_source(earlier):
    store, _ = earlier
    rows = table(2)
    with weal.open_campaign("second", store, pool=rows, id_column="sample", like="first") as found:
        for row in rows[:20].itertuples():
            found.tell(row.sample, truth(row))
        assert "source         yield (first): its predictions" in str(found.status())
