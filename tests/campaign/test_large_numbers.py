"""Numbers at the ends of what a float holds: labels of 1e300, whole numbers above 2^53."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from campaign.lab import campaign, number, truth
from shell import typed
from weal.core.arrays import root_mean_square, standard_deviation
from weal.store.events import Draft, check_id
from weal.tables.table import read_table

BEYOND = 2**53 + 1  # which a float rounds to 2^53


def told(scale):
    """A campaign whose labels are in units of the scale, with some rows drawn at random."""
    one = campaign()
    for n in range(8):
        one.tell(f"r{n}", scale * truth(n))
    for name in [*one.ask(3, check=True), *one.ask(2)]:
        one.tell(name, scale * truth(number(name)))
    return one


def errors_of(one):
    """All numbers of status that are in units of the label."""
    found = one.status()
    beliefs = found.beliefs
    estimates = (beliefs.left_out, beliefs.prequential, beliefs.expected)
    marks = [error for one in estimates for _, error in one.course]
    check = [found.check.rmse, found.check.error]
    return np.array([*marks, *check, beliefs.baseline]), beliefs.explained, found.lines()


@pytest.mark.parametrize("scale", [2.0**996, 2.0**-1000], ids=["1e300", "1e-301"])
def test_status_of_huge_and_tiny_labels_is_that_of_others_in_another_unit(scale):
    usual, share, _ = errors_of(told(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, same, lines = errors_of(told(scale))
    np.testing.assert_allclose(found / scale, usual, rtol=1e-9)
    assert same == pytest.approx(share, rel=1e-9)
    assert not [line for line in lines if " inf" in line or "nan" in line]


def test_roots_of_mean_squares_are_those_of_numpy():
    values = np.random.default_rng(3).normal(size=(40, 17)) * 10.0 ** np.arange(-8, 9)
    for y in values:
        assert root_mean_square(y) == float(np.sqrt((y**2).mean()))
        assert standard_deviation(y) == float(y.std())
        for scale in (2.0**900, 2.0**-900):
            assert root_mean_square(scale * y) == scale * root_mean_square(y)
            assert standard_deviation(scale * y) == scale * standard_deviation(y)
    nothing = np.zeros(0)
    assert root_mean_square(nothing) == standard_deviation(nothing) == 0.0
    assert root_mean_square(np.zeros(3)) == 0.0
    assert root_mean_square(np.array([1.0, np.inf])) == np.inf


@pytest.mark.parametrize("label", [1.1e300, -1.7e308, "1e301", 1e305])
def test_a_label_beyond_1e300_is_refused(label):
    with campaign() as one:
        before = one.read_ledger().seq
        with pytest.raises(ValueError, match="too large; check its unit"):
            one.tell("r1", label)
        with pytest.raises(ValueError, match="too large; check its unit"):
            one.tell("r1", 1.0, noise=abs(float(label)))
        assert one.read_ledger().seq == before


def test_labels_beyond_1e300_of_an_old_store_are_left_aside():
    with campaign() as one:
        body = {"v": 1, "y": 1.7e308, "noise": None, "note": None, "repeat": False}
        one.store.transact("lab", lambda book: [Draft("told", body, "r30", "ann")])
        for n in range(8):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that 1.7e308 is far from others
                one.tell(f"r{n}", truth(n))
        lines = one.status().lines()
        assert any("unused label" in line and "r30" in line for line in lines)
        assert not [line for line in lines if " inf" in line or "nan" in line]
        assert len(one.ask(2)) == 2


@pytest.mark.parametrize("label", [BEYOND, f"{BEYOND}", f"-{BEYOND}", f"{BEYOND}.00", 2**64 - 1])
def test_a_whole_label_that_would_be_rounded_is_refused(label):
    with campaign() as one:
        with pytest.raises(ValueError, match="it would become") as caught:
            one.tell("r1", label)
        assert f"{int(float(label))}" in str(caught.value)
        with pytest.raises(ValueError, match="it would become"):
            one.tell_file(pd.DataFrame({"id": ["r1"], "value": [str(label)]}))
        for exact in (2**53, 2**60, "9007199254740992", 1e17, f"{BEYOND}e0"):
            one.tell("r1", exact, replace=True)


@pytest.mark.usefixtures("in_a_folder", "bare")
def test_the_command_refuses_it_too():
    done = typed("tell", "bare", "A-0001", f"{BEYOND}")
    assert done.code == 2
    assert f"it would become '{2**53}'; round it (9007199254740992.0)" in done.complaint


@pytest.mark.usefixtures("in_a_folder")
def test_columns_of_whole_numbers_that_are_rounded_are_named(tmp_path):
    serial = [BEYOND + 2 * n for n in range(12)]
    frame = pd.DataFrame({"id": serial, "temp": np.arange(12.0) ** 2, "serial": serial})
    frame.to_csv(tmp_path / "pool.csv", index=False)
    frame.to_parquet(tmp_path / "pool.parquet", index=False)
    words = f"serial: 12 whole numbers above 2^53 rounded, such as {BEYOND} to {2**53}"
    for ending in ("csv", "parquet"):
        done = typed("new", ending, "--pool", tmp_path / f"pool.{ending}", "--id", "id")
        assert words in done.err
    mixed = [10**25 + 7, 10**5000, *[None] * 10]
    table = read_table(frame.assign(serial=pd.Series(mixed, dtype=object)), text=["id"])
    assert "serial: 1 whole number above 2^53 rounded" in table.notes[0]
    exact = read_table(frame.assign(serial=[2**53 + 2 * n for n in range(12)]), text=["id"])
    gaps = read_table(pd.DataFrame({"a": [np.nan] * 3, "b": [2.0**60, 1.0, np.nan]}))
    assert exact.notes == gaps.notes == ()
    assert typed("tell", "csv", serial[3], "1.5").code == 0
    assert json.loads(typed("log", "csv", "--json").out)[-1]["id"] == str(serial[3])


def test_a_float_above_2_to_53_is_no_id():
    assert check_id(BEYOND) == str(BEYOND)
    for given in (float(BEYOND), 2.0**53, np.float64(1e300), -1e16):
        with pytest.raises(ValueError, match="write it as text"):
            check_id(given)
    assert check_id(2.0**53 - 1.0) == str(2**53 - 1)
