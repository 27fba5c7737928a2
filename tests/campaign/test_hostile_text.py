"""What is accepted can be exported, and told again: ids, notes and names as nasty as they come."""

import csv
import json
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shell import typed
from weal.campaign.campaign import open_campaign
from weal.campaign.export import export
from weal.store.events import Draft
from weal.tables.text_records import (
    escape,
    escape_control_characters,
    unescape,
    unescape_control_characters,
)

NASTY = [
    "=1+1",
    "'=x",
    "''=x",
    "-2",
    "+x",
    "@a",
    "\t=x",
    "\r",
    "a\rb",
    "a\r\nb",
    "a\nb",
    "'",
    '"',
    ",;|",
]
NASTY += [
    "\\u{d}",
    "\\u{5c}u{d}",
    "\\",
    "\\u{",
    "\x1b[2J",
    "a\x85",
    "a\u2028b",
    "\ufeff",
    "\u202e",
    "NA",
    "nan",
]
NASTY += [
    "007",
    "1e5",
    "_x000D_",
    "_x0041_",
    "#N/A",
    "<script>",
    "\uff1dx",
    "é",
    "e\u0301",
    "😀",
    "\ue000",
    "\uffff",
]
PIECES = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
TEXT = st.lists(PIECES, min_size=1, max_size=3).map("".join).filter(lambda text: text.strip())
SLOW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=4).map("".join))
def test_guarded_text_is_read_back_and_does_not_run(text):
    written = escape(text)
    assert not written or written[0] not in "=+-@\t\r"
    assert all(letter.isprintable() or letter in "\n\t" or ord(letter) > 159 for letter in written)
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert (
            unescape(written)
            == unescape_control_characters(escape_control_characters(text))
            == text
        )


def begun(ids):
    pool = pd.DataFrame({"name": ids, "x": [n * n % 7 + 0.5 * n for n in range(len(ids))]})
    return open_campaign("odd", "memory:", pool=pool, id_column="name", by="mk", n_start=3)


@pytest.mark.filterwarnings("ignore:.*a spreadsheet runs nothing")
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".xlsx"])
@SLOW
@given(
    ids=st.lists(TEXT, min_size=3, max_size=6, unique=True),
    notes=st.lists(st.none() | TEXT, min_size=6, max_size=6),
)
@example(ids=NASTY[:7], notes=NASTY[7:14])
@example(ids=NASTY[14:21], notes=NASTY[20:27])
@example(ids=NASTY[24:31], notes=NASTY[28:35])
def test_exported_labels_are_told_again(tmp_path_factory, ending, ids, notes):
    path = tmp_path_factory.mktemp("labels") / f"labels{ending}"
    with begun(ids) as one, begun(ids) as other:
        for n, (name, note) in enumerate(zip(ids, notes, strict=False)):
            one.tell(name, float(n), note=note, noise=0.5 if n % 2 else None)
        export(one, "labels", path)
        other.tell_file(path)
        told = [each.read_ledger().quantity().told() for each in (one, other)]
        kept = [[(label.id, label.y, label.noise, label.note) for label in some] for some in told]
        assert kept[0] == kept[1]


@pytest.mark.filterwarnings("ignore:.*a spreadsheet runs nothing")
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_exported_candidates_begin_the_same_campaign(tmp_path, ending):
    ids = [text for text in NASTY if text.strip()]
    with begun(ids) as one:
        export(one, "candidates", tmp_path / f"c{ending}")
        given = {"pool": tmp_path / f"c{ending}", "id_column": "name"}
        with open_campaign("again", "memory:", **given) as again:
            assert again.store.existing_ids("again", ids) == set(ids)


@pytest.mark.parametrize(
    ("note", "says"),
    [
        ("x\udce9", r"half a character.*'x\\udce9'; the text was read with a wrong encoding"),
        ("x\0", "cannot contain a NUL character"),
        ("x" * 10_001, "at most 10,000 characters, not 10,001"),
        (5, "is text, not 5"),
        ({"a": 1}, "is text, not {'a': 1}"),
        (b"x", "is text, not b'x'"),
    ],
)
def test_a_note_that_is_no_text_is_refused(note, says):
    with begun(["a", "b", "c"]) as one:
        for use in (
            lambda: one.tell("a", 1.0, note=note),
            lambda: one.skip("a", note=note),
            lambda: one.withdraw("b", note=note),
        ):
            one.read_ledger().leases.get("b") or one.ask(3)
            seq = one.read_ledger().seq
            with pytest.raises(ValueError, match=f"note.* {says}|note.*{says}"):
                use()
            assert one.read_ledger().seq == seq


def test_text_is_checked_at_every_border():
    with begun(["a", "b", "c"]) as one:
        for use in (
            lambda: one.tell("a", 1.0, by="x\udce9"),
            lambda: one.tell("a", 1.0, by="x" * 201),
            lambda: one.tell("a", 1.0, key="x\udce9"),
            lambda: one.tell("x" * 10_001, 1.0),
            lambda: one.tell(10**5000, 1.0),
            lambda: one.tell("a", 10**5000),
            lambda: one.store.transact(
                "odd", lambda book: [Draft("settings", {"v": 1, "x": "\ud800"})]
            ),
        ):
            with pytest.raises(ValueError, match=r"character|digits|too large"):
                use()
        assert one.read_ledger().seq == 2
    table = pd.DataFrame({"x": pd.Series(["a\udce9", "b", "b", "c"] * 2, dtype=object)})
    with pytest.raises(ValueError, match="'x' has a lone surrogate"):
        open_campaign("odd", "memory:", pool=table)


def test_a_note_has_no_blanks_around_it():
    with begun(["a", "b", "c"]) as one:
        one.tell("a", 1.0, note="  batch 7\n")
        one.tell("b", 1.0, note="   ")
        assert [told.note for told in one.read_ledger().quantity().told()] == ["batch 7", None]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".json", ".jsonl", ".xlsx"])
@pytest.mark.filterwarnings("ignore:.*a spreadsheet runs nothing")
def test_what_an_older_store_holds_is_exported_with_escapes(tmp_path, ending):
    """Half a character, a number, a dictionary and a long text, written past the checks."""
    with begun(["a", "b", "c", "d"]) as one:
        for name, note in zip("abcd", ["x\udce9", 5, {"a": [1]}, "y" * 30_000], strict=True):
            body = {"v": 1, "y": 1.0, "noise": None, "note": note, "repeat": False}
            draft = Draft("told", body, name)
            checked, events = _old(draft)
            one.store.transact("odd", lambda book, draft=checked: [draft])
            events.undo()
        assert export(one, "labels", tmp_path / f"labels{ending}") == 4
        assert export(one, "events", tmp_path / f"events{ending}") == 6
    if ending == ".csv":
        with open(tmp_path / "labels.csv", newline="", encoding="utf-8") as file:
            notes = [row["note"] for row in csv.DictReader(file)]
        assert notes == ["x\\u{dce9}", "5", '{"a": [1]}', "y" * 30_000]
    if ending == ".json":
        notes = [row["note"] for row in json.loads((tmp_path / "labels.json").read_text())]
        assert notes == ["x\udce9", "5", '{"a": [1]}', "y" * 30_000]


def _old(draft):
    """The draft, in a store that does not look at bodies, as it once was."""
    patch = pytest.MonkeyPatch()
    patch.setattr("weal.store.events._checked_body", lambda draft: json.dumps(draft.body))
    return draft, patch


@pytest.mark.usefixtures("steel")
def test_bytes_that_are_no_text_are_refused_by_the_command():
    done = typed("tell", "steel", "A-5", "7", "--note", os.fsdecode(b"x\xe9"))
    assert done.code == 2
    assert r"half a character" in done.complaint
    assert typed("tell", "steel", os.fsdecode(b"x\xe9"), "7").code == 2
    assert typed("tell", "steel", "A-5", "7", "--by", os.fsdecode(b"x\xe9")).code == 2
    assert typed("export", "steel", "--to", "labels.csv").code == 0


@pytest.mark.usefixtures("steel")
def test_control_characters_do_not_reach_a_terminal():
    assert typed("tell", "steel", "A-5", "7", "--note", "\x1b[2J\x07").code == 0
    done = typed("export", "steel", "--to", "-")
    assert "\\u{1b}[2J\\u{7}" in done.out
    assert "\x1b" not in done.out + done.err


def test_text_that_would_run_is_noted(tmp_path):
    with begun(["=1+1", "b", "c"]) as one:
        one.tell(["=1+1", "b"], [1.0, -2.0], note="@x")
        with pytest.warns(
            UserWarning, match="3 cells are escaped so that a spreadsheet runs nothing"
        ):
            export(one, "labels", tmp_path / "labels.csv")
        for ending in ("json", "xlsx", "parquet"):
            export(one, "labels", tmp_path / f"labels.{ending}")
    rows = list(csv.reader((tmp_path / "labels.csv").read_text().splitlines()))
    assert [row[:2] for row in rows[1:]] == [["'=1+1", "1.0"], ["b", "-2.0"]]
    assert pd.read_parquet(tmp_path / "labels.parquet")["id"].tolist() == ["=1+1", "b"]


def test_names_of_columns_that_would_run_are_guarded_and_read_back(tmp_path):
    pool = pd.DataFrame({"=id": ["a", "b", "c"], "-x": [1.5, 0.5, 3]})
    one = open_campaign("odd", "memory:", pool=pool, id_column="=id")
    with pytest.warns(UserWarning, match="2 cells"):
        export(one, "candidates", tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().splitlines()[0] == "'=id,'-x"
    given = {"pool": tmp_path / "c.csv", "id_column": "=id"}
    with open_campaign("again", "memory:", **given) as again:
        assert again.store.existing_ids("again", "abc") == set("abc")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such rights")
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".json"])
@pytest.mark.parametrize(("mask", "rights"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_exports_honour_the_umask(tmp_path, ending, mask, rights):
    with begun(["a", "b", "c"]) as one:
        before = os.umask(mask)
        try:
            export(one, "candidates", tmp_path / f"c{ending}")
        finally:
            os.umask(before)
    assert (tmp_path / f"c{ending}").stat().st_mode & 0o777 == rights


@pytest.mark.usefixtures("steel")
def test_a_file_that_is_there_stays_unless_forced():
    Path("mine.csv").write_text("mine")
    Path("link.csv").symlink_to("mine.csv")
    Path("loose.csv").symlink_to("nowhere.csv")
    for name, what in (("mine", "a file"), ("link", "a link"), ("loose", "a link")):
        done = typed("export", "steel", "--to", f"{name}.csv")
        assert done.code == 2
        assert f"there is {what} {name}.csv already" in done.complaint
        assert "--force" in done.complaint
    assert typed("export", "steel", "--to", "link.csv", "--force").code == 0
    assert not Path("link.csv").is_symlink()
    assert Path("mine.csv").read_text() == "mine"
    assert not Path("nowhere.csv").exists()


def test_nobody_is_overwritten_who_was_faster(tmp_path, monkeypatch):
    from weal.tables import table_writer

    def slow(table, draft):
        (tmp_path / "c.csv").write_text("theirs")

    monkeypatch.setitem(table_writer.WRITERS, ".csv", slow)
    with begun(["a", "b", "c"]) as one, pytest.raises(ValueError, match=r"c\.csv already"):
        export(one, "candidates", tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["c.csv"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".json"])
def test_a_full_disk_names_the_file(small_disk, ending):
    one = begun([f"{n} {os.urandom(60).hex()}" for n in range(25_000)])
    with pytest.raises(OSError, match=rf"No space left.*not written: '.*labels{ending}'"):
        export(one, "candidates", small_disk / f"labels{ending}")
    assert list(small_disk.iterdir()) == []
