"""Bad labels, ids and words, by Python and by command alike: one line, and nothing stored."""

import json
from pathlib import Path

import numpy as np
import pytest

import weal
from shell import DOORS, events, refused, tell, tell_file, typed
from weal.errors import UnknownCampaign

BAD_LABELS = {
    "n.a.": "finite number",
    "nan": "finite number",
    "NaN": "finite number",
    "inf": "finite number",
    "-inf": "finite number",
    "3,14": "decimal point: 3.14",
    "3,140": "write 3.140 or 3140",
    "1,234.5": "thousands",
    "12 MPa": "without a unit",
    "12MPa": "without a unit",
    "1e400": "too large",
    "": "empty",
    "  ": "empty",
    "0x10": "finite number",
    "1_000": "finite number",
}


pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.mark.covering
@DOORS
@pytest.mark.parametrize("label", BAD_LABELS)
def test_a_label_that_is_no_finite_number_is_refused(steel, door, label):
    before = events("steel")
    done = tell(door, "A-5", label)
    refused(done, 2, BAD_LABELS[label])
    assert "the label of A-5" in done.complaint
    assert events("steel") == before


@pytest.mark.parametrize("label", [np.nan, np.inf, -np.inf, None, True, 1j, [1.0], b"3"])
def test_a_label_that_is_no_number_of_python_is_refused(steel, label):
    before = events("steel")
    assert tell("python", "A-5", label).code == 2
    assert events("steel") == before


@DOORS
@pytest.mark.parametrize("noise", ["-1", "nan", "inf", "0,5", "2 MPa", ""])
def test_a_noise_that_is_no_standard_deviation_is_refused(steel, door, noise):
    before = events("steel")
    refused(tell(door, "A-5", "7", noise=noise), 2, "the noise of A-5")
    assert events("steel") == before


@DOORS
def test_an_unknown_campaign_is_answered_with_those_there_are(steel, door):
    refused(tell(door, "A-5", "7", name="stele"), 2, "no campaign 'stele'.*'steel'")


@DOORS
def test_an_unknown_campaign_makes_no_store(door):
    refused(tell(door, "A-5", "7"), 2, "weal new")
    assert list(Path().iterdir()) == []


@DOORS
@pytest.mark.parametrize("given", ["A-99", "a-5", "A-5 ", "A", "5"])
def test_an_unknown_id_is_refused(steel, door, given):
    before = events("steel")
    refused(tell(door, given, "7"), 2, f"no candidate has the id '{given}'")
    refused(typed("skip", "steel", given), 2, "no candidate")
    refused(typed("withdraw", "steel", "A-0", given), 2, "no candidate")
    assert events("steel") == before


@DOORS
@pytest.mark.parametrize("given", ["", "a\0b", "\ud800"])
def test_text_that_cannot_be_an_id_is_refused(steel, door, given):
    refused(tell(door, given, "7"), 2, "an id")


@DOORS
def test_labels_are_taken_for_rows_never_asked_and_for_skipped_ones(steel, door):
    assert tell(door, "A-5", "7").code == 0
    assert typed("skip", "steel", "A-6").code == 0
    assert tell(door, "A-6", "8").code == 0
    [row] = json.loads(typed("list", "--json").out)
    assert (row["labels"], row["skipped"]) == (5, 0)


@DOORS
def test_a_label_that_is_there_is_a_no_op_and_another_is_refused(steel, door):
    before = events("steel")
    assert tell(door, "A-0", "5.5").code == 0
    refused(tell(door, "A-0", "5.6"), 2, "'A-0' has the label 5.5 already")
    refused(typed("skip", "steel", "A-0"), 2, "labelled already")
    assert events("steel") == before


BAD_RESULTS = {
    "unknown columns": ("sample,hardness,colour\nA-5,7,red\n", "not understood: 'colour'"),
    "no value": ("sample,note\nA-5,7\n", "no column 'hardness'"),
    "no id": ("name,hardness\nA-5,7\n", "not understood: 'name'"),
    "two ids": ("id,sample,hardness\nA-5,A-6,7\n", "several columns for the id"),
    "two values": ("sample,hardness,value\nA-5,7,8\n", "several columns for the value"),
    "one bad line": ("sample,hardness\nA-5,7\nA-6,n.a.\nA-7,8\n", "line 3: hardness is 'n.a.'"),
    "two units": ("sample,hardness\nA-5,7 kg\nA-6,12 MPa\n", "line 3: .*without a unit"),
    "comma": ('sample,hardness\nA-5,7\nA-6,"3,140"\n', "line 3: .*write 3.140 or 3140"),
    "infinite": ("sample,hardness\nA-5,7\nA-6,inf\n", "line 3: hardness is 'inf'"),
    "no id in a line": ("sample,hardness\nA-5,7\n,8\n", "line 3: the id is empty"),
    "unknown id": ("sample,hardness\nA-5,7\nA-77,8\n", "no candidate has the id 'A-77'"),
    "labelled": ("sample,hardness\nA-5,7\nA-0,8\n", "'A-0' has the label 5.5 already"),
    "twice": ("sample,hardness\nA-5,7\nA-5,8\n", "'A-5' has the label 7.0 already"),
    "ragged": (
        "sample,note,hardness\nA-5,,7\nA-6,x\n",
        "line 3 .* has 2 cells, but its header has 3",
    ),
    "noise": ("sample,hardness,sd\nA-5,7,-1\n", "line 2: noise is '-1'"),
    "no line": ("sample,hardness\n", "no label"),
    "empty": ("", "is empty"),
    "two columns of a name": ("sample,hardness,hardness\nA-5,7,7\n", "two columns"),
}


@pytest.mark.covering
@DOORS
@pytest.mark.parametrize("kind", BAD_RESULTS)
def test_a_results_file_is_taken_whole_or_not_at_all(steel, door, kind):
    text, says = BAD_RESULTS[kind]
    Path("results.csv").write_text(text)
    before = events("steel")
    refused(tell_file(door, "results.csv"), 2, says)
    assert events("steel") == before


@DOORS
def test_a_results_file_that_is_not_there_is_named(steel, door):
    refused(tell_file(door, "nowhere.csv"), 2, "no file nowhere.csv")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask", "steel", "-n", "0"], "-n"),
        (["ask", "steel", "-n", "x"], "-n"),
        (["ask", "steel", "--check", "-1"], "--check"),
        (["ask", "steel", "--lease", "soon"], "a lease is a time"),
        (["ask", "steel", "--lease", "-3d"], "a lease is a time"),
        (["settings", "steel", "--goal", "-1"], "goal"),
        (["settings", "steel", "--goal", "nan"], "goal"),
        (["new", "other", "--pool", "pool.csv", "--seed", "-1"], "seed"),
        (["new", "other", "--pool", "pool.csv", "--n-start", "0"], "n_start"),
        (["new", "other", "--pool", "pool.csv", "--type", "temp"], "COLUMN=TYPE"),
        (["new", "other", "--pool", "pool.csv", "--features", "sample"], "."),
        (["new", "other", "--pool", "pool.csv", "--features", "tmep"], "no column 'tmep'"),
        (["new", "other", "--pool", "pool.csv", "--acquisition", "magic"], "magic"),
        (["skip", "steel"], "ID"),
        (["withdraw", "steel", "A-7"], "neither labelled nor asked"),
        (["export", "steel", "--what", "nonsense", "--to", "-"], "--what"),
        (["completion", "tcsh"], "bash"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(steel, words, says):
    before = events("steel")
    if "--features" in words and "sample" in words:
        words = [*words, "--id", "sample"]
    refused(typed(*words), 2, says)
    assert events("steel") == before
    assert events("other") == []


def test_an_unknown_campaign_is_an_error_that_callers_may_catch(steel):
    with pytest.raises(UnknownCampaign):
        weal.open_campaign("stele", "weal.db")
