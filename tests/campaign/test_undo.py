"""Undo brings back the row as it was, several deep, and never overwrites somebody else."""

import itertools
import random

import pytest

import weal
from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, measured
from weal.campaign.label_edits import LabelEdit, decide_edit, last_change
from weal.campaign.row_rules import fail_rows
from weal.campaign.undo import action_text, actions, decide_undo_action, last_action
from weal.errors import Changed, ReusedKey

KEYS = (f"bench-{n}" for n in itertools.count())
QUANTITIES = ("yield", "purity", "crystallised")
ROWS = ("R-1", "R-2", "R-3", "R-4")


def state(one):
    """Labels, failures, skips and leases, in plain values: what an undo must bring back."""
    ledger = one.read_ledger()
    labels = {
        (name, id_): [(t.y, t.noise, t.note, t.sure, t.who, t.time) for t in several]
        for name, own in ledger.with_failures().items()
        for id_, several in own.labels.items()
    }
    predicted = sorted(
        (name, p.told.id, p.told.y) for name, q in ledger.quantities.items() for p in q.foretold
    )
    leases = [(lease.id, lease.who, lease.seq) for lease in ledger.leases.values()]
    return labels, dict(sorted(ledger.skipped.items())), leases, predicted


def learner_state(one):
    """What the learner takes from it."""
    found = one.read_session().state
    labels = {name: sorted((str(t.name), t.y, t.sure) for t in found.view(name).labels)
              for name in QUANTITIES}  # fmt: skip
    return labels, sorted(map(str, found.asked)), sorted(map(str, found.skipped))


def edit(one, what, id_, y=None, note=None, who="ann", key=None, label=None, seen=None):
    events = [event for event in one.events() if event.id == id_]
    if label is None and what != "unskip":
        every = one.read_ledger().labels_of(id_).values()
        label = next(t.seq for several in every for t in several)
    last = last_change(events)
    seen = (last.seq if last else 0) if seen is None else seen
    asked = LabelEdit(what, id_, label or 0, seen, y, note)
    return one.transact(lambda tx: decide_edit(tx, asked, who, key or next(KEYS)))


def undo(one, seq=None, who="ann"):
    """Undo an action, the last one by default; the decision."""
    if seq is None:
        action = last_action(one.events(), who)
        if action is None:
            return None
        seq = action.seq
    found = []

    def decide(tx):
        found[:] = [decide_undo_action(tx, seq, who)]
        return found[0].drafts if found[0] else []

    one.transact(decide)
    return found[0]


def shown(one, who="ann"):
    """What the button says."""
    action = last_action(one.events(), who)
    return action and f"{action.id} {action_text(action, one.read_ledger())}"


def random_action(one, rng):
    """One form that a person may send; False where it would write nothing or is refused."""
    id_, ledger = rng.choice(ROWS), one.read_ledger()
    labels, key = ledger.labels_of(id_), next(KEYS)
    before = ledger.seq
    choices = ["skip", "fail", "accident"] if not labels else []
    choices += ["unskip"] if id_ in ledger.skipped else []
    choices += ["tell"]
    if labels:
        name = rng.choice(sorted(labels))
        told = rng.choice(labels[name])
        choices += ["withdraw"] * 2
        if name != "worked":
            choices += ["correct", "repeat", "confirm", "failed"] * 2
    what, y = rng.choice(choices), float(rng.randrange(2))
    if what == "skip":
        one.skip(id_, note=rng.choice([None, "no material"]), key=key)
    elif what in ("fail", "accident"):
        fail_rows(one, [id_], "ann", rng.choice([None, "cold"]), what == "accident", False, key)
    elif what == "tell":
        missing = [q for q in QUANTITIES if q not in labels]
        chosen = rng.sample(missing, rng.randint(1, len(missing))) if missing else []
        if chosen:
            one.tell(id_, {q: "yes" if q == "crystallised" else 40.0 + y for q in chosen}, key=key)
    else:
        number = y if labels and name == "crystallised" else 50.0 + rng.randrange(9)
        edit(one, what, id_, number, rng.choice([None, "again"]), key=key,
             label=told.seq if labels and what != "unskip" else 0)  # fmt: skip
    return one.read_ledger().seq > before


@pytest.mark.filterwarnings("ignore:.*is far from:UserWarning")
@pytest.mark.parametrize("seed", range(8))
def test_every_undo_brings_back_the_state_before_its_action(seed):
    rng = random.Random(seed)
    with measured(YIELD, PURITY, CRYSTALLISED) as one:
        one.ask_for(ROWS[:3])
        stack = []
        for _ in range(40):
            if stack and rng.random() < 0.4:
                assert undo(one).drafts
                assert state(one) == stack.pop()
                continue
            before = state(one)
            if random_action(one, rng):
                stack.append(before)
        learner = learner_state(one)
        assert learner[1] == sorted(lease[0] for lease in state(one)[2])
        with weal.open_campaign("runs", one.store, by="ann") as fresh:
            assert learner_state(fresh) == learner  # replayed from the events alone
        while stack:
            assert undo(one).drafts
            assert state(one) == stack.pop()
        assert undo(one) is None
        assert learner_state(one) == ({q: [] for q in QUANTITIES}, sorted(ROWS[:3]), [])


def test_an_action_is_undone_once_and_only_by_the_person_who_did_it():
    with measured(YIELD) as one:
        one.tell("R-1", 40.0, key=next(KEYS))
        one.tell("R-2", 41.0, key=next(KEYS))
        one.tell("R-3", 42.0)  # not on the page
        seq = last_action(one.events(), "ann").seq
        assert undo(one, seq, who="bob") is None
        assert undo(one, 1) is None
        assert undo(one, 10**9) is None
        assert undo(one, seq).drafts
        after = one.read_ledger().seq
        assert undo(one, seq).is_undone
        assert undo(one, seq + 1) is None
        assert one.read_ledger().seq == after
        assert shown(one) == "R-1 40"
        assert shown(one, "bob") is None
        assert len(list(actions(one.events(), "ann"))) == 1


def test_a_later_change_by_somebody_else_is_said_and_stays():
    with measured(YIELD, PURITY) as one:
        one.tell("R-2", {"yield": 30.0}, key=next(KEYS))
        one.tell("R-1", {"yield": 40.0}, key=next(KEYS))
        mine = last_action(one.events(), "ann").seq
        edit(one, "correct", "R-1", 44.0, who="bob")
        before = state(one)
        found = undo(one, mine)
        assert (found.drafts, found.changed_by.who) == ((), "bob")
        assert state(one) == before
        assert shown(one) == "R-2 yield 30"  # an earlier one can still be undone
        assert undo(one, who="bob").drafts
        assert shown(one) == "R-1 yield 40"  # and this one again, since bob has undone his
        one.tell("R-1", {"purity": 90.0}, by="bob", key=next(KEYS))
        assert undo(one).drafts  # another quantity is not overwritten
        assert one.read_ledger().labels_of("R-1").keys() == {"purity"}


def test_a_row_that_somebody_else_has_asked_for_since_is_not_skipped_again():
    with measured(YIELD) as one:
        one.skip("R-1", key=next(KEYS))
        edit(one, "unskip", "R-1")
        assert shown(one) == "R-1 brought back"
        seq = last_action(one.events(), "ann").seq
        one.ask_for(["R-1"], by="bob")
        assert undo(one, seq).changed_by.kind == "asked"
        assert [lease.who for lease in one.read_ledger().leases.values()] == ["bob"]
        one.tell("R-1", 40.0, by="bob", key=next(KEYS))
        assert undo(one, who="bob").drafts
        assert [lease.who for lease in one.read_ledger().leases.values()] == ["bob"]


def test_withdrawing_a_label_ends_nobody_elses_lease():
    for withdraw in (
        lambda one, seq: one.withdraw("R-1"),
        lambda one, seq: one.withdraw("R-1", event=seq),
        lambda one, seq: one.withdraw("R-1", quantity="yield"),
        lambda one, seq: edit(one, "withdraw", "R-1"),
        lambda one, seq: undo(one),
    ):
        with measured(YIELD, PURITY) as one:
            one.ask_for(["R-1"], by="bob")
            seq = one.tell("R-1", {"yield": 40.0}, key=next(KEYS))
            withdraw(one, seq)
            ledger = one.read_ledger()
            assert not ledger.is_labelled("R-1")
            assert [lease.who for lease in ledger.leases.values()] == ["bob"]
            assert learner_pending(one) == ["R-1"]
    with measured(YIELD) as one:
        one.ask_for(["R-1"], by="bob")
        one.withdraw("R-1")  # a row without a label is given back, whoever has it
        assert not one.read_ledger().leases


def learner_pending(one):
    return sorted(map(str, one.read_session().state.asked))


def test_an_edit_of_a_row_that_has_changed_since_writes_nothing():
    with measured(YIELD) as one:
        one.tell("R-1", 40.0)
        label = one.read_ledger().labels_of("R-1")["yield"][0].seq
        for what, y in (("correct", 44.0), ("repeat", 45.0), ("confirm", None), ("withdraw", None),
                        ("failed", None)):  # fmt: skip
            edit(one, "confirm" if what != "confirm" else "repeat", "R-1", 41.0, who="bob")
            before = state(one)
            with pytest.raises(Changed):
                edit(one, what, "R-1", y, label=label, seen=label)
            assert state(one) == before
            undo(one, who="bob")
            label = one.read_ledger().labels_of("R-1")["yield"][0].seq
        with pytest.raises(Changed):
            edit(one, "correct", "R-1", 44.0, label=2)  # no label


def test_an_edit_sent_twice_writes_once_and_with_other_content_nothing():
    with measured(YIELD) as one:
        one.tell("R-1", 40.0, note="first")
        label = one.read_ledger().labels_of("R-1")["yield"][0].seq
        assert len(edit(one, "correct", "R-1", 44.0, key="bench-a", label=label)) == 1
        before = state(one)
        assert not edit(one, "correct", "R-1", 44.0, key="bench-a", label=label)
        with pytest.raises(ReusedKey):
            edit(one, "correct", "R-1", 45.0, key="bench-a", label=label)
        assert not edit(one, "correct", "R-1", 44.0)  # as it is already
        assert state(one) == before
        edit(one, "confirm", "R-1")
        assert not edit(one, "confirm", "R-1")
        edit(one, "correct", "R-1", 44.0, "of the second scale")
        [told] = one.read_ledger().labels_of("R-1")["yield"]
        assert (told.y, told.sure, told.note) == (44.0, True, "of the second scale")
        edit(one, "correct", "R-1", 45.0)
        [told] = one.read_ledger().labels_of("R-1")["yield"]
        assert (told.y, told.sure) == (45.0, False)


def test_one_of_several_labels_is_corrected_and_the_others_stay():
    with measured(YIELD) as one:
        one.tell("R-1", 40.0)
        one.tell("R-1", 50.0, repeat=True)
        edit(one, "correct", "R-1", 41.0)
        assert shown(one) == "R-1 corrected to 41"
        assert [t.y for t in one.read_ledger().labels_of("R-1")["yield"]] == [50.0, 41.0]
        undo(one)
        assert [t.y for t in one.read_ledger().labels_of("R-1")["yield"]] == [40.0, 50.0]
