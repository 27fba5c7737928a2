"""Golden files of learners of 0.2: kinds of pool, model, acquisition and stage."""

import numpy as np

import weal
from golden_0_2 import reading
from golden_0_2.rows import board_rows, board_strength, measure, points


def teach(learner, n, label):
    """Ask and tell n times; `label` gives the label of an id."""
    for _ in range(n):
        name = learner.ask()
        learner.tell(name, label(name))


def array_learner():
    """An array as pool, the default acquisition: whatever can happen to candidates and labels."""
    X = points(20, 36, 3)
    y = measure(X, seed=20).tolist()
    learner = weal.ActiveLearner(X, seed=3)
    teach(learner, 8, y.__getitem__)
    first, second, third, fourth = learner.ask(4)
    learner.tell(third, y[third], noise=0.15)
    learner.tell([first], [y[first]], sure=True)
    learner.tell(first, y[first] + 0.07, repeat=True)
    learner.tell_points([[0.31, -0.42, 0.53]], [1.125], noise=[0.05])
    told = [one.name for one in learner.labels if one.name is not None]
    learner.tell(told[2], y[told[2]] + 0.2, replace=True)
    learner.tell(told[3], y[told[3]], sure=True)  # a confirmation
    learner.forget(told[4])
    learner.skip(second)
    learner.release([fourth])
    others = [n for n in range(36) if n not in told and n not in (first, second, third, fourth)]
    learner.skip(others[0])
    learner.skip(others[1])
    learner.unskip(others[1])
    learner.remove([others[2], others[3], told[0]])
    learner.add(points(21, 3, 3), ids=["new a", "new b", "new c"])
    learner.tell(others[4], 10.0 * y[others[4]] + 40.0)  # a wrong label
    learner.ask(2)
    return learner


def table_learner():
    """A frame with text, dates, grades, gaps and a cost; labels that the table has already."""
    import pandas

    rows = board_rows(0, 40)
    strength = {row["board"]: round(board_strength(row), 2) for row in rows}
    frame = pandas.DataFrame(rows)
    for name in ("heat [C]", "moisture [%]", "price"):
        numbers = frame[name].str.replace(",", ".")
        frame[name] = pandas.to_numeric(numbers, errors="coerce")  # "<0,5" is missing
    known = [f"B-{k:03d}" for k in range(6)]
    frame["strength [MPa]"] = [strength[one] if one in known else None for one in frame["board"]]
    learner = weal.ActiveLearner(
        frame,
        id_column="board",
        target="strength [MPa]",
        types={"felled": "day-first", "grade": "ordered:low,medium,high"},
        cost="price",
        seed=21,
    )
    teach(learner, 9, strength.__getitem__)
    learner.ask(2)
    learner.skip("B-033")
    return learner


def polars_learner():
    """A polars frame of numbers, and a run in which two measurements fail."""
    import polars

    X = points(22, 30, 2)
    frame = polars.DataFrame({"sample": [f"S-{k}" for k in range(30)], "a": X[:, 0], "b": X[:, 1]})
    learner = weal.ActiveLearner(frame, id_column="sample", seed=22, n_start=6)
    y = measure(X, seed=22)
    calls = []

    def oracle(name):
        calls.append(name)
        if len(calls) == 4:
            raise RuntimeError("the sample cracked")
        return float("nan") if len(calls) == 9 else float(y[int(name.removeprefix("S-"))])

    learner.run(oracle, 13, by_id=True, on_failure="skip", progress=False)
    return learner


def reference_learner():
    """A reference of its own that grew with the pool; candidates that `refine` added."""
    X, more = points(23, 26, 2), points(25, 4, 2)
    learner = weal.ActiveLearner(X, acquisition="ivr", reference=points(24, 8, 2) / 2.0, seed=4)
    y = measure(X, seed=23)
    teach(learner, 8, lambda name: float(y[name]))
    learner.add(more, ids=[f"more {k}" for k in range(4)], to_reference=True)
    learner.refine(3)
    return learner


def paper_learner():
    """The paper's setting: its model, its five scores together, losses on labels kept apart."""
    X, apart = points(26, 30, 2), points(27, 8, 2)
    ids = [(f"plate {k // 6}", k % 6) for k in range(30)]
    learner = weal.ActiveLearner(
        X,
        weal.EnsembleGPRegressor.paper(n_frequencies=5),
        "multi",
        ids=ids,
        validation=(apart, measure(apart, seed=27)),
        score_scaling="maximum",
        eta=5.0,
        n_start=8,
        seed=5,
    )
    y = dict(zip(ids, measure(X, seed=26).tolist(), strict=True))
    teach(learner, 11, y.__getitem__)
    learner.ask(2)
    return learner


def early_learner():
    """Before there is a model; kernels and noise given, costs as numbers."""
    model = weal.EnsembleGPRegressor(
        [weal.Kernel("rbf", 1.0), weal.Kernel("matern52", (1.0, 2.0))],
        magnitude=None,
        noise=[0.15, 0.2],
        noise_bounds=(0.02, 5.0),
    )
    X = points(28, 20, 2)
    learner = weal.ActiveLearner(X, model, cost=np.arange(1.0, 21.0), n_start=7, seed=6)
    teach(learner, 3, measure(X, seed=28).tolist().__getitem__)
    learner.ask(3)
    return learner


def warped_learner():
    """Labels with a long tail that are warped; three scores together, labels out of order."""
    X = points(29, 30, 2)
    y = np.round(np.exp(1.5 * measure(X, seed=29, sd=0.05)), 4).tolist()
    model = weal.EnsembleGPRegressor(warp="asinh")
    learner = weal.ActiveLearner(X, model, ["qbc", "igs", "random"])
    teach(learner, 7, y.__getitem__)
    batch = learner.ask(5)
    for name in (batch[3], batch[0]):
        learner.tell(name, y[name])
    learner.ask(2, more=True)
    learner.tell(batch[4], y[batch[4]], noise=0.1)
    return learner


def shards_learner(folder):
    """A pool in Parquet files that stay where they are."""
    from golden_0_2.make_pools import FILES, pool_label

    learner = weal.ActiveLearner(
        weal.open_pool([folder / name for name in FILES[:2]], id_column="sample"), seed=9, threads=1
    )
    teach(learner, 9, pool_label)
    learner.remove([learner.ask()])
    learner.ask(2)
    return learner


LEARNERS = {
    "learner-array": array_learner,
    "learner-table": table_learner,
    "learner-polars": polars_learner,
    "learner-reference": reference_learner,
    "learner-paper": paper_learner,
    "learner-early": early_learner,
    "learner-warped": warped_learner,
}


def make_learners(folder):
    """Write the files; yields each name and what must come out."""
    made = {name: make() for name, make in LEARNERS.items()}
    for name, learner in (made | {"learner-shards": shards_learner(folder)}).items():
        path = folder / f"{name}.weal-0.2"
        learner.save(path)
        case = learner_case(path)
        if case["asks"] != reading.asks(learner):
            raise RuntimeError(f"{name}: the learner that was not saved asks for other rows")
        yield path.name, case


def learner_case(path):
    """The questions that the test asks of a learner, and the answers of 0.2."""
    learner = weal.ActiveLearner.load(path)
    told = [one.name for one in learner.labels if one.name is not None]
    case = {"ids": [reading.plain(name) for name in [*told[:2], *learner.pending][:5]]}
    case["loaded"] = reading.read_learner(learner, case)
    case["history"] = reading.read_history(learner)
    case["asks"] = reading.asks(learner)
    case["asks more"] = reading.asks(weal.ActiveLearner.load(path), more=True)
    if "shards" not in path.name:  # where a hundred asks take long
        case["left"] = reading.left(weal.ActiveLearner.load(path))
    case["tells"] = []
    value = float(np.median([one.y for one in learner.labels]))
    for name in list(dict.fromkeys([*map(reading.id_of, case["asks"]), *learner.pending]))[:3]:
        case["tells"].append([reading.plain(name), value])
        learner.tell(name, value)
    while not learner.fitted:
        name = learner.ask()
        case["tells"].append([reading.plain(name), value])
        learner.tell(name, value)
        value += 0.1
    case["after"] = reading.read_learner(learner, case)
    case["asks after"] = reading.asks(learner)
    return case
