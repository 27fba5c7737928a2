"""Campaigns on a box: created from a TOML file or `weal.box`, and refined under its constraints."""

import json
import math

import pytest

import weal
from shell import typed
from weal.campaign import box_candidates

pandas = pytest.importorskip("pandas")
BOX = """
constraints = ["x1 + x2 <= 1", "x1*k <= 3", "solvent is not water"]

[inputs]
x1 = [0, 1]
x2 = { low = 0, high = 1, step = 0.02 }
k = { low = 1, high = 8, integer = true }
solvent = ["1", "THF", "water"]

[mixture]
parts = ["a", "b", "c"]
at_most = 2
"""


def allowed(row):
    parts = [row["a"], row["b"], row["c"]]
    return (
        0 <= row["x1"] <= 1 and row["x1"] + row["x2"] <= 1 + 1e-9 and row["x1"] * row["k"] <= 3
        and abs(row["x2"] * 50 - round(row["x2"] * 50)) < 1e-9 and row["k"] in range(1, 9)
        and row["solvent"] in ("1", "THF") and abs(sum(parts) - 1) < 1e-9
        and min(parts) >= 0 and sum(x > 0 for x in parts) <= 2
    )  # fmt: skip


def measured(row):
    return math.sin(3 * row["x1"]) + row["x2"] + row["k"] * row["a"] + (row["solvent"] == "THF")


def label(campaign, n):
    cells = campaign.read_session().pool.cells(campaign.ask(n))
    for name, row in cells.items():
        campaign.tell(name, measured(row))


def all_rows(campaign):
    columns = campaign.read_session().pool.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    (tmp_path / "inputs.toml").write_text(BOX)
    (tmp_path / "named.toml").write_text("[inputs]\nid = [0, 1]\nx = [0, 1]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_STORE", "sqlite:///box.db")


def test_a_campaign_of_the_shell_is_refined_under_its_constraints(store):
    code, out, err = typed("new", "mix", "--box", "inputs.toml", "--target", "y", "--rows", "300")
    assert code == 0, err
    assert "300 candidates" in out
    assert "constraint: x1 + x2 <= 1" in err
    assert "mixture: a + b + c = 1, at most 2 above 0" in err
    code, _, err = typed("refine", "mix")
    assert code == 2
    assert "refine needs a model" in err
    with weal.open_campaign("mix") as campaign:
        label(campaign, 12)
    code, out, _ = typed("refine", "mix", "-n", "100", "--json")
    assert code == 0
    assert json.loads(out) == {"added": [str(n) for n in range(301, 401)], "candidates": 400}
    with weal.open_campaign("mix") as campaign:
        rows = all_rows(campaign)
        assert len(rows) == 400
        assert [row["id"] for row in rows if not allowed(row)] == []
        assert len({tuple(row.values())[1:] for row in rows}) == 400
        label(campaign, 2)
        assert campaign.refine(7) == [str(n) for n in range(401, 408)]


def test_the_same_box_and_seed_give_the_same_campaign(store):
    for name, seed in (("one", "0"), ("two", "0"), ("other", "5")):
        assert typed("new", name, "--box", "inputs.toml", "--rows", "60", "--seed", seed)[0] == 0
    found = []
    for name in ("one", "two", "other"):
        with weal.open_campaign(name) as campaign:
            label(campaign, 12)
            campaign.refine(20)
            found.append(all_rows(campaign))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_frame_of_a_box_brings_its_constraints_into_campaign_and_learner(tmp_path):
    inputs = {"x1": (0, 1), "x2": (0, 1), "c": ["A", "B"]}
    pool = weal.box(inputs, n=120, constraint="x1 + x2 <= 1", mixture={"parts": ["a", "b", "d"]})

    def measure(row):
        return row["x1"] * 3 + row["a"]

    def violates(row):
        return row["x1"] + row["x2"] > 1 or abs(row["a"] + row["b"] + row["d"] - 1) > 1e-9

    with weal.open_campaign("demo", "memory:", pool=pool) as campaign:
        for name in campaign.ask(12):
            campaign.tell(name, measure(campaign.read_session().pool.cells([name])[name]))
        assert len(campaign.refine(100)) == 100
        assert sum(map(violates, all_rows(campaign))) == 0
    learner = weal.ActiveLearner(pool)
    learner.run(measure, 12)
    learner.refine(50)
    learner.save(tmp_path / "box.weal")
    again = weal.ActiveLearner.load(tmp_path / "box.weal")
    again.refine(100, constraint="x1 <= 0.5")
    rows = again.rows(range(120, 270)).to_dict("records")
    assert sum(map(violates, rows)) == 0
    assert all(row["x1"] <= 0.5 for row in rows[50:])


def test_a_campaign_from_a_table_says_how_rows_are_added(store):
    pandas.DataFrame({"t": range(30), "u": [n * n % 7 for n in range(30)]}).to_csv(
        "t.csv", index=False
    )
    assert typed("new", "plain", "--pool", "t.csv")[0] == 0
    code, _, err = typed("refine", "plain")
    assert code == 2
    assert "came from a table, not from a box" in err
    assert "weal add plain FILE" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--box", "inputs.toml", "--pool", "t.csv"), "give one of --pool and --box"),
        (("--pool", "t.csv", "--rows", "5"), "--rows belongs to --box"),
        ((), "or a box of inputs"),
        (("--box", "inputs.toml", "--id", "x1"), "leave out --id"),
        (("--box", "inputs.toml", "--target", "x1"), "is an input of the box"),
        (("--box", "inputs.toml", "--rows", "0"), "it needs a whole number from 1"),
        (("--box", "none.toml"), "there is no file none.toml"),
        (("--pool", "inputs.toml"), "is a box of inputs; write --box inputs.toml"),
        (("--box", "t.csv"), "is a table of candidates; write --pool t.csv"),
        (("--box", "named.toml"), "an input of the box is called 'id'"),
    ],
)
def test_options_that_do_not_go_together(store, words, says):
    code, _, err = typed("new", "wrong", *words)
    assert code == 2
    assert says in err
    assert "wrong" not in typed("list")[1]


def test_a_box_where_every_row_is_there_cannot_be_refined():
    pool = weal.box({"k": range(4), "m": range(4)}, n=16)
    learner = weal.ActiveLearner(pool, n_start=4)
    learner.run(lambda row: row["k"] - row["m"] ** 2, 8)
    with pytest.raises(ValueError, match="are new, and 5 are needed; ask for fewer"):
        learner.refine(5)


def test_two_people_refine_at_the_same_moment(tmp_path, monkeypatch):
    store = f"sqlite:///{tmp_path}/two.db"
    pool = weal.box({"x": (0, 1), "y": (0, 1)}, n=60, constraint="x + y <= 1")
    with (
        weal.open_campaign("demo", store, pool=pool, by="ann") as ann,
        weal.open_campaign("demo", store, by="bo") as bo,
    ):
        ann.run(lambda row: row["x"] - row["y"], 12)
        own = box_candidates.refine
        found = []

        def later(session, n, who):
            if who == "bo" and not found:  # ann is faster
                found.append(ann.refine(3))
            return own(session, n, who)

        monkeypatch.setattr(box_candidates, "refine", later)
        assert bo.refine(2) == ["64", "65"]
        assert found == [["61", "62", "63"]]
        assert ann.read_ledger().rows == 65
        assert sum(row["x"] + row["y"] > 1 for row in all_rows(ann)) == 0
