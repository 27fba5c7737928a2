"""Pass/fail results, classes and grades at few labels: models against peers, BALD against random.

    python benchmarks/results_of_runs.py models --seeds 3 --to FILE
    python benchmarks/results_of_runs.py choice --seeds 3 --to FILE

`models` draws nested random labels (LABELS of them) of each task and scores the probabilities of
the other rows, TEST_ROWS at most: log loss and accuracy. All methods see the same rows, inputs in
units of their sd, and their probabilities are held to LEAST or more and normalised: forests say 0.
The first labels have two classes at least. Grades are scored as classes; `weal` takes them for
numbers or for classes, whichever has the lower leave-one-out log loss.

`choice` labels CHOSEN rows of a pool, the first FIRST at random: by the information of the result
(bald-pass), or at random. Accuracy and log loss of the rows that are not in the pool, after every
EVERY labels; the area is their mean.

Tasks: tables of scikit-learn, California housing cut at its median, Diabetes at its upper third;
laboratory tables of the folder --data, numbers cut at the upper third, or as they are. Finished
runs are kept in FILE.part and not run again: delete it when the code has changed.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.goals import BESIDE, pool_rows
from benchmarks.robust import say

from weal import EnsembleGPClassifier
from weal.core.arrays import Array
from weal.core.extensions.class_scores import Codes, class_scores
from weal.core.extensions.pass_fail import information
from weal.model import class_model, scaled_data
from weal.model.class_model import GRADE_NOISE_SD, LABEL_NOISE_SD
from weal.model.model import Model
from weal.model.parameters import parameters_of
from weal.model.training import train

LABELS = (10, 20, 40, 80)
TEST_ROWS = 1000
LEAST = 0.01  # probability of a class, for all methods
FIRST, CHOSEN, EVERY, POOL_ROWS = 10, 60, 5, 400
UPPER_THIRD = 2.0 / 3.0
_ROWS_KEY, _POOL_KEY = 251, 252  # parts of the random keys


@dataclass(frozen=True, slots=True, eq=False)
class ClassTask:
    """A table whose result is a class."""

    name: str
    kind: str  # pass, classes or grades
    X: Array  # (N, d)
    codes: Codes  # (N,)

    @property
    def K(self) -> int:
        """Number of classes."""
        return int(self.codes.max()) + 1


def cut(name: str, X: Array, y: Array, level: float) -> ClassTask:
    """The task whether a result is above the quantile of this level."""
    return ClassTask(name, "pass", X, (y > np.quantile(y, level)).astype(np.intp))


def tasks(folder: Path) -> Iterator[ClassTask]:
    """The tasks that are there."""
    cancer, wine, digits = (
        datasets.load_breast_cancer(),
        datasets.load_wine(),
        datasets.load_digits(),
    )
    yield ClassTask("breast cancer", "pass", cancer.data, cancer.target.astype(np.intp))
    sugar = datasets.load_diabetes()
    yield cut("diabetes", sugar.data, sugar.target, UPPER_THIRD)
    yield ClassTask("wine", "classes", wine.data, wine.target.astype(np.intp))
    main = PCA(8, random_state=0).fit_transform(digits.data)
    yield ClassTask("digits, 8 PCA", "classes", main, digits.target.astype(np.intp))
    yield ClassTask("digits, even", "pass", main, (digits.target % 2 == 0).astype(np.intp))
    if (path := folder.parent / "california.csv").is_file():
        table = pd.read_csv(path).sample(2000, random_state=0)
        X = table.drop(columns="MedHouseVal").to_numpy(dtype=float)
        yield cut("California", X, table["MedHouseVal"].to_numpy(dtype=float), 0.5)
    yield from _laboratory(folder)


def _laboratory(folder: Path) -> Iterator[ClassTask]:
    for file, result, lowest in (
        *(("suzuki", "yield", False), ("fullerenes", "product", False)),
        *(("p3ht", "conductivity", False), ("agnp", "spectrum_score", False)),
        *(("oer_plate_3496", "overpotential", True), ("lnp3", "encap_efficiency", False)),
        *(("perovskites", "hse_gap", True), ("hplc", "peak_area", False)),
    ):
        if (path := folder / f"{file}.csv").is_file():
            rows = pool_rows(path, result, lowest)
            yield cut(file, rows.X, rows.y, UPPER_THIRD)
            if file == "hplc":
                yield ClassTask("hplc, a peak", "pass", rows.X, (rows.y > 0.0).astype(np.intp))
            if file == "suzuki":
                grade = np.digitize(rows.y, np.quantile(rows.y, [0.2, 0.4, 0.6, 0.8]))
                yield ClassTask("suzuki, 5 grades", "grades", rows.X, grade.astype(np.intp))
    if (path := folder / "vapdiff_crystal.csv").is_file():
        table = pd.read_csv(path)
        words = ["clear_solution", "fine_powder", "small_crystallites", "large_crystallites"]
        grade = table.pop("crystal_score").map(words.index).to_numpy(dtype=np.intp)
        X = pd.get_dummies(table.drop(columns="id")).to_numpy(dtype=float)
        yield ClassTask("crystals", "pass", X, (grade == 3).astype(np.intp))
        yield ClassTask("crystals, 4 grades", "grades", X, grade)


Method = Callable[[ClassTask, Array, Codes, Array], Array]  # X, codes, x -> (N, K)


def weal_classes(task: ClassTask, X: Array, codes: Codes, x: Array) -> Array:
    """Probabilities (N, K) of weal; of grades, whichever kind of model is better left out."""
    if task.kind != "grades":
        model = EnsembleGPClassifier(classes=range(task.K)).fit(X, codes, X_unlabelled=x)
        return model.predict_proba(x)
    plain, known = parameters_of({}, X.shape[1]), np.concatenate([X, x])
    number = class_model.fit(
        class_model.grade_parameters(plain), X, codes.astype(float), GRADE_NOISE_SD, known
    )
    own = class_model.pass_fail_parameters(plain)
    classes = [
        class_model.fit(own, X, np.where(codes == k, 1.0, -1.0), LABEL_NOISE_SD, known)
        for k in range(task.K)
    ]
    if class_model.grades_are_numbers(number, classes, codes):
        return class_model.grade_probabilities(number, x, task.K)
    return class_model.class_probabilities(classes, x)


def _peer(make: Callable[[], Any]) -> Method:
    def probabilities(task: ClassTask, X: Array, codes: Codes, x: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make_pipeline(StandardScaler(), make()).fit(X, codes)
        p = np.zeros((len(x), task.K))
        p[:, model.classes_] = model.predict_proba(x)
        return p

    return probabilities


METHODS: dict[str, Method] = {
    "weal": weal_classes,
    "forest": _peer(lambda: RandomForestClassifier(300, random_state=0)),
    "GP classifier": _peer(
        lambda: GaussianProcessClassifier(ConstantKernel() * RBF(2.0), random_state=0)
    ),
    "logistic": _peer(lambda: LogisticRegression(max_iter=1000)),
}


def draw(task: ClassTask, seed: int) -> tuple[Codes, Codes]:
    """Rows in the order they are labelled, and rows to test on."""
    rng = np.random.default_rng([seed, _ROWS_KEY])
    while True:
        rows = rng.permutation(len(task.codes))
        if len(set(task.codes[rows[: LABELS[0]]].tolist())) > 1:
            break
    most = min(LABELS[-1], len(rows) // 2)
    return rows[:most], rows[most : most + TEST_ROWS]


def held(p: Array) -> Array:
    """Probabilities (N, K) of LEAST or more."""
    return class_model.normalised(np.maximum(p, LEAST))


def run_models(task: ClassTask, seed: int) -> Iterator[dict[str, Any]]:
    """Scores of every method after each number of labels."""
    order, test = draw(task, seed)
    x, seen = task.X[test], task.codes[test]
    for n in (n for n in LABELS if n <= len(order)):
        for name, method in METHODS.items():
            start = time.perf_counter()
            p = method(task, task.X[order[:n]], task.codes[order[:n]], x)
            scores = class_scores(held(p), seen)
            yield {
                **{"task": task.name, "kind": task.kind, "realisation": seed, "labels": n},
                **{"method": name, "log_loss": scores.log_loss, "accuracy": scores.accuracy},
                **{"off": scores.calibration_error, "s": time.perf_counter() - start},
            }


def run_choice(task: ClassTask, seed: int) -> Iterator[dict[str, Any]]:
    """Areas of accuracy and log loss of rows chosen by BALD, and at random."""
    rng = np.random.default_rng([seed, _POOL_KEY])
    while True:
        rows = rng.permutation(len(task.codes))
        pool, test = np.split(rows, [min(POOL_ROWS, 2 * len(rows) // 3)])
        if 0 < task.codes[pool[:FIRST]].sum() < FIRST:
            break
    for name in ("bald", "random"):
        accuracy, loss = np.array(list(_curve(task, pool, test[:TEST_ROWS], name))).mean(axis=0)
        found = {"task": task.name, "realisation": seed, "method": name, "labels": CHOSEN}
        yield {**found, "accuracy": accuracy, "log_loss": loss}


def _curve(task: ClassTask, pool: Codes, test: Codes, name: str) -> Iterator[tuple[float, float]]:
    """Accuracy and log loss on the test rows, after every EVERY labels."""
    X, y = task.X[pool], np.where(task.codes[pool] > 0, 1.0, -1.0)
    told = list(range(FIRST))
    parameters = class_model.pass_fail_parameters(parameters_of({}, X.shape[1]))
    model = class_model.fit(parameters, X[told], y[told], LABEL_NOISE_SD, X)
    while True:
        if len(told) % EVERY == 0:
            p = class_model.pass_probability(model, task.X[test])
            scores = class_scores(held(np.stack([1.0 - p, p], axis=1)), task.codes[test])
            yield scores.accuracy, scores.log_loss
        if len(told) == CHOSEN:
            return
        row = _most_informative(model, X, told) if name == "bald" else len(told)
        told.append(row)
        new = scaled_data.scale_data(model.scaling, X[[row]], y[[row]], [LABEL_NOISE_SD])
        model = Model(train(model.trained, *new), model.scaling)


def _most_informative(model: Model, X: Array, told: list[int]) -> int:
    slope, blocks = (
        class_model.slope_of(model.trained),
        model.trained.beliefs(model.scaled_inputs(X)),
    )
    score = np.concatenate([information(model.weights_, mu, v, slope) for _, mu, v in blocks])
    score[told] = -np.inf
    return int(score.argmax())


def finished(path: Path | None) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Runs that an earlier call finished, by task and seed."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    if path is not None and path.is_file():
        for line in path.read_text("utf-8").splitlines():
            rows = json.loads(line)
            found[rows[0]["task"], rows[0]["realisation"]] = rows
    return found


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means of the scores over the seeds."""
    frame = pd.DataFrame(rows)
    by = [name for name in ("task", "kind", "labels", "method") if name in frame]
    found = frame.groupby(by, sort=False)[["log_loss", "accuracy"]].mean().reset_index()
    return list(found.to_dict("records"))


def table(rows: list[dict[str, Any]], by: list[str]) -> pd.DataFrame:
    """Means of the scores by some columns, a column for each method."""
    frame = pd.DataFrame(rows)
    return frame.pivot_table(index=by, columns="method", values=["log_loss", "accuracy"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("models", "choice"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tasks", default="", help="names, with semicolons; default: all")
    parser.add_argument("--data", type=Path, default=BESIDE, help="folder of the laboratory tables")
    record.add_option(parser)
    options = parser.parse_args()
    part = options.to.with_suffix(".part") if options.to else None
    done, rows = finished(part), list[dict[str, Any]]()
    wanted = [name for name in options.tasks.split(";") if name]
    run = run_models if options.what == "models" else run_choice
    for task in tasks(options.data):
        if (wanted and task.name not in wanted) or (run is run_choice and task.kind != "pass"):
            continue
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            start = time.perf_counter()
            own = done.get((task.name, seed)) or list(run(task, seed))
            rows += own
            if part is not None and (task.name, seed) not in done:
                with part.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(own) + "\n")
            say(f"{task.name}, seed {seed}: {time.perf_counter() - start:.1f} s")
    by = ["kind", "labels"] if run is run_models else ["labels"]
    say(table(rows, by).round(3).to_string())
    say(table(rows, ["task"]).round(3).to_string())
    if options.to:
        seeds = f"{options.first_seed}:{options.first_seed + options.seeds}"
        what = f"pass/fail, classes and grades: {options.what}, means over the seeds"
        record.write(options.to, what, means(rows), seeds)


if __name__ == "__main__":
    main()
