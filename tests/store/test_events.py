"""Events: the chain of hashes, and what may be an id or a name."""

import hashlib
import json
import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.errors import DamagedStore
from weal.store import events
from weal.store.events import Draft, check_id, check_name

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
DRAFTS = st.builds(
    Draft,
    kind=st.sampled_from(events.EVENT_KINDS),
    body=st.dictionaries(st.text(), VALUES, max_size=3).map(lambda body: {**body, "v": 1}),
    id=st.none() | TEXT,
    who=TEXT,
    key=st.none() | st.text("abc", min_size=1, max_size=9),
)


def three():
    drafts = [Draft("told", {"v": 1, "y": y}, id=f"s{y}", who="ann") for y in (1.5, -2.0, 3.25)]
    return events.write("alloys", drafts, 4, "ab" * 32, NOW)


@given(st.lists(DRAFTS, min_size=1, max_size=4))
def test_what_is_written_is_read_back(drafts):
    previous = ""
    for draft, row in zip(drafts, events.write("alloys", drafts, 0, "", NOW), strict=True):
        event = events.read(row, previous, "here")
        assert (event.kind, event.id, event.who, event.key) == (
            draft.kind, draft.id, draft.who, draft.key
        )  # fmt: skip
        assert event.body == draft.body
        assert event.time == NOW
        previous = event.hash


def test_the_hash_is_blake2b_of_the_hash_before_and_the_row():
    row = three()[0]
    text = json.dumps(["ab" * 32, *row[:-1]], separators=(",", ":"))
    assert row[-1] == hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def test_numbers_follow_on_and_each_hash_covers_the_one_before():
    first, second, third = three()
    assert [row[1] for row in (first, second, third)] == [5, 6, 7]
    assert events.read(second, first[-1], "here").seq == 6
    with pytest.raises(DamagedStore, match="event 7 of 'alloys' does not match its hash"):
        events.read(third, first[-1], "here")


@pytest.mark.parametrize("field", range(9))
def test_a_change_in_any_field_is_found(field):
    row = list(three()[1])
    row[field] = {"kind": "asked", "seq": 8}.get(field, row[field])
    row[field] = row[field] + 1 if isinstance(row[field], int) else f"{row[field] or ''}x"
    with pytest.raises(DamagedStore, match="weal doctor --store here"):
        events.read(row, three()[0][-1], "here")


@pytest.mark.parametrize(("field", "value"), [(0, None), (1, "6"), (4, b"{}"), (6, 7), (8, None)])
def test_a_value_of_the_wrong_type_is_damage(field, value):
    row = list(three()[1])
    row[field] = value
    with pytest.raises(DamagedStore):
        events.read(row, three()[0][-1], "here")


def test_a_row_without_the_one_before_it_is_damage():
    with pytest.raises(DamagedStore):
        events.read(three()[1], None, "here")


def test_times_are_utc_whatever_the_clock_of_the_writer():
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert events.timestamp(there) == events.timestamp(NOW) == "2026-03-01T12:30:15.123456+00:00"


@pytest.mark.parametrize(
    ("draft", "word"),
    [
        (Draft("said", {"v": 1}), "not 'said'"),
        (Draft("told", {"y": 1.0}), "version"),
        (Draft("told", {"v": 1, 1: "a", "1": "b"}), "JSON"),
        (Draft("told", {"v": 1}, id=7), "check_id"),
        (Draft("told", {"v": 1}, id=""), "empty"),
        (Draft("told", {"v": 1}, who="a\0"), "NUL"),
        (Draft("told", {"v": 1}, who=None), "who"),
        (Draft("told", {"v": 1}, key="k" * 201), "200"),
        (Draft("told", {"v": 1}, key="\ud800"), "surrogate"),
        (Draft("told", {"v": 1, "y": math.nan}), "JSON compliant"),
    ],
)
def test_a_draft_that_could_not_be_read_back_is_refused(draft, word):
    with pytest.raises(ValueError, match=word):
        events.write("alloys", [draft], 0, "", NOW)


@pytest.mark.parametrize(
    "given", [1, "1", 1.0, np.int64(1), np.float32(1.0), np.float64(1.0), np.uint8(1), np.str_("1")]
)
def test_one_is_one_however_it_is_written(given):
    assert check_id(given) == "1"
    assert type(check_id(given)) is str


@pytest.mark.parametrize(
    "given",
    ["A-0417", " a ", "01", "1.0", "x" * 4096, "🧪👩‍🔬", "מדגם", "../../x", "'; DROP TABLE ev;--",
     "<script>", "a\nb", "\t", "é", "e\u0301"],
)  # fmt: skip
def test_ids_are_kept_verbatim(given):
    assert check_id(given) == given


def test_a_number_with_a_fraction_is_its_own_text():
    assert check_id(1.5) == "1.5"
    assert check_id(-3) == "-3"


@pytest.mark.parametrize(
    "given", ["", "a\0b", "\udc80", None, True, math.nan, math.inf, b"a", ["a"], np.bool_(True)]
)
def test_what_cannot_be_an_id_is_refused(given):
    with pytest.raises(ValueError, match="id"):
        check_id(given)


@pytest.mark.parametrize("name", ["alloys", "Häuser 7", "🧪", "x" * 100, "a.b", "'; DROP", "-"])
def test_names_of_campaigns(name):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "a\\b", "..", "a..b", "x" * 101, "x" * 300, "a\nb", "\0", "\ud800",
             None, 7]
)  # fmt: skip
def test_names_that_are_refused(name):
    with pytest.raises(ValueError, match="campaign's name"):
        check_name(name)
