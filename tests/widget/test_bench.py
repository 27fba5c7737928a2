"""The bench of a notebook's widget, driven by messages, on a learner and on a campaign."""

import pytest

import weal
from weal.widget.messages import MAX_KEPT_ANSWERS
from widget.displays import CampaignCase, Display, LearnerCase, X, Y, learner_bench

BOTH = [LearnerCase, CampaignCase]
MEASURED = {f"r{n}": y for n, y in enumerate(Y)}


@pytest.fixture(params=BOTH, ids=["learner", "campaign"])
def make(request):
    return request.param


@pytest.fixture
def case(make):
    return make(n_start=5)


def learned(case, n=8):
    """The display after so many labels."""
    display = case.display
    assert display.ask(n)["done"]
    for id_ in display.ids:
        assert display.tell(id_, str(MEASURED[id_]))["done"]
    return display


def test_rows_that_are_asked_are_shown_with_their_inputs(case):
    display = case.display
    assert display.view["next_step"].startswith("Ask for rows to measure. 5 more labels")
    assert display.ask(3)["notice"] == "3 rows to measure."
    assert len(display.ids) == 3
    row = display.view["rows"][0]
    assert [float(text) for _, text in row["cells"]] == pytest.approx(X[int(row["id"][1:])], 1e-5)
    assert display.view["next_step"].startswith("3 rows wait for a result.")
    assert display.ask(2)["done"]
    assert len(display.ids) == 5  # others, and not the same again


def test_a_label_typed_with_a_comma_is_in_python_at_once_and_its_row_is_done(case):
    display = case.display
    display.ask(2)
    first, second = display.ids
    answer = display.tell(first, " 12,5 ")
    assert answer["notice"] == f"Saved {first}: 12.5"
    assert case.labels() == {(first, "yield"): "12.5"}
    assert display.ids == [second]
    assert display.view["counts"].startswith("1 label,")


@pytest.mark.parametrize("typed", ["", "12a", "1.2.3", "nan", "1e999", "<script>alert(1)</script>"])
def test_a_text_that_is_no_number_saves_nothing_and_says_why(case, typed):
    display = case.display
    display.ask(1)
    answer = display.tell(display.ids[0], typed)
    assert not answer["done"]
    assert answer["wrong"] or answer["wrong_fields"][0]
    assert not case.labels()


def test_an_implausible_number_is_asked_about_and_kept_only_when_it_is_confirmed(case):
    display = learned(case)
    display.ask(1)
    [id_] = display.ids
    assert "90 %" in display.view["rows"][0]["predicted"][0]
    answer = display.tell(id_, "5300", key="typo")
    assert "far from" in answer["question"]
    assert not answer["done"]
    assert (id_, "yield") not in case.labels()
    assert display.tell(id_, "5300", key="typo")["question"]  # Enter twice keeps nothing
    assert display.tell(id_, "5300", key="typo", sure=True)["done"]
    assert case.labels()[id_, "yield"] == "5300"


def test_a_first_number_far_from_the_others_is_asked_about_without_a_model(case):
    display = case.display
    display.ask(4)
    first, second, third, fourth = display.ids
    for id_, typed in [(first, "11"), (second, "11,2"), (third, "11,3")]:
        display.tell(id_, typed)
    assert "far from the labels so far" in display.tell(fourth, "9000")["question"]


def test_a_message_sent_twice_writes_once(case):
    display = case.display
    assert display.ask(2, key="rows") == display.ask(2, key="rows")
    first, second = display.ids
    token = display.token(first)
    once = display.tell(first, "12,5", key="form")
    again = display.send("tell", key="form", row=token, values=["12,5"])
    assert again == once
    other = display.send("tell", key="form", row=token, values=["13"])
    assert "sent before with other content" in other["wrong"]
    assert case.labels() == {(first, "yield"): "12.5"}
    display.send("skip", key="skip", row=display.token(second))
    assert display.send("skip", key="skip", row="1")["done"]
    display.undo(key="undo")
    assert display.send("undo", key="other", number=999)["wrong"].startswith("Nothing was undone")
    assert case.labels() == {(first, "yield"): "12.5"}  # one action was undone, the skip


def test_undo_takes_back_one_action_after_the_other_and_shows_the_row_again(case):
    display = case.display
    display.ask(3)
    first, second, third = display.ids
    display.tell(first, "11")
    display.send("skip", row=display.token(second), note="no sample")
    display.send("fail", row=display.token(third), note="stirrer stopped")
    assert (case.skipped(), case.failed()) == ({second}, {third})
    assert display.view["undo"]["text"] == f"{third}: failed"
    answer = display.undo()
    assert (answer["notice"], answer["row"]) == (f"Undone: {third}: failed", display.token(third))
    assert not case.failed()
    assert display.view["undo"]["text"] == f"{second}: skipped"
    display.undo()
    assert not case.skipped()
    assert display.view["undo"]["text"] == f"{first}: 11"
    display.undo()
    assert not case.labels()
    assert display.view["undo"] is None
    assert sorted(display.ids) == sorted([first, second, third])


def test_undo_keeps_labels_that_were_told_elsewhere_since(case):
    display = case.display
    display.ask(2)
    first, second = display.ids
    display.tell(first, "11")
    other = next(f"r{n}" for n in range(40) if f"r{n}" not in (first, second))
    case.tell_elsewhere(other, 11.5)
    display.undo()
    assert case.labels() == {(other, "yield"): "11.5"}
    assert sorted(display.ids) == sorted([first, second])


def test_a_skip_undone_after_labels_told_elsewhere_brings_the_row_back(case):
    display = case.display
    display.ask(1)
    [first] = display.ids
    display.send("skip", row=display.token(first))
    case.tell_elsewhere("r39" if first != "r39" else "r38", 11.5)
    display.undo()
    assert (display.ids, case.skipped()) == ([first], set())


def test_labels_told_elsewhere_appear_after_the_cell(case):
    display = case.display
    display.ask(2)
    first, second = display.ids
    revision = display.view["revision"]
    display.bench.refresh_after_cell()
    assert display.view["revision"] == revision  # nothing has happened
    case.tell_elsewhere(first, 11.0)
    display.bench.refresh_after_cell()
    assert display.ids == [second]
    assert display.view["counts"].startswith("1 label")


def test_the_report_has_one_number_advice_and_a_curve(case):
    assert case.display.report()["curve"] == []
    display = learned(case, 12)
    report = display.report()
    assert report["revision"] == display.view["revision"]
    assert report["headline"].startswith("Typical error")
    assert "after 12 labels" in report["headline"]
    assert report["advice"]
    assert report["curve"][-1][0] == 12
    assert report["curve_label"] == "error of yield, g"


def test_the_report_of_a_goal_is_the_best_so_far(make):
    case = make(n_start=5, goal="maximise")
    report = learned(case).report()
    best = max(float(text) for text in case.labels().values())
    assert report["headline"] == f"Highest yield so far: {best:.2f} g"
    assert report["curve"][-1] == [8, pytest.approx(best)]


def test_more_rows_than_there_are_offers_what_there_is(case):
    display = case.display
    assert display.ask(38)["done"]
    answer = display.ask(5)
    assert (answer["wrong"], answer["left"]) == ("2 rows are left: ask for 2.", 2)
    assert display.ask(2)["done"]
    assert "No rows are left" in display.ask(1)["wrong"]
    assert display.view["next_step"].endswith("before there is a model.")


@pytest.mark.parametrize("n", ["", "0", "-3", "many", "1e9", "501", None])
def test_a_number_of_rows_that_is_none_says_what_to_write(case, n):
    answer = case.display.ask(n)
    assert "write one from 1 to 500" in answer["wrong"]
    assert not case.display.ids


def test_options_of_the_batch_are_those_of_ask(case):
    display = case.display
    column = display.view["columns"][0]
    assert display.ask(3, where=f'"{column}" < 0.5')["done"]
    assert all(float(row["cells"][0][1]) < 0.5 for row in display.view["rows"])
    wrong = display.ask(2, where="nothing like it < 3")["wrong"]
    assert "nothing like it" in wrong or "where" in wrong
    assert "ask for 1 or fewer" in display.ask(3, same=column)["wrong"]  # each has its own value


@pytest.mark.parametrize(
    "message",
    [None, [], "tell", {}, {"key": "a"}, {"key": "a", "action": "drop"}, {"action": "ask", "n": 1},
     {"key": "a", "action": "tell", "row": "99", "values": ["1"]},
     {"key": "a", "action": "tell", "row": "-1", "values": ["1"]},
     {"key": "a", "action": "tell", "row": "0", "values": "1"},
     {"key": "a", "action": "tell", "row": "0", "values": ["1", "2"]},
     {"key": "a", "action": "undo", "number": None}],
)  # fmt: skip
def test_a_message_that_makes_no_sense_changes_nothing_and_is_answered(case, message):
    case.display.ask(1)
    case.display.bench.receive(message)
    answer = case.display.answers[-1]
    assert not answer["done"]
    assert answer["wrong"]
    assert not case.labels()


HOSTILE = ["<script>alert(1)</script>", "\u202egnp.exe", "a" * 9_000, "'; drop table --", "ü\n2"]


def test_hostile_ids_are_text_and_are_labelled_as_any_other():
    learner = weal.ActiveLearner(X[:6], ids=[*HOSTILE, (1, "b")])
    display = Display(learner_bench(learner))
    display.ask(6)
    assert len(display.ids) == 6
    assert all(len(one) <= 300 for one in display.ids)
    for n, row in enumerate(list(display.view["rows"])):
        assert display.send("tell", row=row["row"], values=[str(n)])["done"]
    assert {label.name for label in learner.labels} == {*HOSTILE, (1, "b")}


KINDS = {"types": {"crystallised": "pass:yes,no", "phase": "classes:fcc,bcc"}}


def test_words_are_chosen_and_other_results_may_come_later(make):
    case = make(target=["yield [g]", "crystallised", "phase"], n_start=5, **KINDS)
    display = case.display
    words = [one["words"] for one in display.view["fields"]]
    assert words == [[], ["no", "yes"], ["fcc", "bcc"]]
    display.ask(2)
    first, second = display.ids
    assert display.tell(first, "", "", "")["wrong"].startswith("Fill in at least one result")
    assert display.tell(first, "11,5", "yes", "")["done"]
    assert display.view["rows"][0]["saved"] == ["11.5", "yes", ""]
    assert display.tell(first, "", "", "bcc")["done"]
    assert display.ids == [second]
    assert case.labels() == {
        (first, "yield"): "11.5", (first, "crystallised"): "yes", (first, "phase"): "bcc",
    }  # fmt: skip
    assert display.view["undo"]["text"] == f"{first}: phase bcc"
    display.undo()
    assert (first, "phase") not in case.labels()
    wrong = display.tell(second, "11", "perhaps", "")
    assert wrong["wrong_fields"][1]
    assert (second, "yield") not in case.labels()  # all or none


def test_pass_fail_alone_has_predictions_in_words_and_counts(make):
    case = make(target="crystallised", types={"crystallised": "pass:yes,no"}, n_start=5)
    display = case.display
    display.ask(10)
    for id_ in display.ids:
        display.tell(id_, "yes" if MEASURED[id_] > Y.mean() else "no", sure=True)
    display.ask(1)
    assert display.view["rows"][0]["predicted"][0]
    assert display.report()["headline"].startswith("Labels so far: ")


def test_only_the_last_answers_are_kept(case):
    for n in range(MAX_KEPT_ANSWERS + 5):
        case.display.bench.messages._answers[f"old-{n}"] = ("", None)
    case.display.ask(1)
    assert len(case.display.bench.messages._answers) == MAX_KEPT_ANSWERS
