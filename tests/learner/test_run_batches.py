"""Runs in batches, and runs that go on where a measurement fails."""

import numpy as np
import pytest

from learning import Y, a_learner, everything, measure, told


def asked(learner):
    return [name for name, _, _ in told(learner)[8:]]


def test_a_batch_is_asking_for_several_and_telling_them():
    learner, by_hand, sizes = a_learner(), a_learner(), []

    def oracle(rows):
        sizes.append(len(rows))
        return [measure(row) for row in rows]

    how = learner.run(oracle, 7, batch=3)
    for wanted in (3, 3, 1):
        for name in by_hand.ask(wanted):
            by_hand.tell(name, Y[name])
    assert sizes == [3, 3, 1]
    assert told(learner) == told(by_hand)
    assert (how.reason, how.labels, how.failures) == ("budget", 7, ())


def test_a_batch_may_be_yielded_returned_as_an_array_and_asked_by_id():
    plain, yields, array = (a_learner() for _ in range(3))
    plain.run(lambda ids: [Y[n] for n in ids], 6, batch=2, by_id=True)
    yields.run(lambda ids: (Y[n] for n in ids), 6, batch=2, by_id=True)
    array.run(lambda ids: Y[ids], 6, batch=2, by_id=True)
    assert told(plain) == told(yields) == told(array)


def test_the_last_batch_is_as_long_as_there_are_candidates():
    learner = a_learner()
    learner.remove(range(13, 60))
    how = learner.run(lambda ids: Y[ids], 40, batch=4, by_id=True)
    assert (how.reason, how.labels) == ("exhausted", 5)


def test_what_fails_is_skipped_remembered_and_reported():
    learner, tries = a_learner(), []

    def oracle(n):
        tries.append(n)
        if len(tries) == 2:
            raise OSError("the furnace is cold")
        return float("nan") if len(tries) == 4 else Y[n]

    how = learner.run(oracle, 6, by_id=True, on_failure="skip")
    assert (how.reason, how.labels) == ("budget", 4)
    assert [one.id for one in how.failures] == [tries[1], tries[3]]
    assert how.failures[0].why == "OSError: the furnace is cold"
    assert "not a finite number" in how.failures[1].why
    assert learner.skipped == {tries[1], tries[3]}
    assert not set(learner.ask(20)) & learner.skipped
    assert asked(learner) == [n for n in tries if n not in learner.skipped]


def test_an_oracle_that_always_fails_ends_with_the_budget():
    learner = a_learner()
    how = learner.run(lambda row: None, 5, on_failure="skip")
    assert (how.reason, how.labels, len(how.failures)) == ("budget", 0, 5)


def test_a_batch_that_raises_is_skipped_as_a_whole():
    learner = a_learner()

    def oracle(ids):
        if not learner.skipped:
            raise ValueError
        return Y[ids]

    first = learner.ask(3)
    how = learner.run(oracle, 6, batch=3, by_id=True, on_failure="skip")
    assert [one.id for one in how.failures] == first
    assert {one.why for one in how.failures} == {"ValueError"}
    assert how.labels == 3


def test_gaps_in_a_batch_are_failures_of_their_own():
    learner = a_learner()
    how = learner.run(
        lambda ids: [Y[ids[0]], None, np.nan, Y[ids[3]]], 4, batch=4, by_id=True, on_failure="skip"
    )
    assert how.labels == 2
    assert learner.skipped == {one.id for one in how.failures}


def third_raises(error):
    def oracle(ids):
        for k, n in enumerate(ids):
            if k == 2:
                raise error
            yield Y[n]

    return oracle


def test_one_that_raises_on_the_third_of_a_batch_loses_neither_the_first_nor_the_last():
    learner = a_learner()
    batch = learner.ask(5)
    with pytest.raises(OSError, match="cold"):
        learner.run(third_raises(OSError("cold")), 10, batch=5, by_id=True)
    assert asked(learner) == batch[:2]
    assert not learner.pending  # the others may be asked again
    learner = a_learner()
    how = learner.run(third_raises(OSError("cold")), 5, batch=5, by_id=True, on_failure="skip")
    assert [one.id for one in how.failures] == [batch[2]]
    assert asked(learner)[:2] == batch[:2]
    assert how.labels == 4


def test_ctrl_c_in_a_batch_loses_no_label():
    learner = a_learner()
    how = learner.run(third_raises(KeyboardInterrupt), 10, batch=5, by_id=True, on_failure="skip")
    assert (how.reason, how.labels, how.failures) == ("interrupted", 2, ())
    assert not learner.pending


def test_a_batch_of_which_nothing_came_stays_asked():
    def oracle(ids):
        raise KeyboardInterrupt

    learner = a_learner()
    assert learner.run(oracle, 9, batch=3).reason == "interrupted"
    before = list(learner.pending)
    got = []
    learner.run(lambda ids: got.extend(ids) or Y[ids], 3, batch=3, by_id=True)
    assert got == before


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([1.0], "1 labels for 2 points"),
        ([1.0, 2.0, 3.0], "3 labels for 2 points"),
        (iter([1.0]), "yielded 1 labels for 2 points"),
        (7.0, "needs a list of labels"),
        ("ab", "needs a list of labels"),
        (None, "needs a list of labels"),
        (np.ones((2, 1)), "needs a list of labels"),
    ],
)
def test_other_than_one_label_for_each_point_is_refused_whatever_happens_to_failures(found, words):
    with pytest.raises(ValueError, match=words):
        a_learner().run(lambda rows: found, 4, batch=2, on_failure="skip")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"batch": 0}, "whole number"), ({"batch": 2.5}, "whole"), ({"on_failure": "warn"}, "raise")],
)
def test_how_to_run_is_checked_before_anything_is_asked(wrong, words):
    learner = a_learner()
    before = everything(learner)
    with pytest.raises(ValueError, match=words):
        learner.run(pytest.fail, 3, **wrong)
    assert everything(learner) == before


def test_a_callback_that_raises_in_a_batch_leaves_nothing_asked():
    learner = a_learner()

    def callback(learner, name, label):
        raise OSError("full")

    with pytest.raises(OSError, match="full") as caught:
        learner.run(lambda ids: Y[ids], 6, batch=3, by_id=True, callback=callback)
    assert caught.value
    assert not learner.pending
    assert len(learner.labels) == 9
