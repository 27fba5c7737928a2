"""The golden files of this folder, as weal 0.3.0 wrote them.

They are not made anew once 0.3.0 is released: later versions have to read what was written then,
and to say the same. Until then, and with that version only:

    PYTHONPATH=tests OMP_NUM_THREADS=1 python tests/golden_0_3/make.py NEW_FOLDER

`tests/golden_0_2` has files of every kind that 0.2 wrote, and 0.3 writes those too. Here is what is
new in 0.3, and one file of each of the others. `expected.json` holds the answers of 0.3.0 after it
had read each file back (`reading`).

    model-default    a regressor with the experts of 0.3, one wrong label
    classifier-*     classes that are words, and yes and no
    learner-goal     three quantities (a number, a grade, pass or fail), a goal with conditions,
                     failed runs
    learner-classes  classes, in a polars frame
    learner-box      candidates of a box with a condition; `refine` added some
    campaigns.db     boards (quantities, goal and conditions, title, failures, accidents,
                     corrections and withdrawals of one quantity, leases), blend (a box, a mixture),
                     sorts (classes, a word added, archived); a token
    worksheet.csv    of two rows of boards
"""

import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import weal
from golden_0_2.make import spell
from golden_0_2.rows import measure, points
from golden_0_3 import reading
from golden_0_3.make_stores import make_store

SUFFIX = ".weal-0.3"


def default_model():
    X = points(50, 24, 3)
    y = measure(X, seed=50)
    y[5] = 27.0
    return weal.EnsembleGPRegressor(random_state=1).fit(X, y), 3


def words_classifier():
    X = points(51, 24, 2)
    y = np.where(X[:, 0] > 0.6, "needle", np.where(X[:, 1] > 0.2, "plate", "powder"))
    return weal.EnsembleGPClassifier(random_state=1).fit(X, y), 2


def truth_classifier():
    X = points(52, 20, 2)
    return weal.EnsembleGPClassifier(random_state=1).fit(X, X.sum(axis=1) > 0.3), 2


MODELS = {
    "model-default": default_model,
    "classifier-words": words_classifier,
    "classifier-truth": truth_classifier,
}


def salt(row):
    """What is measured in a row (temp, hours) of the salts: yield, grade, crystallised."""
    temp, hours = row
    value = round(float(20.0 + 0.6 * temp - 0.005 * (temp - 70.0) ** 2 + hours), 3)
    grade = ["low", "medium", "high"][int(hours > 3) + int(temp < 80)]
    return {"yield": value, "grade": grade, "crystallised": "yes" if temp < 95 else "no"}


def goal_learner():
    import pandas

    X = np.round(50.0 + 20.0 * (points(53, 30, 2) + 1.5) * [1.0, 0.1], 2) - [0.0, 49.0]
    frame = pandas.DataFrame(X, columns=["temp", "hours"])
    frame.insert(0, "run", [f"R-{k}" for k in range(30)])
    learner = weal.ActiveLearner(
        frame, id_column="run", target=["yield", "grade", "crystallised"], seed=3,
        types={"grade": "ordered:low,medium,high", "crystallised": "pass"},
        goal="maximise yield", subject_to=["crystallised is yes", "grade >= medium"],
    )  # fmt: skip
    rows = dict(zip(frame["run"], X.tolist(), strict=True))
    for n in range(10):
        name = learner.ask()
        if n == 4:
            learner.fail(name)
        elif n == 5:
            learner.tell(name, {"yield": salt(rows[name])["yield"]})
        else:
            learner.tell(name, salt(rows[name]))
    learner.fail(learner.ask(), accident=True)
    learner.ask(2)
    return learner


def classes_learner():
    import polars

    X = points(54, 24, 2)
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    learner = weal.ActiveLearner(
        frame, target="form", types={"form": "classes:needle,plate"}, seed=4
    )
    for _ in range(9):
        name = learner.ask()
        learner.tell(name, "needle" if X[name, 0] > 0.2 else "plate")
    return learner


def box_learner():
    inputs = {"temp": (20, 200), "time": (1, 60, "log"), "solvent": ["THF", "water"]}
    frame = weal.box(inputs, 32, constraint="temp + 2*time <= 240", seed=5)
    learner = weal.ActiveLearner(frame, goal="below 12", seed=5)
    for _ in range(9):
        name = learner.ask()
        row = frame.loc[name]
        learner.tell(name, round(0.1 * row["temp"] + 2.0 * (row["solvent"] == "THF"), 3))
    learner.refine(3)
    return learner


LEARNERS = {
    "learner-goal": goal_learner,
    "learner-classes": classes_learner,
    "learner-box": box_learner,
}


def make_models(folder):
    """Write the files; yields each name and what must come out."""
    for name, make in MODELS.items():
        model, d = make()
        path, X = folder / f"{name}{SUFFIX}", points(90, 4, d)
        model.save(path)
        answers = reading.read_estimator(reading.load_estimator(path), X)
        yield path.name, {"points": X.tolist(), "loaded": answers}


def make_learners(folder):
    """Write the files; yields each name and what must come out."""
    for name, make in LEARNERS.items():
        path = folder / f"{name}{SUFFIX}"
        make().save(path)
        learner = weal.ActiveLearner.load(path)
        yield path.name, {"loaded": reading.read_learner(learner), **reading.read_next(learner)}


def main(folder):
    if weal.__version__ != "0.3.0":
        raise RuntimeError("these golden files are what weal 0.3.0 wrote, and no other version")
    folder.mkdir(parents=True)
    warnings.simplefilter("ignore")
    expected = {
        "written by": f"weal {weal.__version__}",
        "models": dict(make_models(folder)),
        "learners": dict(make_learners(folder)),
    }
    with tempfile.TemporaryDirectory() as scratch:
        expected["campaigns"] = dict(make_store(folder, Path(scratch)))
        expected["tokens"] = reading.read_tokens(shutil.copy(folder / "campaigns.db", scratch))
    (folder / "expected.json").write_text(spell(expected) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
