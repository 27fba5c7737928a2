"""Several quantities in one campaign: told at once or later, corrected, withdrawn, in files."""

import pandas as pd
import pytest

from campaign.lab import campaign, pool
from campaign.several import TARGETS, frame, labels, several
from weal.campaign.campaign import open_campaign
from weal.campaign.creation import add, read_more
from weal.errors import AlreadyLabelled, ReusedKey
from weal.store.events import Draft


def lease(one, name, **more):
    """Lease a row as an ask with these predictions would."""
    body = {
        "v": 2, "until": "2099-01-01T00:00:00+00:00", "check": False, "why": {"how": "chosen"},
        "mean": None, "sd": None, "low": None, "high": None, **more,
    }  # fmt: skip
    one.transact(lambda _: [Draft("asked", body, name, "ann")])


def test_labels_of_a_row_are_told_at_once_by_the_names_people_use():
    with several() as one:
        one.tell("r1", {"yield": 82.1, "Purity [%]": "97.5", "crystallised": True, "phase": "BCC"})
        assert labels(one) == {
            "yield": {"r1": ["82.1"]},
            "purity": {"r1": ["97.5"]},
            "crystallised": {"r1": ["ja"]},
            "phase": {"r1": ["bcc"]},
        }


def test_a_row_may_get_the_others_later_and_is_leased_until_it_has_all():
    with several(targets=TARGETS[:2]) as one:
        lease(one, "r1")
        one.tell("r1", {"yield": 50.0})
        assert "r1" in one.read_ledger().leases
        one.tell("r1", {"purity": 90.0})
        assert "r1" not in one.read_ledger().leases


@pytest.mark.parametrize("end", ["fail", "skip", "withdraw"])
def test_a_lease_ends_with_a_failure_a_skip_or_a_withdrawal(end):
    with several() as one:
        lease(one, "r1")
        getattr(one, end)("r1")
        assert "r1" not in one.read_ledger().leases


def test_all_labels_of_a_call_are_saved_or_none():
    with several() as one:
        one.tell("r1", {"yield": 50.0})
        before = len(one.events())
        with pytest.raises(AlreadyLabelled, match=r"'r1' has the yield 50\.0 already"):
            one.tell("r1", {"purity": 90.0, "yield": 51.0})
        with pytest.raises(ValueError, match="no quantity 'purty'; did you mean purity"):
            one.tell({"r2": {"yield": 3.0}, "r3": {"purty": 90.0}})
        assert len(one.events()) == before


def test_one_key_holds_for_all_labels_of_a_call():
    with several() as one:
        told = {"yield": 50.0, "crystallised": "nein"}
        first = one.tell("r1", told, key="k")
        assert one.tell("r1", dict(told), key="k") == first
        with pytest.raises(ReusedKey, match="crystallised"):
            one.tell("r1", {**told, "crystallised": "ja"}, key="k")
        one.tell("r1", {"crystallised": "ja"}, replace=True)
        with pytest.warns(UserWarning, match="nein was told under this key.*its label is ja now"):
            one.tell("r1", told, key="k")


BAD = {
    "a number for pass/fail": ({"crystallised": 0.7}, "passes or fails; write ja or nein"),
    "a class never seen": (
        {"phase": "fct"},
        "which is not a class of phase; write fcc, bcc or hcp",
    ),
    "a grade never seen": ({"grade": "best"}, "write low, medium or high"),
    "a word for a number": ({"yield": "good"}, "the label of r1 is 'good'"),
    "the same twice": ({"yield": 1.0, "yield [%]": 2.0}, "two values of one quantity"),
    "no name": (5.0, r"several quantities are measured: name them.*'yield': \.\.\."),
    "nothing": ({}, "no label for r1"),
}


@pytest.mark.parametrize(("given", "says"), BAD.values(), ids=BAD)
def test_bad_labels_are_answered_with_one_line_and_nothing_is_saved(given, says):
    with several() as one:
        before = len(one.events())
        with pytest.raises(ValueError, match=says) as refused:
            one.tell("r1", given)
        assert "\n" not in str(refused.value)
        assert len(one.events()) == before


def test_corrections_repeats_and_confirmations_are_of_one_quantity():
    with several() as one:
        one.tell("r1", {"yield": 50.0, "purity": 90.0})
        one.tell("r1", {"purity": 95.0}, replace=True)
        one.tell("r1", {"yield": 52.0}, repeat=True)
        one.tell("r1", {"purity": 95.0}, sure=True)
        assert labels(one) == {"yield": {"r1": ["50", "52"]}, "purity": {"r1": ["95"]}}
        assert one.read_ledger().quantity("purity").labels["r1"][0].sure


def test_labels_of_one_quantity_are_withdrawn_and_the_others_stay():
    with several() as one:
        one.tell("r1", {"yield": 50.0, "purity": 90.0})
        one.withdraw("r1", quantity="purity")
        assert labels(one) == {"yield": {"r1": ["50"]}}
        with pytest.raises(ValueError, match="'r1': no label of purity, so nothing to withdraw"):
            one.withdraw("r1", quantity="purity")
        with pytest.raises(ValueError, match="no quantity 'puritty'; did you mean purity"):
            one.withdraw("r1", quantity="puritty")
        one.withdraw("r1")
        assert labels(one) == {}


def test_noise_is_of_the_quantity_that_it_names():
    with several() as one:
        one.tell("r1", {"yield": 50.0, "purity": 90.0}, noise={"purity": 0.5})
        noises = [
            one.read_ledger().quantity(name).labels["r1"][0].noise for name in ("yield", "purity")
        ]
        assert noises == [None, 0.5]
        with pytest.raises(ValueError, match="no label of it"):
            one.tell("r2", {"yield": 50.0}, noise={"purity": 0.5})
        with pytest.raises(ValueError, match="labels of crystallised are words"):
            one.tell("r2", {"crystallised": "ja"}, noise=0.5)


def test_each_label_is_judged_by_the_prediction_of_its_quantity():
    predictions = {
        "purity": {"mean": 90.0, "sd": 1.0, "low": 88.4, "high": 91.6},
        "crystallised": {"mean": 0.999, "sd": 0.03, "low": None, "high": None},
        "phase": {"probabilities": {"fcc": 0.996, "bcc": 0.002, "hcp": 0.002}},
    }
    with several() as one:
        lease(one, "r1", mean=50.0, sd=1.0, low=48.4, high=51.6, quantities=predictions)
        with pytest.warns(UserWarning, match="r1: ") as said:
            one.tell("r1", {"yield": 90.0, "purity": 50.0, "crystallised": "nein", "phase": "hcp"})
        words = [str(one.message) for one in said]
    for name in (
        "yield 90 is far",
        "purity 50 is far",
        "crystallised nein is unlikely",
        "phase hcp",
    ):
        assert any(f"r1: {name}" in line for line in words), words
    with several() as one:
        lease(one, "r1", mean=50.0, sd=1.0, low=48.4, high=51.6, quantities=predictions)
        one.tell("r1", {"yield": 50.5, "purity": 90.5, "crystallised": "ja", "phase": "fcc"})


def test_the_prediction_of_a_label_is_kept_by_quantity():
    with several(targets=TARGETS[:2]) as one:
        own = {"purity": {"mean": 90.0, "sd": 1.0, "low": 88.4, "high": 91.6}}
        lease(one, "r1", mean=50.0, sd=1.0, low=48.4, high=51.6, quantities=own)
        one.tell("r1", {"yield": 50.5, "purity": 90.5})
        ledger = one.read_ledger()
        kept = [ledger.quantity(name).foretold[0].body["mean"] for name in ("yield", "purity")]
        assert kept == [50.0, 90.0]


def test_a_label_of_any_quantity_replaces_a_failure():
    with several() as one:
        one.fail("r1")
        one.tell("r1", {"purity": 90.0})
        assert labels(one) == {"purity": {"r1": ["90"]}}


NAMES = {
    "twice": ({"target": ["y", "y"]}, "the target 'y' is named twice"),
    "worked": ({"target": ["y", "worked"]}, "cannot be named 'worked'"),
    "failed": ({"target": "failed"}, "cannot be named 'failed'"),
    "bad type": ({"target": ["y", "z"], "types": {"z": "colour"}}, "z is declared 'colour'"),
    "bounds of words": (
        {"target": "z", "types": {"z": "pass"}, "ranges": {"z": (0, 1)}}, "bounds are for numbers",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "says"), NAMES.values(), ids=NAMES)
def test_bad_targets_are_refused_and_no_campaign_is_made(given, says, tmp_path):
    store = f"sqlite:///{tmp_path}/weal.db"
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], **dict.fromkeys(["y", "z", "worked", "failed"])})
    columns = given["target"] if isinstance(given["target"], list) else [given["target"]]
    with pytest.raises(ValueError, match=says):
        open_campaign("lab", store, pool=table[["a", *dict.fromkeys(columns)]], **given)
    with pytest.raises(Exception, match="lab"):
        open_campaign("lab", store)


def test_two_columns_of_one_name_keep_their_units():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "yield [%]": None, "yield [g]": None})
    with open_campaign("lab", "memory:", pool=table, target=["yield [%]", "yield [g]"]) as one:
        assert list(one.read_quantities()) == ["yield [%]", "yield [g]"]
        with pytest.raises(ValueError, match=r"'yield' could be yield \[%\] or yield \[g\]"):
            one.tell("1", {"yield": 3.0})
        one.tell("1", {"yield [g]": 3.0})


def test_kinds_follow_the_labels_of_the_table():
    table = pd.DataFrame(
        {
            "a": [float(n) for n in range(8)],
            "y": ["1,5", "2,5", None, "failed - leak", None, None, "3", None],
            "ok": ["yes", "no", "yes", None, None, None, "yes", None],
            "test": ["ok", "failed", None, None, None, None, "ok", None],
            "phase": ["fcc", "bcc", "fcc", None, None, None, "bcc", None],
            "hit": [1, 0, None, None, None, None, 1, None],
        }
    )
    with open_campaign(
        "lab", "memory:", pool=table, target=["y", "ok", "test", "phase", "hit"]
    ) as one:
        kinds = [quantity.kind for quantity in one.read_quantities().values()]
        assert kinds == ["number", "pass_fail", "pass_fail", "classes", "number"]
        found = labels(one)
        assert found["worked"] == {"4": ["no"]}
        assert found["test"] == {"1": ["ok"], "2": ["failed"], "7": ["ok"]}
        assert found["y"] == {"1": ["1.5"], "2": ["2.5"], "7": ["3"]}
        assert one.read_ledger().n_labels == 3 + 4 + 3 + 4 + 3


def test_repeats_of_the_table_are_of_their_own_quantity():
    table = pd.DataFrame(
        {"id": ["a", "b", "a"], "x": [1.0, 2.0, 1.0], "y": [5.0, 6.0, 5.5], "z": [1.0, 2.0, 1.0]}
    )
    with pytest.warns(UserWarning, match="repeat"):
        one = open_campaign("lab", "memory:", pool=table, id_column="id", target=["y", "z"])
    assert labels(one) == {"y": {"a": ["5", "5.5"], "b": ["6"]}, "z": {"a": ["1"], "b": ["2"]}}


def test_more_candidates_bring_labels_of_all_quantities():
    with several(rows=10) as one:
        more = pool(10, 13).assign(
            **{"yield [%]": [40.0, None, "failed"], "crystallised": ["ja", "nein", None]}
        )
        made = read_more(one.read_ledger(), more)
        add(one.store, one.read_ledger(), made, made.X, "ann")
        assert labels(one) == {
            "yield": {"r10": ["40"]},
            "crystallised": {"r10": ["ja"], "r11": ["nein"]},
            "worked": {"r12": ["no"]},
        }


def test_a_worksheet_has_a_column_for_each_and_comes_back(tmp_path):
    path = tmp_path / "sheet.csv"
    with several() as one:
        predictions = {
            "purity": {"mean": 90.123, "sd": 1.0, "low": 88.4, "high": 91.6},
            "crystallised": {"mean": 0.93, "sd": 0.26, "low": None, "high": None},
        }
        rows = [f"r{n}" for n in range(6)]
        for name in rows:
            lease(one, name, quantities=predictions)
        from weal.campaign.export import worksheet

        ledger = one.read_ledger()

        class Row:
            repeat, mean, sd = False, None, None

            def __init__(self, name):
                self.id, self.row = name, {"a": 1.0, "b": 2.0, "steel": "soft"}

        header, first, *_ = worksheet([Row(name) for name in rows], ledger)
        assert header[-6:] == [*TARGETS, "note"]
        assert "expected purity [%]" in header
        assert first[header.index("expected purity [%]")] == 90.1
        assert first[header.index("expected crystallised")] == "P(ja) 0.93"
        cells = pd.DataFrame(index=rows, columns=[*TARGETS, "note"], dtype=object)
        cells.loc["r0"] = [82.1, "97,5", "ja", "fcc", "low", "fine"]
        cells.loc["r1", ["yield [%]", "note"]] = ["failed - stirrer stopped", "x"]
        cells.loc["r2", "purity [%]"] = "failed"
        cells.loc["r3", ["yield [%]", "purity [%]"]] = [60.0, ">95"]
        cells.loc["r4", "yield [%]"] = "n/a"
        sheet = cells.rename_axis("name").reset_index().assign(**{"expected purity [%]": 90.1})
        sheet.to_csv(path, index=False)
        found = one.tell_file(path)
        assert found.counts == {"told": 6, "failed": 2, "skipped": 1, "empty": 1}
        assert labels(one) == {
            "yield": {"r0": ["82.1"], "r3": ["60"]},
            "purity": {"r0": ["97.5"]},
            "crystallised": {"r0": ["ja"]},
            "phase": {"r0": ["fcc"]},
            "grade": {"r0": ["low"]},
            "worked": {"r1": ["no"], "r2": ["no"]},
        }
        notes = {n: some[0].note for n, some in one.read_ledger().failures.labels.items()}
        assert notes == {"r1": "stirrer stopped; x", "r2": None}
        assert one.read_ledger().quantity("yield").labels["r3"][0].note == (
            "purity >95: a bound, not learned from"
        )
        assert "r4" in one.read_ledger().skipped
        before = len(one.events())
        assert one.tell_file(path).new == 0
        assert len(one.events()) == before


BOTH = {"yield [%]": ["failed"], "purity [%]": [9]}
FILES = {
    "failed beside a label": (frame(name=["r1"], **BOTH), "a run that failed has no labels"),
    "a class never seen": (frame(name=["r1"], phase=["fct"]), "not a class of phase"),
    "an unknown column": (frame(name=["r1"], **{"yield [%]": [3], "colour": [1]}), "'colour'"),
    "a renamed quantity": (frame(name=["r1"], yeild=[3]), "beside one of results"),
    "another quantity": (frame(name=["r1"], quantity=["hue"], label=[1]), "has labels of 'hue'"),
}


@pytest.mark.parametrize(("table", "says"), FILES.values(), ids=FILES)
def test_bad_files_save_nothing(table, says):
    good = frame(name=["r2"], **{"yield [%]": [5.0]})
    with several() as one:
        before = len(one.events())
        with pytest.raises(ValueError, match=says):
            one.tell_file(pd.concat([table, good]) if "yield [%]" in table else table)
        assert len(one.events()) == before


def test_columns_may_leave_out_the_unit_and_name_their_noise():
    table = frame(name=["r1"], **{"yield": [50.0], "yield sd": [0.5], "purity [%]": [90.0]})
    with several() as one:
        one.tell_file(table)
        ledger = one.read_ledger()
        assert ledger.quantity("yield").labels["r1"][0].noise == 0.5
        assert ledger.quantity("purity").labels["r1"][0].noise is None


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet", "json"])
def test_exported_labels_have_all_quantities_and_failures(suffix, tmp_path):
    from weal.campaign.export import export

    with several() as one:
        one.tell("r1", {"yield": 82.125, "crystallised": "ja", "grade": "high"}, note="x")
        one.fail("r2", note="leak")
        one.tell("r3", {"purity": 1e-300})
        path = tmp_path / f"labels.{suffix}"
        assert export(one, "labels", path) == 5
        table = one.to_frame()
        before = labels(one)
    assert list(table.columns[:3]) == ["id", "quantity", "label"]
    if suffix == "json":
        return
    with several() as other:
        other.tell_file(path)
        assert labels(other) == before
        assert other.read_ledger().failures.labels["r2"][0].note == "leak"


def test_labels_of_one_quantity_with_failures_come_back_too(tmp_path):
    from weal.campaign.export import export

    with campaign() as one:
        one.tell("r1", 0.5)
        one.fail("r2")
        export(one, "labels", tmp_path / "labels.csv")
    with campaign() as other:
        other.tell_file(tmp_path / "labels.csv")
        assert labels(other) == {"value": {"r1": ["0.5"]}, "worked": {"r2": ["no"]}}
