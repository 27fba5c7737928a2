"""What a learner refuses: with a clear message, and nothing changed; and odd data that it takes."""

import numpy as np
import pytest

from learning import OUTSIDE, POOL, Y, a_learner, everything, measure, model
from weal import (
    AlreadyLabelled,
    EnsembleGPRegressor,
    Exhausted,
    UnknownId,
)


@pytest.fixture(params=["start", "features", "exact", "default"])
def learner(request):
    """A learner in the middle of its work: labels, points that wait, one skipped."""
    kind = request.param
    if kind == "default":
        ours = a_learner("gpm-var", model=EnsembleGPRegressor())
    else:
        ours = a_learner(
            "multi", "exact" if kind == "exact" else "features", first=8 * (kind != "start")
        )
    ours.skip(59)
    ours.ask(3)
    return ours


def refuses(learner, work, error=ValueError, match=None):
    """Whether the work raises, and everything is as before, the next answer too."""
    before = everything(learner)
    with pytest.raises(error, match=match):
        work()
    assert everything(learner) == before
    assert learner.ask(3) == list(learner.pending)


# Labels

BAD_LABELS = [
    (np.nan, "nan, which is not a finite number"),
    (np.inf, "inf, which is not a finite number"),
    (-np.inf, "-inf, which is not a finite number"),
    ("", "'', which is not a finite number"),
    ("12,5", r"write 12\.5 with a point"),
    ("12.5", "give the number itself"),
    ("1e400", "'1e400', which is not a finite number"),
    ("12 MPa", "'12 MPa', which is not a finite number"),
    (None, r"None, which is not a finite number; to leave .* skip\(id\)"),
    (True, "True, which is not a finite number"),
    (np.bool_(False), "False_?, which is not a finite number"),
    (1j, "not a finite number"),
    (10**400, "not a finite number"),
    (np.ma.masked, "masked, which is not a finite number"),
    (np.array(np.nan), "nan, which is not a finite number"),
    ({}, "not a finite number"),
]


@pytest.mark.covering
@pytest.mark.parametrize(("label", "message"), BAD_LABELS)
def test_what_is_no_label_is_refused(learner, label, message):
    refuses(learner, lambda: learner.tell(40, label), match=f"label of 40 is .*{message}|{message}")
    refuses(learner, lambda: learner.tell_points(OUTSIDE[0], label), match=message)
    refuses(learner, lambda: learner.tell(40, label, replace=True), match=message)


@pytest.mark.parametrize("label", [np.nan, "12,5", None, True])
def test_a_bad_label_in_the_middle_takes_nothing_of_the_batch(learner, label):
    refuses(learner, lambda: learner.tell([40, 41, 42], [1.0, label, 3.0]), match="label of 41")
    X = OUTSIDE[:3]
    refuses(learner, lambda: learner.tell_points(X, [1.0, label, 3.0]), match="label of 1 is")


@pytest.mark.covering
@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        ([40, 41], [1.0]),
        ([40], [1.0, 2.0]),
        ([], [1.0]),
        (40, [1.0]),
        ("forty", [1.0]),
        (40, [1.0, 2.0]),
        ([40, 41], [[1.0], [2.0]]),
        ([40, 41], np.ones((2, 1))),
    ],
)
def test_lists_that_do_not_match_are_refused(learner, ids, labels):
    refuses(learner, lambda: learner.tell(ids, labels), match="label")


def test_one_label_for_several_ids_is_refused(learner):
    refuses(learner, lambda: learner.tell([40, 41], 3.0), UnknownId, match=r"\[40, 41\]")


@pytest.mark.covering
@pytest.mark.parametrize("name", ["40", 60, -1, 3.5, None, (40,), [40], np.nan, {}, b"x"])
def test_an_id_that_nobody_has_is_refused(learner, name):
    for work in (
        lambda: learner.tell(name, 1.0),
        lambda: learner.tell([40, name], [1.0, 2.0]),
        lambda: learner.skip(name),
        lambda: learner.unskip(name),
        lambda: learner.forget(name),
        lambda: learner.remove([40, name]),
        lambda: learner.rows([40, name]),
    ):
        refuses(learner, work, UnknownId, match="no candidate has the id .* 0, 1, 2, 3, 4")


@pytest.mark.covering
@pytest.mark.parametrize("noise", [-1.0, np.nan, np.inf, "2", None, True, [1.0, 2.0, 3.0], [[1.0]]])
def test_noise_that_is_no_sd_is_refused(learner, noise):
    wrong = [1.0, noise] if noise is None or np.ndim(noise) == 0 else noise
    match = r"noise|3 noises for 2 labels"
    refuses(learner, lambda: learner.tell([40, 41], [1.0, 2.0], noise=wrong), match=match)
    if noise is not None:
        refuses(learner, lambda: learner.tell(40, 1.0, noise=noise), match="noise")
        refuses(learner, lambda: learner.tell_points(OUTSIDE[0], 1.0, noise=noise), match="noise")


def test_there_is_no_label_to_forget(learner):
    refuses(learner, lambda: learner.forget(40), match="40 has no label to forget")


def test_a_second_label_is_refused_too():
    ours = a_learner()
    ours.ask(3)
    refuses(ours, lambda: ours.tell(3, 1.0), AlreadyLabelled, match="3 has the label")
    refuses(ours, lambda: ours.tell([40, 3], [1.0, 1.0]), AlreadyLabelled)


@pytest.mark.parametrize("kind", ["features", "exact", "default"])
def test_labels_in_another_unit_altogether_are_refused(kind):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    ours = a_learner(model=given)
    ours.ask(3)
    far = OUTSIDE[0] + np.array([1e200, 0.0, 0.0])
    for work in (
        lambda: ours.tell(40, 1e200),
        lambda: ours.tell([40, 41], [1.0, -1e200]),
        lambda: ours.tell(40, 1.0, noise=1e200),
        lambda: ours.tell_points(OUTSIDE[0], 1e200),
        lambda: ours.tell_points(far, 1.0),
        lambda: ours.add(far[None]),
    ):
        refuses(ours, work, match=r"standard deviations of the first fit's data away")


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (OUTSIDE[:, :2], "the pool has 3 inputs; got 2"),
        (OUTSIDE[0], "got shape"),
        (np.full((9, 3), np.nan), r"9 candidates have NaN .* such as \[6?0, 6?1, 6?2, 6?3, 6?4\]"),
        (OUTSIDE.astype(str), "needs numbers"),
    ],
)
def test_points_unlike_the_pool_are_refused(learner, points, message):
    refuses(learner, lambda: learner.tell_points(points, np.ones(9)), match=message)
    refuses(learner, lambda: learner.add(points), match=message)
    refuses(learner, lambda: learner.watch(points), match=message)
    refuses(learner, lambda: learner.tell_points(OUTSIDE, np.ones(4)), match="4 labels for 9")


# Asking


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", True, [3]])
def test_a_number_of_points_that_is_none_is_refused(learner, n):
    refuses(learner, lambda: learner.ask(n), match="not a number of points")
    refuses(learner, lambda: learner.ask(n, more=True), match="not a number of points")


def test_more_than_there_is_is_refused_with_what_is_left(learner):
    left = 60 - len(learner.labels) - 1
    text = f"asked for {left - 2} more, and {left - 3} candidates are left.*3 asked, 1 skipped"
    refuses(learner, lambda: learner.ask(left + 1), Exhausted, match=text)
    refuses(learner, lambda: learner.ask(left - 2, more=True), Exhausted, match="3 asked")
    assert len(learner.ask(left)) == left
    with pytest.raises(Exhausted, match="0 candidates are left"):
        learner.ask(more=True)


def test_an_exhausted_learner_still_learns_and_predicts():
    ours = a_learner(pool=POOL[:9])
    ours.tell(8, Y[8])
    with pytest.raises(Exhausted, match=r"9 of 9 are labelled.*\(add\)"):
        ours.ask()
    ours.tell_points(OUTSIDE[0], measure(OUTSIDE[0]))
    assert ours.model.n_labels_ == 10
    ours.add(OUTSIDE[1:3])
    assert ours.ask() in (9, 10)
