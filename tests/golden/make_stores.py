"""Golden stores: campaigns in SQLite files, in which everything happens that can happen."""

import csv
import shutil
import time

import numpy as np

import weal
from golden import reading
from golden.made_up import measured, points, smooth

ALWAYS = "1650w"  # a lease that ends in the year 2058, near the longest there is
KEY = "monday"  # a client's own, used for three labels of the alloys
AT_ONCE = 0.001  # seconds: a lease that has lapsed when anybody looks


def alloy_rows():
    """Sixty alloys of the sample table: those that were measured, and others."""
    from weal import samples

    with samples.path("alloys.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = [row for row in rows if row["hardness"]][:12]
    others = [row for row in rows if not row["hardness"]][:240:5]
    return known, others


def write_table(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def alloys(store, scratch):
    """People with a table of mixed columns: everything that can be written happens."""
    known, others = alloy_rows()
    tables = {
        "first": known + others[:32],
        "second": others[32:42],
        "third": [others[42] | {"hardness": "301.5"}, *others[43:]],
    }
    paths = {name: write_table(scratch / f"{name}.csv", rows) for name, rows in tables.items()}
    setting = {"id_column": "sample", "target": "hardness", "goal": 9.0, "lease": "2d", "seed": 11}
    campaign = weal.open_campaign("alloys", store, pool=paths["first"], by="ann", **setting)
    with campaign:
        tell_alloys(campaign, campaign.ask(4, by="bob"), key=KEY)
        campaign.add(paths["second"], by="bob")
        change_minds(campaign)
        campaign.change(goal=8.0, lease="3d", by="ann")
        tell_alloys(campaign, campaign.ask(2, check=True, by="ann"))
        campaign.add(paths["third"])
        tell_alloys(campaign, campaign.ask(3))
        campaign.status()
        leave_out(campaign)


def tell_alloys(campaign, ids, key=None):
    from weal.samples import alloys

    labels = alloys.measure(ids)
    campaign.tell(ids[0], labels[0], noise=2.5, note="surface a bit rough", by="cy")
    campaign.tell(ids[1:], labels[1:], key=key)


def change_minds(campaign):
    """A correction, a repeated measurement, labels and rows taken back, skipped and unskipped."""
    told = [one.id for one in campaign.ledger.told()]
    campaign.tell(told[0], 262.4, replace=True, note="typing error", by="cy")
    campaign.tell(told[-1], campaign.ledger.labels[told[-1]][0].y + 1.5, repeat=True, noise=2.0)
    campaign.withdraw(told[3], note="wrong sample")
    asked = campaign.ask(4)
    campaign.withdraw(asked[0])
    campaign.skip(asked[1], note="lost")
    campaign.skip(asked[2])
    campaign.unskip(asked[2])
    tell_alloys(campaign, asked[2:])


def leave_out(campaign):
    """Leave two rows with somebody, and one with somebody else, who has forgotten it.

    The first of them was out before: its first lease lapsed, so that it could be asked again.
    """
    for lease, n, by in ((AT_ONCE, 1, "bob"), (ALWAYS, 2, "cy"), (AT_ONCE, 1, "bob")):
        campaign.ask(n, lease=lease, by=by)
        time.sleep(0.05)


def numbers(store):
    """A table of numbers without ids; the labels have a long tail, and settings change."""
    import pandas

    X = points(30, 40, 3)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    y = np.round(np.exp(1.5 * measured(X, sd=0.05)), 3)
    setting = {"acquisition": "wvar", "n_start": 6, "seed": 5}
    with weal.open_campaign("numbers", store, pool=frame[:34], by="ann", **setting) as campaign:
        tell_numbers(campaign, y, campaign.ask(8))
        campaign.change(acquisition=["igs", "qbc"], by="bob")
        campaign.add(frame[34:])
        tell_numbers(campaign, y, campaign.ask(4))
        campaign.change(warp="asinh")
        tell_numbers(campaign, y, campaign.ask(1, check=True))
        tell_numbers(campaign, y, campaign.ask(5))
        campaign.status()
        leave_out(campaign)


def tell_numbers(campaign, y, ids):
    for name in ids:
        campaign.tell(name, y[int(name) - 1])


def begun(store):
    """A campaign that has too few labels for a model."""
    import pandas

    frame = pandas.DataFrame(points(31, 12, 2), columns=["a", "b"])
    with weal.open_campaign("begun", store, pool=frame, by="ann") as campaign:
        tell_numbers(campaign, smooth(points(31, 12, 2)), campaign.ask(2))
        leave_out(campaign)


def odd(store):
    """Ids of all sorts, and a label that no model can take, which is left aside."""
    import pandas

    X = points(32, 18, 2)
    ids = ["=1+1", "Ünïcödé №7", "with space", "x" * 300, *(f"r{k}" for k in range(14))]
    frame = pandas.DataFrame({"name": ids, "a": X[:, 0], "b": X[:, 1]})
    with weal.open_campaign("odd", store, pool=frame, id_column="name", by="ann") as campaign:
        for name, y in zip(ids[:10], measured(X)[:10], strict=True):
            campaign.tell(name, y)
        campaign.tell("r7", 1e300, note="who typed this?")
        campaign.tell("r8", 1e300)
        campaign.tell("r8", 0.75, replace=True)
        campaign.status()
        leave_out(campaign)


STORES = {"campaigns.db": ("alloys", "numbers"), "more.db": ("begun", "odd")}


def make_stores(folder, scratch):
    path = folder / "campaigns.db"
    alloys(f"sqlite:///{path}", scratch)
    numbers(f"sqlite:///{path}")
    begun(f"sqlite:///{folder / 'more.db'}")
    odd(f"sqlite:///{folder / 'more.db'}")
    for name, campaigns in STORES.items():
        cases = {each: campaign_case(folder / name, each, scratch) for each in campaigns}
        yield name, cases


def campaign_case(path, name, scratch):
    """What is asked of a campaign, and what 0.1.0 answered, on copies of the store."""

    def opened():
        return reading.opened(shutil.copy(path, scratch / "copy.db"), name)

    with opened() as campaign:
        ids = [one.id for one in campaign.ledger.told()][1:3]
        pool = campaign.to_frame("predictions")["id"].tolist()
        ids = list(dict.fromkeys([*ids, *pool[3::4]]))[:5]
        case = {"ids": ids, "loaded": reading.campaign_says(campaign, ids)}
    with opened() as campaign:
        case["status"] = reading.status_says(campaign)
    with opened() as campaign:
        case["checks"] = campaign.ask(2, check=True)
    with opened() as campaign:
        case["asks"] = campaign.ask(2)
        case["tells"] = [case["asks"][0], _near_the_others(campaign)]
        campaign.tell(*case["tells"])
        case["asks after"] = campaign.ask(2)
        predictions = campaign.to_frame("predictions").set_index("id").loc[ids]
        case["after"] = {name: reading.plain(predictions[name].tolist()) for name in ("mean", "sd")}
    with opened() as campaign:
        keyed = [event for event in campaign.events() if event.key]
        if keyed:
            case["keyed"] = {
                "key": KEY,
                "ids": [event.id for event in keyed],
                "labels": [event.body["y"] for event in keyed],
                "event": keyed[-1].seq,
            }
    return case


def _near_the_others(campaign):
    """A label for a row: the median of those that there are."""
    return float(np.median([one.y for one in campaign.ledger.told()]))
