"""Labels are corrected, repeated, confirmed, withdrawn and undone where they are seen."""

import re

import pytest

import weal
from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, measured
from weal.store.protocol import open_store
from web.test_tokens import Person, token
from web.visiting import Visitor, plain

HOSTILE = ['"><script>alert(1)</script>', "\u202e\u2066x", "-rf", "x" * 10_000]


def labels(url, id_, name="steel"):
    with weal.open_campaign(name, url) as one:
        found = one.read_ledger().labels_of(id_)
    return {key: [(told.y, told.sure) for told in several] for key, several in found.items()}


def ledger(url, name="steel"):
    with weal.open_campaign(name, url) as one:
        return one.read_ledger()


def count(url, name="steel"):
    return len(open_store(url).read(name))


def row_form(person, id_, what="row/label", name="steel"):
    return person.form(f"/c/{name}/row?id={id_}", f"/c/{name}/{what}")


def send(person, form, path="row/label", name="steel", **more):
    return person.post(f"/c/{name}/{path}", {**form, **more})


def undo_button(person, page="/c/steel/bench"):
    """What the button says, and the event that it names."""
    text = person.get(page).text
    found = re.search(r'name="event" value="(\d+)".*?(Undo: .*?)<kbd>', text, re.S)
    return (" ".join(plain(found[2]).split()), found[1]) if found else (None, None)


def undo(person, event=None, name="steel", **more):
    said, number = undo_button(person, f"/c/{name}/bench")
    form = {"form": person.secret(), "event": event or number, **more}
    return said, person.post(f"/c/{name}/undo", form)


@pytest.fixture
def taught(steel):
    with weal.open_campaign("steel", steel, by="ann") as one:
        one.tell({f"A-{n}": 10.0 + 0.5 * n for n in range(12)})
    return steel


def test_a_label_is_corrected_repeated_confirmed_and_withdrawn_from_its_row(servers, taught):
    with Visitor(servers.start(taught), "bob") as bob:
        wrong = send(bob, row_form(bob, "A-3"), what="correct", value="1150")
        assert "1150 is far from" in plain(wrong.text)  # the question of the bench
        assert labels(taught, "A-3") == {"hardness": [(11.5, False)]}
        asked = bob.form("/c/steel/row?id=A-3", "/c/steel/row/label")
        other = send(bob, asked, what="correct-anyway", value="1250", asked="1150")
        assert "1250 is far from" in plain(other.text)  # Yes was said to another number
        assert count(taught) == 14
        for what, more, now in (
            ("correct", {"value": "11,75"}, [(11.75, False)]),
            ("correct", {"value": "11.75", "note": "second scale"}, [(11.75, False)]),
            ("confirm", {}, [(11.75, True)]),
            ("repeat", {"value": "12"}, [(11.75, True), (12.0, False)]),
            ("correct", {"value": "11.5"}, [(12.0, False), (11.5, False)]),
            ("withdraw", {}, [(11.5, False)]),
            ("correct-anyway", {"value": "1150", "asked": "1150"}, [(1150.0, False)]),
        ):
            answer = send(bob, row_form(bob, "A-3"), what=what, **more)
            assert answer.status_code == 303, plain(answer.text)
            assert labels(taught, "A-3") == {"hardness": now}
        bad = send(bob, row_form(bob, "A-3"), what="correct", value="much")
        assert bad.status_code == 422
        assert 'value="much"' in bad.text  # what was typed is kept
        page = plain(bob.get("/c/steel/row?id=A-3").text)
        assert "weal " not in page.replace(" weal ", "", 1)
        assert "--" not in page


def test_two_windows_on_one_row_agree(servers, taught):
    with Visitor(servers.start(taught), "ann") as ann, Visitor(servers.start(taught), "bob") as bob:
        for what in ("correct", "repeat", "confirm", "withdraw", "failed"):
            old = row_form(ann, "A-4")
            first = labels(taught, "A-4")["hardness"][0][0]
            send(bob, row_form(bob, "A-4"), what="correct", value=str(first + 0.25))
            before = count(taught)
            answer = send(ann, old, what=what, value="12.25")
            assert answer.status_code == 409
            said = plain(answer.text)
            assert f"A-4 has changed since: corrected to {first + 0.25} (bob)" in said
            assert "Nothing was saved" in said
            assert count(taught) == before
        again = re.search(r'name="seen" value="(\d+)"', answer.text)[1]
        assert int(again) == before  # the form that comes back is about the present label


def test_forms_sent_twice_write_once_and_with_other_content_nothing(servers, taught):
    with Visitor(servers.start(taught)) as ann:
        form = row_form(ann, "A-5")
        for _ in range(3):
            assert send(ann, form, what="correct", value="12.25").status_code == 303
        assert count(taught) == 15
        other = send(ann, form, what="correct", value="12.5")
        assert (other.status_code, "was not saved" in plain(other.text)) == (409, True)
        assert send(ann, form, what="withdraw").status_code == 409
        skipped = {"form": form["form"], "key": "k", "id": "A-30", "reason": "no material"}
        for _ in range(2):
            assert ann.post("/c/steel/skip", skipped).status_code == 303
        back = row_form(ann, "A-30", "row/unskip")
        for _ in range(2):
            assert send(ann, back, "row/unskip").status_code == 303
        late = ann.post("/c/steel/skip", skipped)  # a retry from before
        assert (late.status_code, "has changed since" in plain(late.text)) == (409, True)
        assert count(taught) == 17
        assert ledger(taught).skipped == {}


def test_undo_goes_back_step_by_step_on_any_server_after_a_restart(servers, taught):
    one, other = servers.start(taught), servers.start(taught)
    with weal.open_campaign("steel", taught, by="ann") as campaign:
        campaign.ask_for(["A-20", "A-21", "A-22"])
    with Visitor(one) as ann, Visitor(other) as elsewhere:
        ann.tell("steel", "A-20", "11.5", ann.secret(), "k1")
        ann.post("/c/steel/skip", {"form": ann.secret(), "key": "k2", "id": "A-21",
                                   "reason": "sample broken", "note": "two halves"})  # fmt: skip
        ann.post("/c/steel/failed", {"form": ann.secret(), "key": "k3", "id": "A-22"})
        send(ann, row_form(ann, "A-6"), what="correct", value="12.75")
        send(ann, row_form(ann, "A-7"), what="confirm")
        send(ann, row_form(ann, "A-8"), what="withdraw")
        assert "Could not be measured: sample broken: two halves" in " ".join(
            plain(ann.get("/c/steel/row?id=A-21").text).split()
        )
        said = []
        for person in (ann, elsewhere) * 3:
            text, answer = undo(person)
            said.append(text)
            assert answer.status_code == 303
        assert said == [
            "Undo: A-8 withdrawn", "Undo: A-7 confirmed", "Undo: A-6 corrected to 12.75",
            "Undo: A-22 failed", "Undo: A-21 skipped", "Undo: A-20 11.5",
        ]  # fmt: skip
        assert undo_button(ann) == (None, None)
    with Visitor(servers.start(taught)) as ann:
        assert undo_button(ann) == (None, None)
        now = ledger(taught)
        assert {name: several[0].y for name, several in now.quantity().labels.items()} == {
            f"A-{n}": 10.0 + 0.5 * n for n in range(12)
        }
        assert not now.skipped
        assert not now.failures.labels
        assert list(now.leases) == ["A-20", "A-21", "A-22"]  # they are ann's again
        assert now.quantity().labels["A-8"][0].who == "ann"


def test_an_undo_sent_twice_or_of_another_person_writes_nothing(servers, taught):
    with Visitor(servers.start(taught)) as ann, Visitor(servers.start(taught), "bob") as bob:
        ann.tell("steel", "A-20", "11.5", ann.secret(), "k1")
        ann.tell("steel", "A-21", "11.75", ann.secret(), "k2")
        _, event = undo_button(ann)
        before = count(taught)
        refused = undo(bob, event)[1]
        assert (refused.status_code, count(taught)) == (409, before)
        for _ in range(3):
            assert undo(ann, event)[1].status_code == 303
        assert count(taught) == before + 1
        assert undo_button(ann)[0] == "Undo: A-20 11.5"
        _, event = undo_button(ann)
        send(bob, row_form(bob, "A-20"), what="correct", value="12")
        answer = undo(ann, event)[1]  # a page from before
        assert answer.status_code == 409
        assert "A-20 has changed since: corrected to 12.0 (bob). Nothing was undone." in plain(
            answer.text
        )
        assert labels(taught, "A-20") == {"hardness": [(12.0, False)]}
        assert undo_button(ann) == (None, None)
        assert undo_button(bob)[0] == "Undo: A-20 corrected to 12"
        for event in ("1", "999999"):
            assert undo(ann, event)[1].status_code == 409


def test_all_kinds_of_quantities_are_changed_and_undone(servers, url):
    with measured(YIELD, PURITY, CRYSTALLISED, store=url) as one:
        one.tell("R-1", {"yield": 61.0, "purity": 95.0, "crystallised": "yes"})
        one.fail("R-2", note="stirrer stopped")
    with Visitor(servers.start(url)) as ann:
        page = ann.get("/c/runs/row?id=R-1").text
        numbers = [int(one) for one in re.findall(r'name="event" value="(\d+)"', page)]
        form = row_form(ann, "R-1", name="runs")
        word = {**form, "event": numbers[2], "what": "correct", "value": "no"}
        assert send(ann, word, name="runs").status_code == 303
        assert labels(url, "R-1", "runs")["crystallised"] == [(0.0, False)]
        wrong = row_form(ann, "R-1", name="runs")
        maybe = send(ann, {**wrong, "event": count(url, "runs")}, name="runs",
                     what="correct", value="maybe")  # fmt: skip
        assert maybe.status_code == 422
        assert send(ann, wrong, name="runs", what="failed", note="cold").status_code == 303
        assert labels(url, "R-1", "runs") == {"worked": [(0.0, False)]}
        cured = row_form(ann, "R-2", name="runs")
        value = send(ann, cured, name="runs", what="correct", value="3")
        assert value.status_code == 422
        assert send(ann, cured, name="runs", what="withdraw").status_code == 303
        assert labels(url, "R-2", "runs") == {}
        said = [undo(ann, name="runs")[0] for _ in range(3)]
        assert said == ["Undo: R-2 withdrawn", "Undo: R-1 failed",
                        "Undo: R-1 corrected to crystallised no"]  # fmt: skip
        assert labels(url, "R-1", "runs") == {
            "yield": [(61.0, False)], "purity": [(95.0, False)], "crystallised": [(1.0, False)]
        }  # fmt: skip
        assert labels(url, "R-2", "runs") == {"worked": [(0.0, False)]}


FORMS = ("tell", "failed", "row/label", "skip", "row/unskip", "undo")


def offered(person, *pages):
    found = " ".join(person.get(f"/c/steel/{one}").text for one in pages)
    return {one for one in FORMS if f'action="/c/steel/{one}"' in found}


@pytest.mark.parametrize(
    ("may", "has"),
    [
        ("read", set()),
        ("ask,read", set()),
        ("tell,read", {"tell", "failed", "row/label"}),
        ("skip,read", {"skip", "row/unskip"}),
        ("measure", {"tell", "failed", "row/label", "skip", "row/unskip"}),
    ],
)
def test_a_token_has_its_own_buttons_only(servers, taught, may, has):
    with weal.open_campaign("steel", taught, by="bo") as one:
        one.skip("A-30", key="bench-1")
        one.tell("A-31", 11.0, key="bench-2")
    skip, label = (event.seq for event in open_store(taught).read("steel")[-2:])
    with Person(servers.start(taught), token(taught, "bo", may)) as bo:
        pages = ("bench?id=A-20", "row?id=A-1", "row?id=A-30", "watch", "explore")
        found = offered(bo, *pages)
        assert found - {"undo"} == has
        assert ("undo" in found) == ("tell" in has)  # a label is the last action
        dialog = bo.get("/c/steel/row/labels?id=A-1", headers={"HX-Request": "true"}).text
        assert ("row/label" in dialog) == ("row/label" in has)
        before = count(taught)
        for event, permission in ((label, "tell"), (skip, "skip")):
            status = bo.post("/c/steel/undo", event=str(event)).status_code
            assert status == (303 if permission in has else 403)
        assert count(taught) == before + len(has & {"tell", "skip"})


def test_a_read_only_server_shows_labels_and_changes_none(servers, taught):
    with Visitor(servers.start(taught, read_only=True), who="") as eve:
        assert not offered(eve, "bench?id=A-1", "row?id=A-1", "watch", "explore")
        assert "Change" not in plain(eve.get("/c/steel/explore").text)


def test_hostile_texts_are_shown_and_named_as_they_are(servers, url):
    import pandas as pd

    pool = pd.DataFrame({"id": [*HOSTILE, "b"], "x": [1, 2, 4, 8, 16]})
    given = {"pool": pool, "id_column": "id", "target": "y", "by": "ann"}
    weal.open_campaign("odd", url, **given).close()
    with Visitor(servers.start(url), HOSTILE[0]) as eve:
        secret = eve.secret()
        for n, name in enumerate(HOSTILE):
            assert eve.tell("odd", name, str(n), secret, f"k{n}", sure="true").status_code == 303
            data = {"form": secret, "id": name, "key": f"c{n}", "what": "confirm", "note": name}
            seen = count(url, "odd")
            page = eve.post("/c/odd/row/label", {**data, "event": seen, "seen": seen})
            assert page.status_code == 303
            text = eve.get("/c/odd/bench").text
            assert "<script>alert" not in text
            assert len(text) < 60_000  # a button is no place for 10,000 letters
        for _ in HOSTILE * 2:
            _, answer = undo(eve, name="odd")
            assert answer.status_code == 303
    assert ledger(url, "odd").n_labels == 0


def test_a_row_with_a_label_is_corrected_at_the_bench_and_no_command_is_named(servers, taught):
    with Visitor(servers.start(taught)) as ann:
        answer = ann.tell("steel", "A-2", "11.25", ann.secret(), "k1")
        assert answer.status_code == 409
        said = plain(answer.text)
        assert "A-2 is saved as 11 already. 11.25 was not saved." in said
        assert "Correct it to 11.25" in " ".join(said.split())
        assert "--replace" not in said
        for path in ("skip", "failed"):
            form = {"form": ann.secret(), "key": "k2", "id": "A-2"}
            refused = ann.post(f"/c/steel/{path}", form)
            assert refused.status_code == 409
            assert "A-2 is saved as 11 already." in plain(refused.text)
            assert "--" not in plain(refused.text)
        bound = ann.tell("steel", "A-33", "<0.1", ann.secret(), "k3")
        assert bound.status_code == 303
        assert undo(ann)[0] == "Undo: A-33 skipped"
