"""Columns with a fixed sum: which are found, through rounding and gaps, and which are not."""

import json

import numpy as np
import pandas as pd
import pytest

from shell import typed
from weal import ActiveLearner, EnsembleGPRegressor
from weal.tables.candidate_table import read_candidates
from weal.tables.fixed_sums import FixedSum, fixed_sums
from weal.tables.table_options import TableOptions

WORDS = "sum to 100 in every row: a mixture. The model uses them unchanged."


def shares(n=40, p=3, total=100.0, decimals=None, seed=0):
    """Shares (n, p) that sum to `total`, but for rounding."""
    found = total * np.random.default_rng([seed, n, p]).dirichlet(np.ones(p), n)
    return found if decimals is None else np.round(found, decimals)


def others(n=40, d=2, seed=1):
    rng = np.random.default_rng([seed, n])
    return rng.uniform(20, 900, (n, d)) * 10.0 ** np.arange(d)


def names_of(X, names="abcdefghij"):
    return [(one.parts, one.total) for one in fixed_sums(X, list(names)[: X.shape[1]])]


@pytest.mark.parametrize("decimals", [None, 0, 1, 4])
@pytest.mark.parametrize("total", [1.0, 100.0, 2.5e6])
@pytest.mark.parametrize("p", [2, 3, 6])
def test_shares_among_other_columns_are_found(p, total, decimals):
    if decimals is not None:
        decimals -= int(np.log10(total)) - 2
    X = shares(60, p, total, decimals)
    found = names_of(np.column_stack([others(60, 1), X, others(60, 1, seed=2)]))
    assert found == [(tuple("bcdefgh"[:p]), pytest.approx(total, rel=1e-3))]


def test_a_sum_of_thirds_is_rounded():
    X = np.vstack([shares(30, 3, 100.0, 1), [[33.3, 33.3, 33.3], [33.4, 33.3, 33.3]]])
    assert names_of(X) == [(("a", "b", "c"), 100.0)]


def test_two_mixtures_are_told_apart():
    X = np.column_stack([shares(p=3, total=1.0), others(d=1), shares(p=2, seed=5)])
    assert names_of(X) == [(("a", "b", "c"), 1.0), (("e", "f"), 100.0)]


def test_a_column_with_the_total_is_no_part():
    parts = np.random.default_rng(0).uniform(1, 9, (40, 3))
    assert names_of(np.column_stack([parts, parts.sum(axis=1)])) == []  # it varies
    X = shares()
    assert names_of(np.column_stack([X, np.full(40, 100.0)])) == [(("a", "b", "c"), 100.0)]
    dry = X[:, 0] + X[:, 1]  # what is not water
    assert names_of(np.column_stack([X, dry])) == [(("a", "b", "c"), 100.0), (("c", "d"), 100.0)]


@pytest.mark.parametrize(
    "X",
    [
        others(d=4),
        np.eye(3)[np.arange(40) % 3],  # a category
        np.column_stack([np.arange(40.0), 2.0 * np.arange(40.0)]),  # proportional
        np.column_stack([np.arange(40.0), np.arange(40.0)]),
        shares() + np.random.default_rng(3).normal(0, 4, (40, 3)),  # weighed with errors
        np.full((40, 3), 7.0),
        shares(5, 3),  # as many rows as three columns have by chance
        np.full((40, 3), np.nan),
        np.empty((0, 3)),
        np.outer(np.linspace(0, 1, 40), np.ones(30)) + 1e-3,  # curves
        np.column_stack([others(d=1), np.where(np.arange(40) % 2, 1e308, -1e308)]),
    ],
)
def test_other_columns_are_no_mixture(X):
    assert names_of(X, [f"c{n}" for n in range(X.shape[1])]) == []


def test_rows_with_a_gap_are_left_out():
    X = shares()
    X[::5, 1] = np.nan
    assert names_of(X) == [(("a", "b", "c"), 100.0)]


def test_the_sentence_names_the_columns():
    three = FixedSum(("solvent_a", "solvent_b", "water"), 100.0)
    assert three.words() == f"solvent_a, solvent_b and water {WORDS}"
    assert FixedSum(("a", "b"), 1.0).words().startswith("a and b sum to 1 in")
    many = FixedSum(tuple(f"c{n}" for n in range(9)), 1.0).words()
    assert many.startswith("c0, c1, c2, c3, c4 and 4 more columns sum to 1 in")


def text_table(path, separator, comma):
    """A table of shares in %, one cell missing, with a decimal comma and percent signs."""
    X, T = shares(30, 3, 100.0, 1), others(30, 1)
    lines = [separator.join(["id", "temp", "solvent_a", "solvent_b", "water"])]
    for n, (t, row) in enumerate(zip(T[:, 0], X, strict=True)):
        cells = [f"{t:.0f}", *(f"{one:.1f} %".replace(".", comma) for one in row)]
        if n == 7:
            cells[2] = ""
        lines.append(separator.join([f"r{n}", *cells]))
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(("separator", "comma"), [(",", "."), (";", ",")])
def test_a_table_with_percent_signs_gaps_and_decimal_commas_says_so(tmp_path, separator, comma):
    path = text_table(tmp_path / "t.csv", separator, comma)
    said = [f"solvent_a, solvent_b and water {WORDS}"]
    notes = read_candidates(str(path), TableOptions()).notes
    assert [note for note in notes if "mixture" in note] == said
    frame = pd.read_csv(path, sep=separator, decimal=comma)
    assert ActiveLearner(frame, id_column="id").notes == said


def test_weal_new_and_status_say_it_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEAL_STORE", raising=False)
    X = shares(30, 3)
    frame = pd.DataFrame(X, columns=["oil", "wax", "water"])
    frame["y"] = np.where(np.arange(30) < 12, X @ [1.0, -0.5, 0.2], np.nan)
    frame.to_csv("t.csv", index=False)
    made = typed("new", "mix", "--pool", "t.csv", "--target", "y")
    assert made.code == 0
    said = " ".join((made.out + made.err).split())
    assert said.count(f"oil, wax and water {WORDS}") == 1
    status = typed("status", "mix").out
    assert status.count("  mixture        oil, wax and water sum to 100") == 1
    body = json.loads(typed("status", "mix", "--json").out)
    assert body["beliefs"]["mixtures"] == [f"oil, wax and water {WORDS}"]


def test_two_shares_are_a_mixture_and_not_twins(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame(shares(30, 2), columns=["oil", "water"]).to_csv(path, index_label="id")
    notes = read_candidates(str(path), TableOptions()).notes
    assert [note for note in notes if "oil" in note] == [f"oil and water {WORDS}"]


def test_a_redundant_share_costs_nothing():
    """Mean of log10 NMSE over 4 functions, with all shares less without one, whichever it is."""
    gaps = []
    for seed in range(4):
        P = shares(200, 3, 1.0, seed=seed)
        rng = np.random.default_rng(seed)
        y = P @ rng.normal(size=3) + 2.0 * P[:, 0] * P[:, 1] + np.exp(-3.0 * P[:, seed % 3])
        y = (y - y.mean()) / y.std()
        noisy = y[:20] + 0.05 * rng.standard_normal(20)
        errors = []
        for X in (P, *(np.delete(P, one, axis=1) for one in range(3))):
            model = EnsembleGPRegressor(random_state=0).fit(X[:20], noisy)
            errors.append(np.log10(np.mean((model.predict(X[20:]) - y[20:]) ** 2)))
        gaps.append(errors[0] - np.mean(errors[1:]))
    assert np.mean(gaps) < 0.02
