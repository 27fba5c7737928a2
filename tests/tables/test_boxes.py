"""Boxes with mixtures and constraints: every row keeps them, and mistakes are refused in a line."""

import re

import numpy as np
import pytest
from scipy import stats

import weal
from weal.conditions import parse_condition
from weal.tables.design_file import read_box, space_from_json, space_from_python, space_to_json
from weal.tables.design_space import satisfied

pytest.importorskip("pandas")
BOX = """
constraints = ["temp + 2*time <= 300", "temp < 66 and solvent is not toluene", "water >= 0.1"]

[inputs]
temp = [20, 200]
time = { low = 1, high = 60, scale = "log" }
pressure = { low = 1, high = 10, step = 0.5 }
cycles = { low = 1, high = 8, integer = true }
solvent = ["THF", "toluene", "2-MeTHF"]
level = { values = [1, 2, 5] }
water = { low = 0, high = 0.7 }

[mixture]
parts = ["water", "ethanol", "glycerol"]
sum = 1
at_most = 2
"""


def in_file(tmp_path, text):
    path = tmp_path / "inputs.toml"
    path.write_text(text, encoding="utf-8")
    return path


def allowed(row):
    """The box above, written a second time."""
    parts = [row["water"], row["ethanol"], row["glycerol"]]
    return (
        20 <= row["temp"] <= 200 and 1 <= row["time"] <= 60
        and row["temp"] + 2 * row["time"] <= 300 and row["temp"] < 66
        and (2 * row["pressure"]).is_integer() and 1 <= row["pressure"] <= 10
        and row["cycles"] in range(1, 9) and row["solvent"] in ("THF", "2-MeTHF")
        and row["level"] in (1, 2, 5) and 0.1 <= row["water"] <= 0.7
        and abs(sum(parts) - 1) < 1e-12 and min(parts) >= 0 and sum(x > 0 for x in parts) <= 2
    )  # fmt: skip


def test_every_row_of_a_box_is_allowed_and_the_seed_decides(tmp_path):
    path = in_file(tmp_path, BOX)
    found = weal.box(path, n=500, seed=3)
    assert len(found) == 500
    assert all(allowed(row) for row in found.to_dict("records"))
    assert found.equals(weal.box(path, n=500, seed=3))
    assert not found.equals(weal.box(path, n=500, seed=4))
    assert set(found["cycles"]) == set(range(1, 9))
    assert found["cycles"].dtype.kind == "i"


def test_a_box_is_the_same_after_json(tmp_path):
    space = read_box(in_file(tmp_path, BOX))
    kept = space_to_json(space)
    again = space_from_json(kept)
    assert space_to_json(again) == kept
    assert again.rows(50, 1) == space.rows(50, 1)
    python = space_from_python(
        {"temp": (20, 200), "k": range(2, 9, 3), "p": (1, 10, 0.1), "t": (1, 60, "log"),
         "c": ["A", "B"], "v": np.array([1, 2, 5])},
        [], ["temp*k < 900"],
    )  # fmt: skip
    again = space_from_json(space_to_json(python))
    assert again.rows(50, 1) == python.rows(50, 1)


@pytest.mark.parametrize("text", ["x1 + x2 <= 1", "x1*x2 < 0.1 and x1 > 2*x2", "3 - x1/4 >= x2"])
def test_texts_and_functions_draw_the_same_rows(text):
    inputs = {"x1": (0, 1), "x2": (-1, 3), "c": ["A", "B"]}
    function = weal.box(inputs, n=100, constraint=lambda row: eval(text, {}, row))
    assert weal.box(inputs, n=100, constraint=text).equals(function)


def test_the_vectorised_condition_is_the_condition_of_each_row():
    rng = np.random.default_rng(0)
    columns = {
        "a": (rng.integers(0, 11, 400) / 10).tolist(),
        "b": rng.choice([0.1, 0.2], 400).tolist(),
        "c": rng.choice(["x", "y z", "3"], 400).tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for text in ("a + b <= 0.3", "a - b = 0.1", "a > 3*b", "c is 3", "c not in x, 'y z'", "a is 1",
                 "2*a*b < 0.1 and c in x, 3"):  # fmt: skip
        condition = parse_condition(text)
        assert satisfied(condition, columns).tolist() == [condition.holds(row) for row in rows]


def test_a_mixture_without_bounds_is_a_dirichlet_distribution():
    parts = ["a", "b", "c", "d"]
    found = weal.box({"t": (0, 1)}, n=4096, mixture={"parts": parts, "sum": 5}, seed=2)
    assert np.abs(found[parts].sum(axis=1) - 5).max() < 1e-12
    for part in parts:  # the marginals of Dirichlet(1, 1, 1, 1)
        distance = stats.kstest(found[part] / 5, stats.beta(1, 3).cdf).statistic
        assert distance < 1.63 / np.sqrt(4096)  # the 1 % point, for independent rows
    covariance = np.cov(found[parts].T / 5)
    truth = (np.eye(4) * 4 - 1) / (16 * 5)
    assert np.abs(covariance - truth).max() < 0.004


def test_tight_bounds_of_a_mixture_keep_the_uniform_distribution():
    parts, high = ["a", "b", "c", "d"], (0.4, 0.3, 0.5, 0.9)
    inputs = {name: (0.05, top) for name, top in zip(parts, high, strict=True)}
    found = weal.box(inputs, n=3000, mixture={"parts": parts, "sum": 1}, seed=1)[parts].to_numpy()
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-12
    E = np.random.default_rng(5).dirichlet(np.ones(4), 60_000) * 0.8 + 0.05
    truth = E[(np.array(high) >= E).all(axis=1)]  # by rejection
    for k in range(4):
        assert stats.ks_2samp(found[:, k], truth[:, k]).pvalue > 0.001


def test_at_most_k_parts_and_a_part_that_is_always_there():
    parts = [f"p{k}" for k in range(6)]
    found = weal.box({"p2": (0.2, 1)}, n=800, mixture={"parts": parts, "at_most": 3}, seed=0)
    there = (found[parts] > 0).sum(axis=1)
    assert set(there) == {2, 3}
    assert (found["p2"] >= 0.2).all()
    shares = (found[parts] > 0).mean()
    assert shares["p2"] == 1.0
    assert np.ptp(shares.drop("p2")) < 0.1
    alone = weal.box({}, n=6, mixture={"parts": parts, "sum": 2, "at_most": 1})
    assert sorted(map(tuple, alone.to_numpy().tolist())) == sorted(
        map(tuple, (2 * np.eye(6)).tolist())
    )


def test_parts_in_steps_have_the_sum_exactly_and_no_row_twice():
    inputs = {name: (0, 1, 0.05) for name in "abc"}
    found = weal.box(inputs, n=200, mixture={"parts": list("abc")}, seed=0)
    assert len(found.drop_duplicates()) == 200
    units = found.to_numpy() / 0.05
    assert np.abs(units - np.rint(units)).max() < 1e-9
    assert (np.rint(units).sum(axis=1) == 20).all()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("temp = [20, 200]", "the box has the unknown key 'temp'; write inputs or mixture"),
        ("[input]\ntemp = [1, 2]", "unknown key 'input'; write inputs perhaps"),
        ("[inputs]\ntemp = [200, 20]",
         "the lower bound comes first, below the upper; write [20, 200]"),
        ("[inputs]\ntemp = { low = 1, hihg = 2 }", "unknown key 'hihg'; write high perhaps"),
        ("[inputs]\ntemp = { low = 1 }",
         "the input 'temp' has no high; write { low = 0, high = 1 }"),
        ("[inputs]\ntemp = { low = 9, high = 2 }", "write low = 2, high = 9"),
        ('[inputs]\n"" = [1, 2]', "needs a name that is text"),
        ('[inputs]\n"temp " = [1, 2]', "remove them"),
        ("[inputs]\nday = [2020-01-01, 2021-01-01]", "write text or numbers"),
        ("[inputs]\ntemp = 5", "the input 'temp' is 5; write { low = 0, high = 1 }"),
        ("[inputs]\ntemp = [1, 2, 5]", "write a list of numbers as { values = [1, 2, 5] }"),
        ('[inputs]\ns = ["A", "B", "A"]', "'s' names the value 'A' twice; leave one out"),
        ("[inputs]\ns = []", "'s' has no values to choose from"),
        ("[inputs]\np = { low = 0, high = 1, step = 0.3 }",
         "the step 0.3, which does not divide 0 to 1; write high = 0.9 or 1.2"),
        ("[inputs]\nk = { low = 0.5, high = 3, integer = true }", "as whole numbers"),
        ('[inputs]\nk = { low = 1, high = 3, scale = "ln" }', 'write "log" or "linear"'),
        ('[inputs]\nk = { low = 0, high = 3, scale = "log" }', "needs bounds above 0"),
        ('constraints = ["x + y <= -1"]\n[inputs]\nx = [0, 1]\ny = [0, 1]',
         "rows of the box satisfies 'x + y <= -1', where x + y is"),
        ('constraints = ["x + y = 1"]\n[inputs]\nx = [0, 1]\ny = [0, 1]',
         "a fixed sum is a mixture"),
        ('constraints = ["x11 <= 1"]\n[inputs]\nx1 = [0, 1]', "is unknown; did you mean x1?"),
        ('constraints = ["s < 1"]\n[inputs]\ns = ["A", "B"]', "write 's is A'"),
        ('constraints = ["s is C"]\n[inputs]\ns = ["A", "B"]', "write one of A, B"),
        ('constraints = ["x => 1"]\n[inputs]\nx = [0, 1]', "at '=>' (character 3): write >="),
        ('constraints = [5]\n[inputs]\nx = [0, 1]', 'write constraints = ["x1 + x2 <= 1"]'),
        ('[inputs]\nx = [0, 1]\nconstraints = ["x < 1"]', "write it above [inputs]"),
        ("[mixture]\nparts = ['a']", "name two or more"),
        ("[mixture]\nparts = ['a', 'b']\nsum = 0", "write a number above 0"),
        ("[mixture]\nparts = ['a', 'b']\nat_most = 3", "write a whole number from 1 to 2"),
        ("[inputs]\na = [0, 0.3]\nb = [0, 0.4]\n[mixture]\nparts = ['a', 'b']",
         "a, b reach 0.7 at most, less than the sum 1; raise their upper bounds"),
        ("[inputs]\na = [0.6, 1]\nb = [0.5, 1]\n[mixture]\nparts = ['a', 'b']",
         "add up to 1.1, more than the sum 1; lower them"),
        ("[inputs]\na = [0.1, 1]\nb = [0.1, 1]\n[mixture]\nparts = ['a', 'b']\nat_most = 1",
         "2 parts have a lower bound above 0 (a, b), and at_most is 1"),
        ("[inputs]\na = { low = 0, high = 0.9, step = 0.3 }\n"
         "b = { low = 0, high = 0.9, step = 0.3 }\n"
         "[mixture]\nparts = ['a', 'b']", "steps of 0.3 do not reach the sum 1"),
        ("[inputs]\na = { low = 0, high = 1, step = 0.1 }\n[mixture]\nparts = ['a', 'b']",
         "write the same step for each part"),
        ("[[mixture]]\nparts = ['a', 'b']\n[[mixture]]\nparts = ['b', 'c']",
         "a part of two mixtures"),
        ("", "it has no inputs"),
        ("[inputs]\ntemp = [20, 200", "is not a TOML file"),
        ("[inputs]\ns = [THF, toluene]", "is not a TOML file"),
        ("[inputs]\nx = [1, 2]\nx = [1, 3]", "is not a TOML file"),
        ("[inputs]\nx = [1, nan]", "two finite numbers"),
        ("[inputs]\nx = [1, 1e999]", "two finite numbers"),
        ("[inputs]\nx = " + "[" * 5000, "is not a TOML file"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_one_line_with_the_way_out(tmp_path, text, says):
    path = in_file(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        weal.box(path, n=10)
    assert "\n" not in str(raised.value)
    if "rows of the box" not in says and says.split()[-1] != "mixture":
        assert str(raised.value).startswith(str(path))


def test_files_that_are_no_text_or_not_there(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        weal.box(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00[")
    with pytest.raises(ValueError, match="is not a TOML file"):
        weal.box(tmp_path / "b.toml")
    with pytest.raises(ValueError, match="cannot be read"):
        weal.box(tmp_path)
    with pytest.raises(ValueError, match="write them there"):
        weal.box(in_file(tmp_path, BOX), constraint="temp < 3")
