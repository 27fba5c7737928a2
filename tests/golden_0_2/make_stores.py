"""Golden stores of 0.2: campaigns in SQLite files with every kind of event that 0.2 writes."""

import shutil
import time
import warnings

import numpy as np

import weal
from golden_0_2 import reading
from golden_0_2.make_pools import FILES, pool_label
from golden_0_2.rows import (
    additive,
    board_rows,
    board_strength,
    comma,
    measure,
    points,
    write_csv,
)

LONG_LEASE = "1650w"  # ends in the year 2058, near the longest there is
SHORT_LEASE = 0.001  # seconds: has lapsed when anybody looks
TARGET = "strength [MPa]"


def boards(store, scratch):
    """A table as people have it, an error goal, costs; labels come in every way there is."""
    rows = board_rows(0, 46)
    strength = {row["board"]: round(board_strength(row), 2) for row in rows}
    for k, row in enumerate(rows):
        row[TARGET] = comma(strength[row["board"]], 2) if k < 5 else ""
    first = write_csv(scratch / "boards.csv", rows[:38])
    second = write_csv(scratch / "more.csv", rows[38:])
    with weal.open_campaign(
        "boards", store, pool=first, id_column="board", target=TARGET, by="ann",
        types={"felled": "day-first", "grade": "ordered:low,medium,high"},
        missing={"moisture [%]": ["<0,5"]}, goal=6.0, lease="2d", cost="price", seed=11,
    ) as campaign:  # fmt: skip
        tell_boards(campaign, strength, campaign.ask(4, by="bob", key="monday"), key="tuesday")
        campaign.add(second, by="bob")
        change_labels(campaign, strength)
        campaign.change(goal=4.0, lease="3d", warp="off", by="ann")
        tell_boards(campaign, strength, campaign.ask(2, check=True, by="ann"))
        tell_results_file(campaign, strength, scratch)
        worksheet = campaign.worksheet(campaign.ask(2, lease=LONG_LEASE), scratch / "sheet.csv")
        campaign.status()
        leave_out(campaign)
    return worksheet


def tell_boards(campaign, strength, ids, key=None):
    campaign.tell(ids[0], strength[ids[0]], noise=1.5, note="surface a bit rough", by="cy")
    campaign.tell({name: strength[name] for name in ids[1:]}, key=key)


def change_labels(campaign, strength):
    """Correction, repeat, confirmation, withdrawal, skip and unskip."""
    told = campaign.to_frame("labels")["id"].tolist()
    campaign.tell(told[0], strength[told[0]] - 1.25, replace=True, note="typing error", by="cy")
    campaign.tell(told[-1], strength[told[-1]] + 0.75, repeat=True, noise=2.0)
    campaign.tell(told[1], strength[told[1]], sure=True)
    campaign.withdraw(told[3], note="wrong board")
    asked = campaign.ask(4)
    campaign.withdraw(asked[0])
    campaign.skip(asked[1], note="lost")
    campaign.skip(asked[2])
    campaign.unskip(asked[2])
    campaign.tell(asked[2], strength[asked[2]], sure=True, note="weighed twice")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is far from what was expected
        campaign.tell(asked[3], round(10.0 * strength[asked[3]], 1))


def tell_results_file(campaign, strength, scratch):
    """A results file with values, noise, notes, an empty line and measurements that failed."""
    ids = campaign.ask(6, lease=LONG_LEASE)
    cells = [comma(strength[ids[0]], 2), comma(strength[ids[1]], 2), "failed", "n/a", "-", ""]
    rows = [
        {"board": name, TARGET: cell, "noise": "0,8" if k == 1 else "", "note": f"run {k}"}
        for k, (name, cell) in enumerate(zip(ids, cells, strict=True))
    ]
    campaign.tell_file(write_csv(scratch / "results.csv", rows), by="cy", key="results of may")


def leave_out(campaign):
    """Rows out with two people; one of them was out before, and one lease has lapsed."""
    for lease, n, by in ((SHORT_LEASE, 1, "bob"), (LONG_LEASE, 2, "cy"), (SHORT_LEASE, 1, "bob")):
        campaign.ask(n, lease=lease, by=by)
        time.sleep(0.05)


def tail(store):
    """No ids, labels with a long tail that are warped once there are thirty, settings changed."""
    import pandas

    X = points(30, 44, 2)
    y = np.round(np.exp(1.5 * measure(X, seed=30, sd=0.05)), 3)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    setting = {"acquisition": "wvar", "n_start": 6, "seed": 5}
    with weal.open_campaign("tail", store, pool=frame[:40], by="ann", **setting) as campaign:
        tell_numbered(campaign, y, campaign.ask(8))
        campaign.change(acquisition=["igs", "qbc"], by="bob")
        campaign.add(frame[40:])
        tell_numbered(campaign, y, campaign.ask(12))
        campaign.change(acquisition="auto", outliers=False)
        tell_numbered(campaign, y, campaign.ask(1, check=True))
        tell_numbered(campaign, y, campaign.ask(12))
        campaign.ask(1, lease=SHORT_LEASE)
        campaign.status()
        leave_out(campaign)


def tell_numbered(campaign, y, ids):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tail is far from the other labels
        for name in ids:
            campaign.tell(name, y[int(name) - 1])


def early(store):
    """Too few labels for a model; the campaign is removed from the list."""
    import pandas

    frame = pandas.DataFrame(points(31, 12, 2), columns=["a", "b"])
    with weal.open_campaign("early", store, pool=frame, by="ann") as campaign:
        tell_numbered(campaign, measure(points(31, 12, 2)), campaign.ask(2))
        leave_out(campaign)
        campaign.hide()


def odd(store):
    """Ids of all sorts, and a label that no model can take."""
    import pandas

    X = points(32, 18, 2)
    ids = ["=1+1", "Ünïcödé №7", "with space", "x" * 300, *(f"r{k}" for k in range(14))]
    frame = pandas.DataFrame({"name": ids, "a": X[:, 0], "b": X[:, 1]})
    with weal.open_campaign("odd", store, pool=frame, id_column="name", by="ann") as campaign:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, y in zip(ids[:10], measure(X)[:10], strict=True):
                campaign.tell(name, y)
            campaign.tell("r7", 1e300, note="who typed this?")
            campaign.tell("r8", 1e300)
            campaign.tell("r8", 0.75, replace=True)
        campaign.ask(1, lease=SHORT_LEASE)
        campaign.status()
        leave_out(campaign)


def sums(store):
    """An additive function of five inputs, for which ANOVA and ARD experts are kept."""
    import pandas

    X = points(33, 40, 5)
    y = measure(X, seed=33, sd=0.02, function=additive)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    with weal.open_campaign("sums", store, pool=frame, by="ann", seed=3) as campaign:
        tell_numbered(campaign, y, campaign.ask(10))
        tell_numbered(campaign, y, campaign.ask(16))
        campaign.ask(1, lease=SHORT_LEASE)
        campaign.status()
        leave_out(campaign)


def shards(store, folder):
    """Candidates in Parquet files; a third file is added; experts are kept in a snapshot."""
    files = [str(folder / name) for name in FILES]
    pool = weal.open_pool(files[:2], id_column="sample")
    with weal.open_campaign(
        "shards", store, pool=pool, id_column="sample", target="y", by="ann", goal=0.2, seed=2
    ) as campaign:
        for name in campaign.ask(7):
            campaign.tell(name, pool_label(name))
        campaign.add(files[2])
        for name in campaign.ask(5, by="bob"):
            campaign.tell(name, pool_label(name), noise=0.1)
        campaign.skip(campaign.ask(1)[0], note="not in the oven")
        campaign.status()
        leave_out(campaign)


STORES = {
    "campaigns.db": ("boards", "tail"),
    "backup.db": ("early", "odd", "sums"),
    "shards.db": ("shards",),
}


def make_stores(folder, scratch):
    """Write the stores; yields each name and what must come out."""
    sheet = boards(f"sqlite:///{folder / 'campaigns.db'}", scratch)
    shutil.copy(sheet, folder / "worksheet.csv")
    tail(f"sqlite:///{folder / 'campaigns.db'}")
    original = scratch / "original.db"
    for make in (early, odd, sums):
        make(f"sqlite:///{original}")
    reading.weal_json("backup", "--store", f"sqlite:///{original}", folder / "backup.db")
    shards(f"sqlite:///{folder / 'shards.db'}", folder)
    for name, campaigns in STORES.items():
        yield name, {each: campaign_case(folder / name, each, scratch) for each in campaigns}


def campaign_case(path, name, scratch):
    """The questions that the test asks of a campaign, and the answers of 0.2, on copies."""

    def copied():
        return shutil.copy(path, scratch / "copy.db")

    with weal.open_campaign(name, f"sqlite:///{copied()}", by="dan") as campaign:
        pool = campaign.to_frame("predictions")["id"].tolist()
        told = campaign.to_frame("labels")["id"].tolist()
        ids = list(dict.fromkeys([*told[:3], *told[-2:], *pool[3::9]]))[:9]
        value = round(float(campaign.to_frame("labels")["label"].median()), 3)
    case = {"ids": ids, "written": reading.read_campaign(copied(), name, ids)}
    case["predictions"] = reading.read_predicted(copied(), name, ids)
    case["status"] = reading.read_status(copied(), name)
    case["checks"] = reading.read_asks(copied(), name, "--check", "2")
    case["out"] = reading.read_out(copied(), name)
    store = copied()
    case["asks"] = reading.read_asks(store, name, "-n", "2")
    case["tells"] = [case["asks"][0]["id"], value]
    place = ("--store", f"sqlite:///{store}", "--by", "dan")
    reading.weal_json("tell", *place, name, *case["tells"])
    case["asks after"] = reading.read_asks(store, name, "-n", "2")
    case["predictions after"] = reading.read_predicted(store, name, ids)
    log = case["written"]["log"]
    case["keys"] = {
        key: [event["seq"] for event in log if event["key"] == key]
        for key in dict.fromkeys(event["key"] for event in log)
        if key
    }
    return case
