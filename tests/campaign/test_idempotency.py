"""Keys of the client's own: a retry writes nothing, and other content is refused, not lost."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from campaign import crowd
from campaign.lab import campaign
from shell import typed
from weal.campaign import suggestions
from weal.campaign.campaign import Campaign, open_campaign
from weal.errors import AlreadyLabelled, ReusedKey, UnknownId
from weal.store.events import Draft

GOLDEN = Path(__file__).parents[1] / "golden_0_2" / "campaigns.db"


def table(labels, **more):
    """A file of results, as a frame."""
    return pd.DataFrame({"id": list(labels), "value": list(labels.values()), **more})


def refused(one, action, *words):
    """The call is refused with these words in the message, and nothing is written."""
    before = one.store.head("lab")
    with pytest.raises(ReusedKey) as caught:
        action()
    assert one.store.head("lab") == before
    for word in (*words, "Nothing was written", "--key"):
        assert word in str(caught.value)


def as_version_0_2(one, *drafts):
    """Write events as weal 0.2 did: without `call` in the body."""
    one.store.transact("lab", lambda book: drafts)


def label_of_0_2(name, y, key, **more):
    body = {"v": 1, "y": y, "noise": None, "note": None, "repeat": False, **more}
    return Draft("told", body, name, "ann", key)


def test_other_content_under_the_key_of_a_label_is_refused(url):
    with campaign(url) as one:
        first = one.tell("r20", 5, key="K")
        refused(one, lambda: one.tell("r21", 6, key="K"), "'r20': 5.0 (event 3", "'r21': 6.0")
        refused(one, lambda: one.tell("r20", 6, key="K"), "'r20': 5.0", "'r20': 6.0")
        refused(one, lambda: one.tell("r20", 6, key="K", replace=True), "'r20': 6.0")
        refused(one, lambda: one.tell("r20", 5, key="K", noise=0.5), "5.0, noise 0.5")
        refused(one, lambda: one.tell("r20", 5, key="K", sure=True), "5.0, sure")
        refused(one, lambda: one.tell({"r20": 5, "r21": 6}, key="K"), "2 rows with 'r21': 6.0")
        refused(one, lambda: one.tell_file(table({"r20": 6}), key="K"), "'r20': 6.0")
        refused(one, lambda: one.skip("r22", key="K"), "'r22': skip")
        for again in ("5", "5.0", " 5e0 "):  # the same number, and note and name do not count
            assert one.tell("r20", again, key="K", note="late", by="bo") == first
        assert one.tell_file(table({"r20": "5.0"}), key="K").event == first
        assert one.tell("r21", 6, key="L") == first + 1
        assert list(one.read_ledger().quantity().labels) == ["r20", "r21"]


def test_a_batch_with_one_changed_line_is_refused(url):
    labels = {f"r{n}": float(n) for n in range(8)}
    with campaign(url) as one:
        first = one.tell_file(table(labels), key="week 47")
        assert one.tell_file(table(labels), key="week 47").event == first.event
        backwards = dict(reversed(labels.items()))
        assert one.tell(backwards, key="week 47", repeat=True) > 0  # sorted otherwise: the same
        changed = labels | {"r3": 3.5}
        words = ("8 rows with 'r3': 3.0", "8 rows with 'r3': 3.5")
        refused(one, lambda: one.tell_file(table(changed), key="week 47"), *words)
        refused(one, lambda: one.tell_file(table(changed), key="week 47", replace=True), *words)
        refused(one, lambda: one.tell(labels | {"r9": 9.0}, key="week 47"), "9 rows with 'r9': 9.0")
        fewer = {name: y for name, y in labels.items() if name != "r5"}
        refused(one, lambda: one.tell(fewer, key="week 47"), "8 rows with 'r5': 5.0", "7 rows.")
        noisy = table(labels, noise=[0.1, *[None] * 7])
        refused(one, lambda: one.tell_file(noisy, key="week 47"), "'r0': 0.0, noise 0.1")
        refused(one, lambda: one.tell("r0", 0.0, key="week 47"), "8 rows with", "and 2 more")
        preview = one.preview(table(changed), key="week 47")
        assert "'r3': 3.5" in preview.problems[-1]
        assert one.read_ledger().n_labels == 8


def test_a_file_that_was_refused_leaves_its_key_unused(url):
    with campaign(url) as one:
        with pytest.raises(ValueError, match="line 2"):
            one.tell_file(table({"r1": "1.0", "r2": "2.O"}), key="K")
        with pytest.raises(UnknownId):
            one.tell_file(table({"r1": 1.0, "r99": 2.0}), key="K")
        assert one.tell_file(table({"r1": 1.0, "r2": 2.0}), key="K").new == 2


def test_rows_that_were_there_already_are_content_too(url):
    with campaign(url) as one:
        one.tell("r1", 1.0)
        assert one.tell_file(table({"r1": 1.0, "r2": 2.0, "r3": "failed"}), key="K").new == 1
        other = [{"r1": 1.5, "r2": 2.0, "r3": "failed"}, {"r2": 2.0, "r3": "failed"}]
        other += [{"r1": 1.0, "r2": 2.0}, {"r1": 1.0, "r2": 2.0, "r3": 3.0}]
        for labels in other:
            refused(one, lambda labels=labels: one.tell_file(table(labels), key="K", replace=True))
        used = "3 rows (1 was there already)"
        both = (f"{used} (event", "3 rows with 'r1': 1.5.")
        refused(one, lambda: one.tell_file(table(other[0]), key="K"), *both)
        both = (f"{used} with 'r3': failed (event", "'r3': 3.0")
        refused(one, lambda: one.tell_file(table(other[-1]), key="K"), *both)
        one.tell("r1", 9.0, replace=True)
        one.unskip("r3")
        seq = one.read_ledger().seq
        again = one.tell_file(table({"r3": "failed", "r1": 1.0, "r2": 2.0}), key="K", replace=True)
        assert again.counts == {"same": 3}
        assert "its label is 9.0 now" in again.rows[1].message
        assert one.read_ledger().seq == seq


def test_a_call_that_had_nothing_to_write_leaves_its_key_unused(url):
    with campaign(url) as one:
        first = one.tell("r1", 1.0)
        assert one.tell("r1", 1.0, key="K") == first
        assert one.tell("r2", 2.0, key="K") == first + 1
        refused(one, lambda: one.tell("r1", 1.0, key="K"), "'r2': 2.0", "'r1': 1.0")


def test_a_retry_says_what_became_of_its_label(url):
    with campaign(url) as one:
        first = one.tell("r1", 1.0, key="K")
        one.tell("r1", 2.0, replace=True)
        with pytest.warns(UserWarning, match=r"r1: 1.0 was told .* its label is 2.0 now"):
            assert one.tell("r1", 1.0, key="K") == first
        one.withdraw("r1")
        with pytest.warns(UserWarning, match="withdrawn since"):
            assert one.tell("r1", 1.0, key="K") == first
        assert one.read_ledger().n_labels == 0


def test_keys_of_skips(url):
    with campaign(url) as one:
        one.skip(["r1", "r2"], key="K", note="cracked")
        seq = one.read_ledger().seq
        one.skip(["r2", "r1"], key="K")
        one.tell("r1", 1.0)
        with pytest.warns(UserWarning, match="r1: this key skipped it before; it was labelled"):
            one.skip(["r1", "r2"], key="K")  # it comes late: nothing is unlabelled by it
        assert one.read_ledger().seq == seq + 1
        refused(one, lambda: one.skip(["r1", "r3"], key="K"), "'r2': skip", "'r3': skip")
        refused(one, lambda: one.unskip(["r1", "r2"], key="K"), "'r1': undo skip; 'r2': undo skip")
        refused(one, lambda: one.tell("r2", 2.0, key="K"), "'r2': 2.0")
        with pytest.raises(AlreadyLabelled):
            one.skip(["r1", "r2"], key="L")
        one.unskip("r2", key="L")
        with pytest.warns(UserWarning, match="it was labelled since|it was brought back since"):
            one.skip(["r2", "r1"], key="K")
        one.skip("r2")
        with pytest.warns(UserWarning, match="brought it back before; it was skipped since. Noth"):
            one.unskip("r2", key="L")
        assert list(one.read_ledger().skipped) == ["r2"]


def test_keys_of_asks_belong_to_number_name_and_kind(url):
    with campaign(url) as one:
        ids = one.ask(2, key="K")
        same = [one.ask(2, key="K"), one.ask(2, key="K", lease="7d"), one.ask(2, key="K", by="ann")]
        assert same == [ids] * 3
        refused(one, lambda: one.ask(3, key="K"), "2 rows for ann", "3 rows for ann")
        refused(one, lambda: one.ask(key="K"), "1 row for ann")
        refused(one, lambda: one.ask(2, key="K", by="bo"), "for ann (event 3)", "for bo")
        refused(one, lambda: one.ask(2, key="K", check=True), "2 rows drawn at random for ann")
        refused(one, lambda: one.ask(2, key="K", lease="1d"), "lease of 7d", "lease of 1d")
        many = one.ask(33, key="L")
        assert one.ask(33, key="L") == many


def test_a_key_belongs_to_its_campaign_and_those_of_asks_are_apart():
    one = campaign()
    two = open_campaign("other", one.store, pool=one.to_frame("candidates"), id_column="name")
    one.tell("r1", 1.0, key="K")
    two.tell("r2", 2.0, key="K")
    ids = one.ask(2, key="K")
    assert one.ask(2, key="K") == ids
    one.tell("r3", 3.0, key="K/1")  # no row of K, which is of one label
    refused(one, lambda: one.tell("r3", 3.0, key="ask K/0"), f"'{ids[0]}': asked")
    one.tell({"r4": 4.0, "r5": 5.0}, key="M")
    one.tell("r6", 6.0, key="M/1")
    refused(one, lambda: one.tell("r6", 6.0, key="M"), "'r4': 4.0; 'r5': 5.0")
    for key in ("", "x" * 201, "nul\0", 7, "\ud800"):
        for action in (one.tell, one.ask):
            with pytest.raises(ValueError, match="a key"):
                action(*([{"r7": 7.0}] if action == one.tell else []), key=key)
        with pytest.raises(ValueError, match="a key"):
            one.tell_file(table({"r7": 7.0}), key=key)
        with pytest.raises(ValueError, match="a key"):
            one.skip("r7", key=key)


def test_measurements_in_one_call_count_one_by_one(url):
    with campaign(url) as one:
        one.tell(["r1", "r1"], [1.0, 1.0], repeat=True, key="K")
        one.tell(["r1", "r1"], [1.0, 1.0], repeat=True, key="K")
        refused(one, lambda: one.tell("r1", 1.0, repeat=True, key="K"), "2 rows with 'r1': 1.0")
        refused(one, lambda: one.tell(["r1"] * 3, [1.0] * 3, repeat=True, key="K"), "3 rows with")
        assert one.read_ledger().n_labels == 2


def test_keys_that_weal_0_2_wrote_give_the_right_answer(url):
    with campaign(url) as one:
        as_version_0_2(one, label_of_0_2("r1", 1, "one"))  # some wrote whole numbers as such
        assert one.tell("r1", 1.0, key="one") == 3
        refused(one, lambda: one.tell("r2", 1.0, key="one"), "'r1': 1", "'r2': 1.0")
        one.tell("r9", 9.0)
        as_version_0_2(  # r9 was there, and row 1 of the call; r8 failed, and had no key
            one,
            label_of_0_2("r3", 3.0, "K/0"),
            label_of_0_2("r4", 4.0, "K/2", sure=True),
            Draft("skipped", {"v": 1, "on": True, "note": "failed"}, "r8", "ann"),
        )
        lines = {"r3": 3.0, "r9": 9.0, "r4": 4.0, "r8": "failed"}
        refused(one, lambda: one.tell_file(table(lines), key="K"), "'r4': 4.0, sure", "'r4': 4.0;")
        as_version_0_2(one, label_of_0_2("r5", 5.0, "L/0"), label_of_0_2("r6", 6.0, "L/2"))
        lines = {"r5": 5.0, "r9": 9.0, "r6": 6.0, "r8": "failed"}
        assert one.tell_file(table(lines), key="L").counts == {"same": 4}
        assert one.tell_file(table(lines), key="L", repeat=True).counts == {"same": 4}
        refused(one, lambda: one.tell_file(table(lines | {"r9": 9.5}), key="L"), "'r9': 9.5")
        refused(one, lambda: one.tell_file(table(lines | {"r6": 6.5}), key="L"), "6.0", "6.5")
        refused(one, lambda: one.tell_file(table(lines | {"r7": 7.0}), key="L"), "'r7': 7.0")
        refused(one, lambda: one.tell("r5", 5.0, key="L"), "'r6': 6.0")
        far = [label_of_0_2(f"r{n}", 1.0, f"M/{n + 50}") for n in range(10, 39)]
        as_version_0_2(one, *far)
        refused(one, lambda: one.tell({"r10": 1.0}, key="M"), "29 rows")


def test_a_store_of_weal_0_2_gives_the_right_answer(tmp_path):
    place = shutil.copy(GOLDEN, tmp_path / "weal.db")
    with open_campaign("boards", place, by="ann") as one:
        told = {
            one.id: one.body["y"] for one in one.events() if (one.key or "").startswith("tuesday")
        }
        assert len(told) == 3
        seq = one.read_ledger().seq
        assert one.tell(told, key="tuesday") == 15
        first = next(iter(told))
        with pytest.raises(ReusedKey, match=f"3 rows with '{first}': {told[first]}"):
            one.tell(told | {first: 1.0}, key="tuesday", replace=True)
        assert one.read_ledger().seq == seq


def test_of_8_processes_with_one_key_one_is_kept_and_7_are_refused(shared_url):
    with campaign(shared_url) as one:
        before = one.read_ledger().seq
    answers = crowd.together("one_key", shared_url, 10)
    kept = [[k for k in range(8) if each[k]] for each in zip(*answers, strict=True)]
    assert [len(several) for several in kept] == [1] * 10
    with open_campaign("lab", shared_url) as one:
        labels = {name: told.y for name, [told] in one.read_ledger().quantity().labels.items()}
        assert labels == {f"r{r}": float(k) for r, [k] in enumerate(kept)}
        assert one.read_ledger().seq == before + 10


def test_of_8_processes_that_ask_with_one_key_all_are_given_the_same_rows(shared_url):
    campaign(shared_url).close()
    answers = crowd.together("one_ask_key", shared_url)
    assert len({tuple(ids) for ids in answers}) == 1
    with open_campaign("lab", shared_url) as one:
        assert list(one.read_ledger().leases) == answers[0]


def test_rows_that_another_process_asked_under_the_key_are_known_to_be_out(url, monkeypatch):
    with campaign(url) as one:
        other = Campaign("lab", one.store, "ann")
        ledger = one.read_ledger()
        ids = other.ask(2, key="k")
        assert suggestions.ask(one, ledger, 2, "ann", None, False, "k") == ids
        assert set(ids) <= set(one.last_ledger.leases)
        choose = suggestions._choose

        def choose_late(*given):
            monkeypatch.setattr(suggestions, "_choose", choose)
            other.ask(2, key="later")
            return choose(*given)

        monkeypatch.setattr(suggestions, "_choose", choose_late)
        later = one.ask(2, key="later")
        assert other.ask(2, key="later") == later
        assert {*ids, *later} == set(one.last_ledger.leases)


@pytest.mark.usefixtures("bare")
def test_the_commands_refuse_a_key_that_was_used(tmp_path):
    results = tmp_path / "results.csv"
    results.write_text("sample,value\nA-0001,5\nA-0002,6\n")
    assert typed("tell", "bare", "A-0003", "5", "--key", "K").code == 0
    kept = typed("log", "bare", "--json").out
    done = typed("tell", "bare", "A-0004", "6", "--key", "K")
    assert done.code == 2
    assert "'A-0003': 5.0 (event" in done.complaint
    assert "'A-0004': 6.0. Nothing was written" in done.complaint
    for words in (
        ("tell", "bare", "--file", results, "--key", "K"),
        ("skip", "bare", "A-0004", "--key", "K"),
        ("skip", "bare", "A-0003", "--undo", "--key", "K"),
        ("tell", "bare", "A-0003", "5", "--sure", "--key", "K"),
        ("tell", "bare", "A-0003", "5", "--noise", "1", "--key", "K"),
    ):
        assert "the key 'K' was used for" in typed(*words).complaint
        assert typed(*words).code == 2
    dry = typed("tell", "bare", "--file", results, "--key", "K", "--dry-run")
    assert "nothing would be saved" in dry.err
    assert typed("log", "bare", "--json").out == kept
    again = typed("tell", "bare", "A-0003", "5.0", "--key", "K", "--note", "late", "--by", "bo")
    assert (again.code, again.err) == (0, "A-0003: 5.0 was saved before\n")
    assert typed("withdraw", "bare", "A-0003").code == 0
    again = typed("tell", "bare", "A-0003", "5", "--key", "K")
    assert again.code == 0
    assert "was withdrawn since. Nothing was written" in again.err
    assert typed("skip", "bare", "A-0005", "--key", "S").code == 0
    assert typed("skip", "bare", "A-0005", "--undo").code == 0
    again = typed("skip", "bare", "A-0005", "--key", "S")
    brought_back = "this key skipped it before; it was brought back since. Nothing was written"
    assert again.err == f"A-0005: {brought_back}\n"
    assert json.loads(typed("skip", "bare", "A-0005", "--key", "T", "--json").out)


@pytest.mark.usefixtures("bare")
def test_a_retry_of_a_skip_lists_no_row_that_changed_since():
    two = ("A-0005", "A-0006")
    assert typed("skip", "bare", *two, "--key", "S").code == 0
    assert typed("skip", "bare", "A-0006", "--undo", "--key", "SU").code == 0
    done = typed("skip", "bare", *two, "--key", "S", "--json")
    assert json.loads(done.out) == {"skipped": ["A-0005"]}
    assert "A-0006: skipped" not in done.err
    assert typed("skip", "bare", "A-0006").code == 0
    kept = typed("log", "bare", "--json").out
    done = typed("skip", "bare", "A-0006", "--undo", "--key", "SU", "--json")
    assert json.loads(done.out) == {"back": []}
    assert done.err == (
        "A-0006: this key brought it back before; it was skipped since. Nothing was written\n"
    )
    assert typed("log", "bare", "--json").out == kept


@pytest.mark.usefixtures("alloys")
def test_the_command_refuses_a_key_of_an_ask_before_any_row_is_out():
    assert typed("ask", "alloys", "--check", "1", "--key", "K").code == 0
    kept = typed("log", "alloys", "--json").out
    done = typed("ask", "alloys", "-n", "2", "--check", "2", "--key", "K")
    assert done.code == 2
    assert "1 row drawn at random for mk" in done.complaint
    assert "2 rows drawn at random for mk" in done.complaint
    done = typed("ask", "alloys", "--check", "1", "--key", "K", "--by", "bo", "--json")
    assert done.code == 2
    assert "for mk (event" in done.complaint
    assert typed("log", "alloys", "--json").out == kept


@pytest.mark.usefixtures("alloys")
@pytest.mark.parametrize(
    ("first", "others"),
    [
        ("-n 2 --by anna", ["-n 2 --check 1 --by anna", "--check 2 --by anna", "-n 2 --by bert"]),
        ("--check 2", ["-n 2", "-n 2 --check 2", "--check 1", "--check 2 --by bert"]),
        ("-n 1 --by anna", ["--check 1 --by bert", "--check 1 --by anna"]),
        ("-n 1 --check 2", ["-n 1", "--check 2", "-n 1 --check 1", "-n 2 --check 2"]),
    ],
)
def test_a_key_of_the_command_belongs_to_both_numbers_and_to_who_asks(first, others):
    assert typed("ask", "alloys", *first.split(), "--key", "K").code == 0
    kept = typed("log", "alloys", "--json").out
    for words in others:
        done = typed("ask", "alloys", *words.split(), "--key", "K")
        assert done.code == 2, words
        assert "the key 'K' was used for" in done.complaint
    again = typed("ask", "alloys", *first.split(), "--key", "K")
    assert (again.code, typed("log", "alloys", "--json").out) == (0, kept)


@pytest.mark.usefixtures("alloys")
def test_a_command_that_was_killed_between_its_rows_goes_on_where_it_was():
    from weal.campaign.suggestions import ask

    with open_campaign("alloys", by="mk") as one:
        ids = ask(one, one.read_ledger(), 2, "mk", None, False, "K", checks=1)
    assert typed("ask", "alloys", "-n", "2", "--key", "K").code == 2
    done = typed("ask", "alloys", "-n", "2", "--check", "1", "--key", "K", "--json")
    assert [row["id"] for row in json.loads(done.out)][:2] == ids
    assert len(json.loads(done.out)) == 3


def test_a_key_that_is_spelt_as_those_of_ask_is_refused(url):
    with campaign(url) as one:
        one.tell("r1", 1.0, key="ask K/0")
        refused(one, lambda: one.ask(1, key="K"), "'r1': 1.0")


def test_a_file_told_again_as_sure_confirms_its_labels_and_adds_none(url):
    with campaign(url) as one:
        lines = table({"r1": 1.0, "r2": 2.0})
        one.tell_file(lines, repeat=True)
        assert one.tell_file(lines, repeat=True, sure=True).counts == {"confirmed": 2}
        assert one.tell_file(lines, repeat=True, sure=True).counts == {"same": 2}
        assert [(told.y, told.sure) for told in one.read_ledger().quantity().told()] == [
            (1.0, True),
            (2.0, True),
        ]
