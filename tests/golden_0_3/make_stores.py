"""The golden store of 0.3: campaigns in a SQLite file with what 0.2 could not write."""

import shutil
import time

import weal
from golden_0_2.make_stores import LONG_LEASE, SHORT_LEASE
from golden_0_2.reading import read_asks, read_out, weal_json
from golden_0_2.rows import board_rows, board_strength, comma, points, write_csv
from golden_0_3 import reading

TARGETS = ["strength [MPa]", "grade", "straight"]
BOX = """
constraints = ["heat + 2*hours <= 240"]

[inputs]
heat = [20, 200]
hours = { low = 1, high = 60, scale = "log" }
cycles = { low = 1, high = 8, integer = true }

[mixture]
parts = ["water", "ethanol", "glycerol"]
sum = 1
"""


def board_results(row):
    """What is measured of a board: strength, grade, straight."""
    strength = round(board_strength(row), 2)
    grade = "low" if strength < 65 else "medium" if strength < 80 else "high"
    return {"strength": strength, "grade": grade, "straight": "no" if strength < 60 else "yes"}


def boards(store, scratch):
    """Three quantities, a goal with conditions, and everything that can happen to a result."""
    rows = board_rows(0, 36)
    found = {row["board"]: board_results(row) for row in rows}
    inputs = [{key: row[key] for key in row if key not in ("grade", "planed")} for row in rows]
    for k, row in enumerate(inputs):
        known = found[row["board"]] if k < 4 else {}
        row |= {target: "" for target in TARGETS}
        if known:
            row |= {"strength [MPa]": comma(known["strength"], 2), "grade": known["grade"]}
    with weal.open_campaign(
        "boards", store, pool=write_csv(scratch / "boards.csv", inputs), id_column="board",
        target=TARGETS, by="ann", seed=7, lease="2d",
        types={"felled": "day-first", "grade": "ordered:low,medium,high", "straight": "pass"},
        missing={"moisture [%]": ["<0,5"]}, ranges={TARGETS[0]: (0.0, 200.0)},
        goal="maximise strength", subject_to=["straight is yes", "grade >= medium"],
    ) as campaign:  # fmt: skip
        for name in campaign.ask(8, key="monday"):
            campaign.tell(name, found[name], by="cy")
        change_results(campaign, found)
        campaign.change(goal="above 80 strength", subject_to=["straight is yes"], by="bob")
        campaign.change(title="Boards under load", by="bob")
        sheet = campaign.worksheet(campaign.ask(2, lease=LONG_LEASE), scratch / "sheet.csv")
        campaign.status()
        campaign.ask(1, lease=SHORT_LEASE, by="bob")
        time.sleep(0.05)
    return sheet


def change_results(campaign, found):
    """Failures, accidents, corrections, repeats and withdrawals of one quantity."""
    told = [event.id for event in campaign.events() if event.kind == "told"]
    asked = campaign.ask(5)
    campaign.fail(asked[0], note="cracked", by="cy")
    campaign.fail(asked[1], accident=True, note="power cut")
    campaign.fail(asked[2])
    campaign.tell(asked[2], found[asked[2]])  # it worked later
    campaign.tell(asked[3], {"strength": found[asked[3]]["strength"]}, noise={"strength": 1.5})
    campaign.tell(asked[4], found[asked[4]], note="weighed twice", key="friday")
    campaign.tell(asked[4], {"strength": found[asked[4]]["strength"] + 1.0}, repeat=True)
    campaign.tell(told[-1], {"grade": "high"}, replace=True, note="typing error")
    campaign.withdraw(told[-4], quantity="straight", note="wrong board")


def blend(store, scratch):
    """The candidates of a box, some of them refined; a goal that learns until an error."""
    (scratch / "inputs.toml").write_text(BOX, encoding="utf-8")
    place = ("--store", store, "--by", "ann")
    words = ("--box", scratch / "inputs.toml", "--rows", "40", "--target", "viscosity")
    weal_json("new", *place, "blend", *words, "--until", "error < 0.5")
    with weal.open_campaign("blend", store, by="ann") as campaign:
        for name in campaign.ask(10):
            row = weal_json("show", "--store", store, "blend", name)["row"]
            campaign.tell(name, round(0.02 * float(row["heat"]) + 3.0 * float(row["glycerol"]), 3))
        campaign.refine(3)
        campaign.status()


def sorts(store):
    """Classes, of which one was added later; archived."""
    import polars

    X = points(60, 24, 2)
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    with weal.open_campaign(
        "sorts", store, pool=frame, target="form", types={"form": "classes:needle,plate"}, by="ann"
    ) as campaign:
        for name in campaign.ask(8):
            campaign.tell(name, "needle" if X[int(name) - 1, 0] > 0.2 else "plate")
        campaign.add_words("form", "powder")
        campaign.tell(campaign.ask(), "powder")
        campaign.archive()


def make_store(folder, scratch):
    """Write the store and the worksheet; yields each campaign and what must come out."""
    path = folder / "campaigns.db"
    store = f"sqlite:///{path}"
    shutil.copy(boards(store, scratch), folder / "worksheet.csv")
    blend(store, scratch)
    sorts(store)
    rights = ("--may", "ask,tell", "--campaign", "boards")
    weal_json("token", "add", "robot-1", *rights, "--store", store)
    for name in ("boards", "blend", "sorts"):
        yield name, campaign_case(path, name, scratch)


def campaign_case(path, name, scratch):
    """The questions that the test asks of a campaign, and the answers of 0.3, on copies."""

    def copied():
        return shutil.copy(path, scratch / "copy.db")

    return {
        "written": reading.read_campaign(copied(), name),
        "out": read_out(copied(), name),
        "beliefs": reading.read_beliefs(copied(), name),
        "asks": read_asks(copied(), name, "-n", "2") if name != "sorts" else None,  # archived
    }
