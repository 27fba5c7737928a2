"""The tables that ship with the package."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from weal import samples
from weal.samples import alloys
from weal.tables.columns import row_ids, row_labels
from weal.tables.table import read_table

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_sample.py"


def test_the_script_makes_the_table_byte_for_byte():
    made = runpy.run_path(str(SCRIPT))["table_text"]()
    assert samples.path("alloys.csv").read_bytes() == made.encode()


def test_its_labels_are_the_laboratorys():
    table = read_table(samples.path("alloys.csv"), text=["sample"])
    ids = row_ids(table, "sample")
    y = row_labels(table, "hardness", ids)
    known = np.flatnonzero(~np.isnan(y))
    assert (table.n, len(known)) == (300, 12)
    assert alloys.measure([ids[n] for n in known]) == y[known].tolist()
    assert sum(cell is None for cell in table.cells("molybdenum")) > 5


def test_the_laboratory_says_the_same_each_time_and_differs_between_samples():
    table = read_table(samples.path("alloys.csv"), text=["sample"])
    y = alloys.measure(table.cells("sample"))
    assert y == alloys.measure(table.cells("sample"))
    assert alloys.measure("A-0417") == alloys.measure(["A-0417"])[0]
    assert np.std(y) > 5 * alloys.HARDNESS_NOISE_SD


def test_what_is_not_there_is_answered_with_what_is():
    with pytest.raises(ValueError, match="no sample 'B-1'; its samples are like A-0001"):
        alloys.measure("B-1")
    with pytest.raises(ValueError, match=r"no sample 'steel.csv'; there is alloys\.csv"):
        samples.path("steel.csv")


def test_the_reactions_are_those_that_the_script_writes():
    from scripts import make_reactions

    from weal.samples import reactions

    assert samples.path("reactions.csv").read_bytes() == make_reactions.table_text().encode()
    ids = read_table(samples.path("reactions.csv"), text=["run"]).cells("run")
    errors = np.array(reactions.measure(ids)) - [reactions.truth(name) for name in ids]
    assert np.std(errors) == pytest.approx(reactions.YIELD_NOISE_SD, rel=0.15)
    with pytest.raises(ValueError, match="no run 'B-1'"):
        reactions.measure("B-1")


def test_from_a_shell_a_table_is_copied_and_a_worksheet_filled_in(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shell = runpy.run_module("weal.samples.__main__")["main"]
    assert shell(["copy", "reactions.csv"]) == 0
    before = Path("reactions.csv").read_bytes()
    assert before == samples.path("reactions.csv").read_bytes()
    assert shell(["copy", "reactions.csv"]) == shell(["fill", "reactions.csv"]) == 2
    assert shell(["copy", "../x.csv"]) == shell(["fill", "no.csv"]) == shell(["fill"]) == 2
    assert Path("reactions.csv").read_bytes() == before
    Path("batch.csv").write_text("run,yield,note\nR-001,,\nR-002,7.5,by hand\n")
    assert shell(["fill", "batch.csv"]) == 0
    y = samples.reactions.measure("R-001")
    assert Path("batch.csv").read_text() == f"run,yield,note\nR-001,{y},\nR-002,7.5,by hand\n"
    assert "write: python -m weal.samples copy" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "\n", "run,yield,note\nR-001\n", "run,note\nR-001,\n", "run\n"]
)
def test_a_file_that_is_no_worksheet_is_left_as_it_is(text, tmp_path, capsys):
    shell = runpy.run_module("weal.samples.__main__")["main"]
    file = tmp_path / "batch.csv"
    file.write_text(text)
    assert shell(["fill", str(file)]) == 2
    assert "is not a worksheet of a sample" in capsys.readouterr().err
    assert file.read_text() == text


def test_a_worksheet_that_a_spreadsheet_has_saved_is_filled_in(tmp_path):
    shell = runpy.run_module("weal.samples.__main__")["main"]
    file = tmp_path / "batch.csv"
    file.write_bytes(b"\xef\xbb\xbfrun,yield,note\r\nR-001,,\r\n\r\n")
    assert shell(["fill", str(file)]) == 0
    assert file.read_text() == f"run,yield,note\nR-001,{samples.reactions.measure('R-001')},\n"
