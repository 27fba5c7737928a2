"""Campaigns from Python: ids of a frame's index, costs, what is said of them, and being closed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import weal
from campaign.taught import taught
from shell import typed
from weal import WealError, open_campaign

N = 30


def table(**more):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"T": rng.normal(size=N), "p": rng.normal(size=N), **more})


# Ids


def test_the_index_of_a_frame_gives_the_ids():
    named = table().set_index(pd.Index([f"P-{n}" for n in range(N)], name="sample"))
    one = open_campaign("a", "memory:", pool=named)
    assert one.read_session().pool.ids == [f"P-{n}" for n in range(N)]
    assert one.events()[0].body["id"] == "sample"
    assert one.read_session().pool.plan.names == ["T", "p"]
    plain = open_campaign("a", "memory:", pool=named.rename_axis(None))
    assert plain.read_session().pool.ids == one.read_session().pool.ids
    some = open_campaign("a", "memory:", pool=table()[::2])
    assert some.read_session().pool.ids == [str(n) for n in range(0, N, 2)]
    more = named.rename_axis(None).rename(index=lambda name: f"Q{name}")
    assert plain.add(more) == one.add(more.rename_axis("sample")) == N
    assert plain.read_session().pool.ids[N] == "QP-0"


def test_an_index_that_says_nothing_is_no_id():
    for pool in (table(), pl.from_pandas(table())):
        assert open_campaign("a", "memory:", pool=pool).read_session().pool.ids[:2] == ["1", "2"]
    own = table(id=[f"S{n}" for n in range(N)])[::2]
    assert open_campaign("a", "memory:", pool=own).read_session().pool.ids[:2] == ["S0", "S2"]
    given = table(name=[f"S{n}" for n in range(N)])[::2]
    one = open_campaign("a", "memory:", pool=given, id_column="name")
    assert one.read_session().pool.ids[:2] == ["S0", "S2"]
    two = table().set_index(pd.MultiIndex.from_product([range(3), range(10)]))
    assert open_campaign("a", "memory:", pool=two).read_session().pool.ids[:2] == ["1", "2"]


def test_an_index_that_names_rows_twice_is_refused():
    twice = table().set_index(pd.Index(["x", "x", *range(2, N)]))
    with pytest.raises(ValueError, match=r"the index of the frame has x more than once.*id_column"):
        open_campaign("a", "memory:", pool=twice)
    dates = table().set_index(pd.date_range("2024-01-01", periods=N))
    ids = open_campaign("a", "memory:", pool=dates).read_session().pool.ids
    assert ids[1] == "2024-01-02 00:00:00"


# Costs


def test_what_is_asked_is_what_a_learner_with_these_costs_asks():
    price = np.where(np.arange(N) % 2 == 0, 1.0, 50.0)
    one = open_campaign(
        "a", "memory:", pool=table(price=price), cost="price", acquisition="gpm-var", n_start=6
    )
    assert one.read_session().pool.plan.names == ["T", "p"]
    for name in one.ask(6):
        one.tell({name: float(int(name) % 7)})
    names = one.ask(4)
    assert all(int(name) % 2 == 1 for name in names)  # rows are numbered from 1
    plain = open_campaign("a", "memory:", pool=table(), acquisition="gpm-var", n_start=6)
    plain.tell({name: float(int(name) % 7) for name in one.read_ledger().quantity().labels})
    assert plain.ask(4) != names
    more = table(price=price)
    one.add(more)
    assert one.read_session().pool.cost.shape == (2 * N,)
    assert one.read_learner().candidates.cost.tolist() == [*price, *price]
    with pytest.raises(ValueError, match=r"cost divides amounts of variance, and igs gives none"):
        one.change(acquisition="igs")
    with pytest.raises(ValueError, match="cost cannot change once a campaign has begun"):
        one.change(cost="T")
    with pytest.raises(ValueError, match=r"the cost of '61' is 0.0; write a number above 0"):
        one.add(table(price=0.0))
    with pytest.raises(ValueError, match="no column 'price'"):
        one.add(table())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cost": "price", "acquisition": "igs"}, "cost divides amounts"),
        ({"cost": "prise", "acquisition": "ivr"}, "no column 'prise'; it has T, p, price"),
        ({"cost": 3, "acquisition": "ivr"}, "the name of a column"),
        ({"cost": "", "acquisition": "ivr"}, "the name of a column"),
        ({"cost": "p", "acquisition": "ivr"}, "write a number above 0"),
    ],
)
def test_costs_that_cannot_be_make_no_campaign(settings, words):
    with pytest.raises(ValueError, match=words):
        open_campaign("a", "memory:", pool=table(price=1.0), **settings)


def test_a_cost_may_be_an_input_too():
    one = open_campaign("a", "memory:", pool=table(price=np.arange(1.0, N + 1)), cost="price",
                        acquisition="ivr", features=["T", "price"])  # fmt: skip
    assert one.read_session().pool.plan.names == ["T", "price"]


def test_costs_on_the_command_line(tmp_path, sqlite_url):
    file = tmp_path / "pool.csv"
    table(price=2.0 + np.arange(N)).to_csv(file, index=False)
    made = ("new", "a", "--pool", str(file), "--cost", "price", "--store", sqlite_url)
    refused = typed(*made, "--acquisition", "igs")
    assert "choose the acquisition mvr-var-igs (or wvar," in refused.complaint
    assert typed(*made, "--acquisition", "ivr").code == 0
    with open_campaign("a", sqlite_url) as one:
        assert one.read_session().pool.cost[0] == 2.0


# What is said of a campaign, and being closed


def test_a_closed_campaign_refuses():
    one = taught(8)
    assert "8 labels" in repr(one)
    with one:
        pass
    assert repr(one) == f"<Campaign {one.name!r}: closed>"
    assert "closed" in one._repr_html_()
    name = next(iter(one._ledger.quantity().labels))
    for act in (one.ask, lambda: one.tell(name, 1.0), one.status, lambda: one.read_ledger(),
                lambda: one.read_learner(), lambda: one.read_model(), one.to_frame, one.events,
                lambda: one.skip(name), lambda: one.plot.predicted()):  # fmt: skip
        with pytest.raises(WealError, match=r"is closed; open it again: weal.open_campaign\("):
            act()
    one.close()


def test_what_is_said_of_a_campaign_is_escaped():
    evil = "<script>x"
    one = open_campaign(evil, "memory:", pool=table(**{evil: np.arange(float(N))}), target=evil)
    assert "<script>" not in one._repr_html_()
    assert f"30 labels of {evil}" in repr(one)
    status = one.status()
    assert repr(status) == "\n".join(status.lines())
    assert "<script>" not in status._repr_html_()
    assert "&lt;script&gt;" in status._repr_html_()


def test_pictures_of_a_campaign_carry_its_target():
    labels = [1.0, 4, 2, 7, 5, 3] + [None] * 24
    one = open_campaign("a", "memory:", n_start=5, target="yield [%]",
                        pool=table(**{"yield [%]": labels}))  # fmt: skip
    assert one.plot.predicted().get_xlabel() == "measured yield [%]"
    assert one.plot.learning_curve().get_ylabel() == "error of yield, %"
    assert one.plot.effect("T").get_ylabel() == "yield [%]"
    assert one.plot.map("T", "p").get_xlabel() == "T"


@pytest.mark.parametrize(
    ("frame", "how", "said"),
    [
        ({"T": [1.0, 2.0]}, {"missing": {"t": ["x"]}}, "no column 't'; it has T"),
        ({"T": [1.0, 2.0]}, {"id_column": "probe"}, "no column 'probe'; it has T"),
        ({"T": [1.0, 2.0], "price": [1, 2]}, {"cost": "Price"}, "no column 'Price'; it has"),
    ],
)
def test_messages_name_the_columns_of_the_frame(frame, how, said):
    pool = pd.DataFrame(frame, index=pd.RangeIndex(2))
    with pytest.raises(ValueError, match=said):
        weal.open_campaign("a", "memory:", pool=pool, target="y", **how)


def test_frames_that_cannot_be_told_apart_are_refused_in_words_of_ours():
    twice = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns of the same name: 'a'"):
        weal.open_campaign("a", "memory:", pool=twice, target="y")
    gone = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", None])
    with pytest.raises(ValueError, match="index of the frame has no id for row 2"):
        weal.open_campaign("a", "memory:", pool=gone, target="y")
    whole = pd.DataFrame({"a": [1.0, 2.0, 4.0]}, index=["x", "y", "z"])
    with weal.open_campaign("a", "memory:", pool=whole, target="y") as one:
        with pytest.raises(ValueError, match="no column 'id'; it has a"):
            one.add(pd.DataFrame({"a": [1.0]}))
        with pytest.raises(weal.UnknownId, match="`weal export --what candidates --to - a`"):
            one.tell("nobody", 1.0)
