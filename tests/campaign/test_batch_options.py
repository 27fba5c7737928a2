"""Batches with options in a campaign: one transaction, keys, events, files, and two people."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import weal
from shell import typed
from weal.campaign.batch_rules import RETURN_NOTE
from weal.errors import AlreadyLabelled, Conflict, Exhausted, ReusedKey, UnknownId

ROWS = 72


def plates(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "temp": rng.choice([40, 60, 90], rows), "solvent": rng.choice(["DMF", "MeOH", "THF"], rows),
        "a": rng.uniform(size=rows).round(4), "b": rng.uniform(size=rows).round(4),
    }, index=[f"p{n:02}" for n in range(rows)])  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return plates()


def open_plates(url, table, labels=14, **more):
    found = weal.open_campaign("plates", url, pool=table, target="yield", by="ann", **more)
    for name, row in table.iloc[:labels].iterrows():
        found.tell(name, float(np.sin(row.temp / 30) * row.a + row.b))
    return found


def bodies(found, kind="asked"):
    return [event.body for event in found.store.read("plates", 0) if event.kind == kind]


def test_a_plate_has_one_temperature_and_its_event_says_so(url, table):
    with open_plates(url, table) as one:
        batch = one.ask(6, same="temp", at_most={"solvent": 2}, where="a<0.9")
        rows = table.loc[batch]
        assert rows.temp.nunique() == 1
        assert rows.solvent.nunique() <= 2
        assert (rows.a < 0.9).all()
        first, *others = bodies(one)
        options = {"same": ["temp"], "at_most": {"solvent": 2}, "where": "a < 0.9"}
        assert first["ask"]["options"] == options
        assert first["v"] == 1  # weal 0.2 reads it
        assert not any("ask" in body for body in others)
        one.ask(1)
        assert "options" not in bodies(one)[-1]["ask"]


def test_a_replay_gives_the_state_of_the_live_run(shared_url, table):
    with open_plates(shared_url, table) as one:
        first = one.ask(4, same="temp")
        one.ask(instead_of=first[:2], where="solvent is THF")
        live = one.read_session().state
        with weal.open_campaign("plates", shared_url, by="bo") as other:
            again = other.read_session().state
        assert list(live.asked) == list(again.asked)
        np.testing.assert_array_equal(live.log_omega, again.log_omega)
        assert one.ask(5, same="temp", key="K") == one.ask(5, same="temp", key="K")


def test_a_key_belongs_to_the_options(url, table):
    with open_plates(url, table, labels=0) as one:
        first = one.ask(3, same="temp", where="a < 0.9", key="K")
        assert one.ask(3, same=["temp"], where="a<0.9", key="K") == first
        head = one.store.head("plates")
        for options in (
            {},
            {"same": "solvent", "where": "a < 0.9"},
            {"same": "temp"},
            {"same": "temp", "where": "a < 0.8"},
            {"same": "temp", "where": "a < 0.9", "at_most": {"solvent": 2}},
            {"same": "temp", "where": "a < 0.9", "rows": ["p50"]},
            {"same": "temp", "where": "a < 0.9", "instead_of": first[0]},
        ):
            with pytest.raises(ReusedKey, match=r"with one temp, where a < 0\.9"):
                one.ask(3, key="K", **options)
        assert one.store.head("plates") == head
        back = one.ask(instead_of=first[0], key="L")
        assert one.ask(instead_of=first[0], key="L") == back  # a retry: the row is back already
        with pytest.raises(ReusedKey, match="instead of"):
            one.ask(1, key="L")


def test_rows_are_replaced_in_one_transaction(url, table):
    with open_plates(url, table) as one:
        first = one.ask(3)
        before = one.store.head("plates")[0]
        other = one.ask(2, instead_of=first[0])
        events = one.store.read("plates", before)
        assert [(event.kind, event.id) for event in events] == [
            ("withdrawn", first[0]), ("asked", other[0]), ("asked", other[1]),
        ]  # fmt: skip
        assert events[0].body["note"] == RETURN_NOTE
        assert {row.id for row in one.asked()} == {*first[1:], *other}
        head = one.store.head("plates")
        with pytest.raises(Exhausted, match="no row satisfies"):
            one.ask(instead_of=first[1], where="a < -1")
        assert one.store.head("plates") == head  # the lease is as it was
        with pytest.raises(ValueError, match="is out with ann, not with bo"):
            one.ask(instead_of=first[1], by="bo")
        with pytest.raises(ValueError, match="not out"):
            one.ask(instead_of=first[0])
        with pytest.raises(UnknownId):
            one.ask(rows=["none"])
        assert one.store.head("plates") == head


def test_a_repeat_that_is_replaced_keeps_its_label(url, table):
    with open_plates(url, table, labels=20) as one:
        one.change(goal="best 3")
        assert one.ask_for(["p60"]) == ["p60"]
        one.ask(instead_of="p60")
        assert one.read_ledger().n_labels == 20


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"rows": ["p00"]}, AlreadyLabelled, "labelled already"),
        ({"rows": ["p40"], "where": "a > 1"}, ValueError, "does not satisfy where"),
        ({"rows": ["p70"]}, ValueError, "skipped"),
        ({"rows": ["p71"]}, Conflict, "is out with ann"),
        ({"same": "tmp"}, ValueError, "did you mean temp"),
        ({"same": "yield"}, ValueError, "'yield' is a result"),
        ({"where": "yield > 3"}, ValueError, "'yield' is a result"),
        ({"where": "solvent is TFH"}, ValueError, "did you mean THF"),
        ({"where": "a < 0,5"}, ValueError, "0.5"),
        ({"where": "temp < 90'; drop table events; --"}, ValueError, "where"),
        ({"same": "a", "n": 2}, Exhausted, "every row has a different value"),
        ({"same": "temp", "n": 40}, Exhausted, "--at-most temp=2"),
        ({"same": "temp", "check": True}, ValueError, "at random"),
        ({"at_most": {"temp": -1}}, ValueError, "at least 1"),
    ],
)  # fmt: skip
def test_mistakes_write_nothing(table, options, error, words):
    with open_plates("memory:", table) as one:
        one.skip("p70")
        one.ask_for(["p71"])
        head = one.store.head("plates")
        with pytest.raises(error, match=words):
            one.ask(**{"n": 3, **options})
        assert one.store.head("plates") == head


def test_two_people_never_have_one_row(shared_url, table):
    with open_plates(shared_url, table):
        pass

    def ask(who):
        with weal.open_campaign("plates", shared_url, by=who) as own:
            found = [own.ask(4, same="temp", where="a < 0.95") for _ in range(2)]
            last = own.ask(2, instead_of=found[0][:2])
            return [*found[0][2:], *found[1], *last]

    with ThreadPoolExecutor(3) as people:
        each = list(people.map(ask, ["ann", "bo", "cy"]))
    rows = [name for names in each for name in names]
    assert len(rows) == len(set(rows)) == 24
    with weal.open_campaign("plates", shared_url) as one:
        assert {row.id for row in one.asked()} == set(rows)


def test_a_pool_in_files(url, table, tmp_path):
    many = pd.concat([plates(400, seed) for seed in (1, 2)], ignore_index=True)
    many.insert(0, "id", [f"q{n:03}" for n in range(len(many))])
    many[:400].to_parquet(tmp_path / "a.parquet")
    many[400:].to_parquet(tmp_path / "b.parquet")
    many = many.set_index("id")
    with weal.open_campaign(
        "files", url, pool=str(tmp_path / "*.parquet"), id_column="id", target="yield", by="ann"
    ) as one:
        for labels in (0, 16):
            for name, row in many.iloc[:labels].iterrows():
                one.tell(name, float(np.sin(row.temp / 30) * row.a + row.b))
            batch = one.ask(8, same="temp", at_most={"solvent": 2}, where="a < 0.8")
            rows = many.loc[batch]
            assert len(set(batch)) == 8
            assert rows.temp.nunique() == 1
            assert rows.solvent.nunique() <= 2
            assert (rows.a < 0.8).all()
        assert one.ask(2, rows=["q700"], instead_of=batch[0])[0] == "q700"


def test_the_command(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_STORE", "sqlite:///lab.db")
    table.rename_axis("id").to_csv("plates.csv")
    assert typed("new", "plates", "--pool", "plates.csv", "--target", "yield").code == 0
    done = typed("ask", "plates", "-n", "4", "--same", "temp", "--at-most", "solvent=2",
                 "--where", "a < 0.9", "--row", "p07", "--by", "ann", "--json")  # fmt: skip
    ids = [row["id"] for row in json.loads(done.out)]
    assert ids[0] == "p07"
    assert set(table.temp[ids]) == {table.temp["p07"]}
    assert table.solvent[ids].nunique() <= 2
    done = typed("ask", "plates", "--instead-of", "p07", "--by", "ann", "--json")
    assert [row["id"] for row in json.loads(done.out)] != ["p07"]
    both = ["--where", "a < 0.9", "--where", "temp > 60"]  # neither is dropped
    done = typed("ask", "plates", "-n", "3", *both, "--by", "ann", "--json")
    ids = [row["id"] for row in json.loads(done.out)]
    assert (table.a[ids] < 0.9).all()
    assert (table.temp[ids] > 60).all()
    for words, said in [
        (["--at-most", "solvent"], "--at-most solvent=4"),
        (["--where", "solvent is TFH"], "did you mean THF"),
        (["--check", "2", "--same", "temp"], "use it in a separate command"),
        (["--again", "--same", "temp"], "--again shows"),
        (["--instead-of", "p07"], "not out"),
    ]:
        done = typed("ask", "plates", *words, "--by", "ann")
        assert done.code not in (0, None)
        assert said in done.complaint
    assert typed("ask", "plates", "-n", "60", "--same", "temp").code == 3


def test_a_campaign_on_a_box_draws_rows_with_a_shared_value(tmp_path):
    path = tmp_path / "box.toml"
    path.write_text("[inputs]\ntemp = [20, 200]\ntime = [1, 9]\n")
    with weal.open_campaign("box", "memory:", pool=weal.box(path, n=60), by="ann") as one:
        rows = one.read_ledger().rows
        batch = one.ask(6, same="temp", key="K")
        assert one.read_ledger().rows > rows
        cells = pd.DataFrame([row.row for row in one.asked()])
        assert cells.temp.nunique() == 1
        assert cells.time.nunique() == 6
        assert one.ask(6, same="temp", key="K") == batch
        rows = one.read_ledger().rows
        one.ask(6, same="temp")
        assert one.read_ledger().rows == rows
