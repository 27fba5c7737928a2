"""Golden files of learners, one for each kind of pool, acquisition and stage."""

import numpy as np

import weal
from golden import reading
from golden.made_up import END, measured, points
from golden.renamed import RenamedLearner


def label(learner, name):
    """What would be measured of a candidate."""
    x = learner.candidates.x(name)
    return float(measured(x[None], seed=learner.candidates.index[name])[0])


def teach(learner, n):
    for _ in range(n):
        name = learner.ask()
        learner.tell(name, label(learner, name))


def array_learner():
    """All that can happen to a pool that is an array, with the default acquisition."""
    learner = weal.ActiveLearner(pool=points(20, 40, 3), seed=3)
    teach(learner, 9)
    first, second, third, _ = learner.ask(4)
    learner.tell(third, label(learner, third), noise=0.15)
    learner.tell([first], [label(learner, first)])
    learner.tell(first, label(learner, first) + 0.07, repeat=True)
    learner.tell_points([[0.31, -0.42, 0.53]], [1.125], noise=[0.05])
    known = [one.name for one in learner.labels if one.name is not None]
    learner.tell(known[2], label(learner, known[2]) + 0.2, replace=True)
    learner.forget(known[4])
    learner.skip(second)
    free = [name for name in learner.candidates.ids if learner.free()[name]]
    learner.skip(free[0])
    learner.skip(free[1])
    learner.unskip(free[1])
    learner.remove([free[2], free[3], known[0]])
    learner.ask(2)
    return learner


def frame_of(kind, n, seed):
    X = points(seed, n, 3)
    columns = {
        "heat": X[:, 0].astype(np.float32),
        "sample": [f"S-{k:03d}" for k in range(n)],
        "count": np.round(4 * X[:, 1]).astype(np.int16),
        "wet": X[:, 2] > 0.0,
    }
    return kind.DataFrame(columns)


def frame_learner(kind, seed):
    learner = weal.ActiveLearner(pool=frame_of(kind, 36, seed), id_column="sample", seed=seed)
    teach(learner, 10)
    learner.ask(2)
    learner.skip("S-007")
    return learner


def pandas_learner():
    import pandas

    return frame_learner(pandas, 21)


def polars_learner():
    import polars

    return frame_learner(polars, 22)


def ivr_learner():
    """Ivr with a target of its own, which grew with the pool."""
    learner = weal.ActiveLearner(
        pool=points(23, 30, 2), acquisition="ivr", target=points(24, 12, 2) / 2.0, seed=4
    )
    teach(learner, 8)
    learner.add(points(25, 5, 2), to_target=True)
    teach(learner, 3)
    return learner


def multi_learner():
    """The paper's setting: its model, its functions together, judged on labels kept apart."""
    X = points(27, 10, 2)
    learner = weal.ActiveLearner(
        weal.EnsembleGPRegressor.paper(n_frequencies=8),
        points(26, 36, 2),
        "multi",
        ids=[(f"plate {k // 6}", k % 6) for k in range(36)],
        validation=(X, measured(X)),
        score_scaling="maximum",
        eta=5.0,
        n_start=8,
        seed=5,
    )
    teach(learner, 12)
    learner.ask(2)
    return learner


def begun_learner():
    """Before there is a model, whose noises are given as parameters."""
    model = weal.EnsembleGPRegressor(
        [weal.Kernel("rbf", 1.0), weal.Kernel("matern52", (1.0, 2.0))],
        magnitude=None,
        noise=[0.0225, 0.04],
        noise_bounds=(0.0004, 25.0),
    )
    learner = weal.ActiveLearner(model, points(28, 24, 2), n_start=7, seed=6)
    teach(learner, 3)
    learner.ask(3)
    return learner


def late_learner():
    """Labels that came after others were asked, in another order, and one that nobody asked."""
    learner = weal.ActiveLearner(pool=points(29, 30, 2), acquisition=["qbc", "igs", "random"])
    teach(learner, 7)
    batch = learner.ask(5)
    for name in (batch[3], batch[0]):
        learner.tell(name, label(learner, name))
    learner.ask(2, more=True)
    learner.tell(batch[4], label(learner, batch[4]))
    other = next(name for name in learner.candidates.ids if learner.free()[name])
    learner.tell(other, label(learner, other), noise=0.1)
    return learner


LEARNERS = {
    "learner-array": array_learner,
    "learner-pandas": pandas_learner,
    "learner-polars": polars_learner,
    "learner-ivr": ivr_learner,
    "learner-multi": multi_learner,
    "learner-begun": begun_learner,
    "learner-late": late_learner,
}


def make_learners(folder):
    for name, made in LEARNERS.items():
        learner, path = made(), folder / f"{name}{END}"
        learner.save(path)
        case = learner_case(path)
        if case["asks"] != reading.asks(learner):
            raise RuntimeError(f"{name}: the learner that was not saved asks something else")
        yield path.name, case


def learner_case(path):
    """What is asked of a learner, and what 0.1.0 answered."""

    def loaded():
        return RenamedLearner(weal.ActiveLearner.load(path))

    learner = loaded()
    d = learner.candidates.X.shape[1]
    at = points(93, 5, d) if learner.candidates.frame is None else learner.candidates.X[3:8] + 0.25
    case = {"points": at.tolist(), "labels": measured(at, 8).tolist()}
    case["loaded"] = reading.learner_says(learner, case)
    case["history"] = reading.history_says(learner)
    if learner.reference is not None:
        case["reference"] = reading.reference_says(learner)
    case["pool"] = len(learner.candidates)
    case["asks"] = reading.asks(learner)
    case["asks more"] = reading.asks(loaded(), more=True)
    case["left"] = reading.left(loaded(), case["pool"])
    wanted = [] if learner.fitted else list(learner.pending)
    names = list(dict.fromkeys([*wanted, *map(reading.name_of, case["asks"])]))
    case["tells"] = []
    for name in names if wanted else names[:1]:
        case["tells"].append([reading.plain(name), label(learner, name)])
        learner.tell(name, case["tells"][-1][1])
    while not learner.fitted:
        name = learner.ask()
        case["tells"].append([reading.plain(name), label(learner, name)])
        learner.tell(name, case["tells"][-1][1])
    case["after"] = reading.learner_says(learner, case)
    case["asks after"] = reading.asks(learner)
    return case
