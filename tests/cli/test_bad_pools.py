"""Pools that cannot be used, and odd ones that can, by Python and by command alike."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import weal
from shell import (
    DOORS,
    POOL,
    called,
    events,
    make,
    refused,
    tell,
    typed,
    write,
)

ODD_TEXTS = {
    "4 kB": "x" * 4096,
    "emoji": "\N{TEST TUBE}\N{GRINNING FACE}",
    "right to left": "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}-\N{RIGHT-TO-LEFT OVERRIDE}1",
    "path": "../../x",
    "sql": "'; DROP TABLE weal_event;--",
    "html": "<script>alert(1)</script>",
    "newline": "a\nb",
    "markup": "[bold]x[/bold]",
    "quotes": 'say "it\'s"',
    "option": "--store",
    "dash": "-A17",
    "spaces": " a  b ",
}


pytestmark = pytest.mark.usefixtures("in_a_folder")


def doubled(rows):
    return [*rows, [rows[3][0], 1, 2, ""]]


HEADER = ["sample", "temp", "hours", "hardness"]
ROWS = [HEADER, *([f"A-{k}", 900 + 7 * k % 50, k % 4 + 0.5, ""] for k in range(9))]
BAD_POOLS = {
    "duplicate ids": (doubled(ROWS), {}, "two rows have the id 'A-2' but other inputs: row 3 has"),
    "no ids": ([HEADER, ["", 1, 2, 3]], {}, "1 rows? .*no id"),
    "no rows": ([HEADER], {}, "no rows"),
    "nothing": ([], {}, "is empty"),
    "text as target": ([*ROWS, ["B", 1, 2, "hard"]], {}, "hardness are neither all numbers.*hard"),
    "infinite target": ([*ROWS, ["B", 1, 2, "inf"]], {}, "'hardness' must hold finite"),
    "infinite input": ([*ROWS, ["B", "inf", 2, ""]], {}, r"'temp'.*finite.*1 row.* 'inf' \(B\)"),
    "too large an input": ([*ROWS, ["B", "1e400", 2, ""]], {}, "'temp'.*finite"),
    "text among numbers": (
        [*ROWS, *([f"B-{k}", f"hot {k}", 2, ""] for k in range(3))],
        {},
        r"'temp' holds numbers, but 3 cells are not: 'hot 0' \(B-0\), .*B-2.*number",
    ),
    "all constant": ([HEADER, *([f"A-{k}", 1, 2, ""] for k in range(5))], {}, "no column is left"),
    "no such id column": (ROWS, {"id_column": "name"}, "no column 'name'; it has sample"),
    "nearly a target": (ROWS, {"target": "Hardnes"}, "one named 'hardness': did you mean"),
    "no such type": (ROWS, {"types": ["temp=colour"]}, "'temp' is declared 'colour'"),
    "type of no column": (ROWS, {"types": ["x=number"]}, "'x'"),
}


@DOORS
@pytest.mark.parametrize("kind", BAD_POOLS)
def test_a_pool_that_cannot_be_used_is_refused_and_no_campaign_made(door, kind):
    rows, options, says = BAD_POOLS[kind]
    write("pool.csv", rows)
    refused(make(door, "steel", "pool.csv", **{"target": "hardness", **options}), 2, says)
    assert not Path("weal.db").exists()


@DOORS
def test_one_and_the_text_of_one_are_the_same_id(door):
    import pandas as pd

    frame = pd.DataFrame({"sample": [1, "1", 2.0], "temp": [1.0, 2.0, 3.0]})
    write("pool.csv", [frame.columns, *frame.to_numpy().tolist()])
    pool = frame if door == "python" else "pool.csv"
    refused(make(door, "steel", pool), 2, "two rows have the id '1' but other inputs")


@DOORS
@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("sample,temp,hours,hardness\nA-3,1,2,\n", "A-3"),
        ("sample,temp,hardness\nB-1,1,\n", "no column 'hours'"),
        ("sample,temp,hours,hardness\nB-1,hot,2,\n", "'temp' must hold numbers"),
        ("sample,temp,hours,hardness\nB-1,1,2,hard\n", "hard"),
        ("sample,temp,hours,hardness\n", "no rows"),
    ],
)
def test_candidates_that_cannot_be_added_are_refused(steel, door, more, says):
    Path("more.csv").write_text(more)
    before = events("steel")

    def action():
        with weal.open_campaign("steel", "weal.db") as campaign:
            campaign.add("more.csv")

    done = called(action) if door == "python" else typed("add", "steel", "more.csv")
    refused(done, 2, says)
    assert events("steel") == before


def test_a_pool_of_one_row_asks_that_row_and_no_more():
    write("one.csv", [["sample", "temp", "steel"], ["A-1", 900, "B"]])
    assert make("command", "one", "one.csv").code == 0
    assert json.loads(typed("ask", "one", "--json").out)[0]["id"] == "A-1"
    refused(typed("ask", "one"), 3, ".")
    assert typed("tell", "one", "A-1", "5").code == 0
    refused(typed("ask", "one"), 3, ".")
    with weal.open_campaign("one", "weal.db") as campaign, pytest.raises(weal.Exhausted):
        campaign.ask()


@DOORS
@pytest.mark.parametrize(
    "name", ["a/b", "..", "../x", "a\\b", "", "  ", "x" * 300, "a\nb", "a\x1b"]
)
def test_a_name_that_could_be_a_path_or_nothing_is_refused(door, name):
    Path("pool.csv").write_text(POOL)
    refused(make(door, name, "pool.csv"), 2, "campaign's name")
    refused(tell(door, "A-5", "7", name=name), 2, "campaign's name")
    assert sorted(os.listdir()) == ["pool.csv"]


@pytest.mark.covering
@DOORS
@pytest.mark.parametrize("kind", ODD_TEXTS)
def test_an_odd_id_is_kept_and_shown_as_it_is(door, kind):
    odd = ODD_TEXTS[kind]
    write("pool.csv", [["sample", "temp"], [odd, 900], ["A-1", 950]])
    assert make(door, "steel", "pool.csv").code == 0
    assert tell(door, odd, "-7").code == 0
    assert typed("skip", "steel", "--", "A-1").code == 0
    with weal.open_campaign("steel", "weal.db") as campaign:
        assert [told.id for told in campaign.read_ledger().quantity().told()] == [odd]
    done = typed("tell", "steel", "--", odd, "-7")
    assert done.err.startswith(odd.replace("\n", "\\n") + ": -7 was saved before")
    assert json.loads(typed("withdraw", "steel", "--json", "--", odd).out) == {"withdrawn": [odd]}
    assert json.loads(typed("ask", "steel", "--json").out)[0]["id"] == odd
    shown = typed("ask", "steel", "--again").out
    assert odd.replace("\n", "\\n") in shown
    assert len(shown.splitlines()) == 2


@pytest.mark.covering
@DOORS
@pytest.mark.parametrize("kind", sorted(set(ODD_TEXTS) - {"spaces"}))
def test_columns_may_have_odd_names(door, kind):
    odd = ODD_TEXTS[kind]
    write(
        "pool.csv", [[odd, f"{odd} 1", f"{odd} 2"], *([f"A-{k}", k * k, 7 - k] for k in range(5))]
    )
    if door == "python":
        options = {"id_column": odd, "target": f"{odd} 2"}
        assert (
            called(
                lambda: weal.open_campaign("steel", "weal.db", pool="pool.csv", **options).close()
            ).code
            == 0
        )
    else:
        words = ["--pool", "pool.csv", f"--id={odd}", f"--target={odd} 2"]
        assert typed("new", "steel", *words).code == 0
    with weal.open_campaign("steel", "weal.db") as campaign:
        assert campaign.read_ledger().plan["columns"][0]["name"] == f"{odd} 1"
        assert campaign.read_ledger().quantity().quantity.column == f"{odd} 2"
        assert campaign.read_ledger().n_labels == 5


def scaled(factor, n=14):
    rng = np.random.default_rng(2)
    x = rng.uniform(800, 1000, (n, 2))
    y = factor * (3.0 + np.sin(x[:, 0] / 40.0) + x[:, 1] / 500.0)
    cells = [repr(float(value)) if k < 8 else "" for k, value in enumerate(y)]
    return [["sample", "a", "b", "y"], *([f"A-{k}", *x[k].tolist(), cells[k]] for k in range(n))]


def finite_ask(name="steel"):
    rows = json.loads(typed("ask", name, "-n", "2", "--json").out, parse_constant=pytest.fail)
    for row in rows:
        assert all(np.isfinite([row["mean"], row["sd"], row["low"], row["high"]]))
        assert "inf" not in row["why"]
    return rows


@pytest.mark.parametrize("factor", [0.0, 1e12, 1e-12])
def test_labels_of_any_size_and_constant_ones_give_finite_answers(factor):
    write("pool.csv", scaled(factor))
    assert make("command", "steel", "pool.csv", target="y").code == 0
    for row in finite_ask():
        if factor:
            assert 1.0 < row["mean"] / factor < 8.0


def test_inputs_beyond_float32_and_constant_columns_give_finite_answers():
    rows = scaled(1.0)
    wide = [[*row, row[1] * 1e60 if n else "huge", 7] for n, row in enumerate(rows)]
    wide[0][-1] = "same"
    write("pool.csv", wide)
    done = make("command", "steel", "pool.csv", target="y")
    assert "1 dropped: constant" in done.out
    finite_ask()


@DOORS
def test_of_a_target_with_decimal_commas_only_the_cell_that_is_wrong_is_named(door):
    rows = [f"P{n};{n},5;{n},25" for n in range(1, 9)]
    Path("lab.csv").write_text("\n".join(["sample;x;y", *rows, "P9;9,5;ca. 28,4"]) + "\n")
    done = make(door, "lab", "lab.csv", target="y")
    refused(done, 2, r"must hold numbers, but 1 row does not: 'ca. 28,4' \(P9\)")


def test_levels_that_are_perhaps_one_are_asked_about():
    write(
        "pool.csv", [["sample", "binder"], *([f"P{n}", "alkyd"] for n in range(9)), ["Q", "Alkyd"]]
    )
    done = typed("new", "paints", "--pool", "pool.csv", "--id", "sample")
    assert "binder: 'Alkyd' (1 row) and 'alkyd' (9 rows) are two levels" in done.err
