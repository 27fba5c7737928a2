"""One case of `cost` in a process of its own: prints a JSON list of rows.

    python benchmarks/cost_cases.py query METHOD LABELS CANDIDATES [CANDIDATES ...]
    python benchmarks/cost_cases.py shards LABELS ROWS THREADS
    python benchmarks/cost_cases.py sections CAMPAIGN STORE

`query` times, with LABELS labels of 8 inputs, what METHOD (weal, scikit-learn, BoTorch) does
between a label and the next row to measure:

    imports   start of Python and imports
    fit       hyperparameters (scikit-learn: three restarts); of weal, the selection of experts
              and their first pass over the candidates
    step      one more label with fixed hyperparameters, the scores of all candidates, the best one

A fit of a rival to more than MAX_FIT_LABELS labels takes minutes. It is estimated from a fit to
MAX_FIT_LABELS labels: as many evaluations of the marginal likelihood and its gradient, each as long
as one was at this size. Candidates are scored in blocks, so that memory does not decide.

`shards` times an ask of weal on a pool in Parquet files; `sections` times an ask from the shell by
section: each second counts for the innermost section that it is in.

Seconds are of the processor, user and system, one thread; MB is the largest resident set so far.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial, wraps
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

STARTED = time.process_time()  # seconds of Python until here
INPUTS = 8
STEPS = 3  # of which the median counts
BLOCK_ROWS = {"scikit-learn": 10_000, "BoTorch": 1_000}
MAX_FIT_LABELS = 500
Row = dict[str, Any]


def megabytes() -> float:
    """The largest resident set of this process so far."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of some work, and what it returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def a_problem(labels: int, candidates: int) -> tuple[Any, Any, Any]:
    """Labelled inputs and labels, more of them than asked for, and candidates."""
    import numpy as np

    rng = np.random.default_rng(1)
    X = rng.random((labels + STEPS + 1, INPUTS))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.cos(5.0 * X[:, 3] + X[:, 4])
    return X, y + rng.normal(0.0, 0.05, len(y)), rng.random((candidates, INPUTS))


def query_weal(labels: int, counts: list[int]) -> Iterator[Row]:
    """Rows of weal."""
    import_seconds, ActiveLearner = seconds_of(_import_weal)
    yield {"what": "imports", "seconds": STARTED + import_seconds, "MB": megabytes()}
    X, y, C = a_problem(labels, max(counts))
    for count in counts:
        learner = ActiveLearner(C[:count])
        learner.tell_points(X[:labels], y[:labels])
        first, row = seconds_of(learner.ask)
        steps = []
        for n in range(STEPS):
            spent, row = seconds_of(partial(_tell_and_ask, learner, row, float(y[labels + n])))
            steps.append(spent)
        fit = max(first - median(steps), 0.0)
        about = {"candidates": count, "MB": megabytes()}
        yield {"what": "fit", "seconds": fit, **about}
        yield {"what": "step", "seconds": median(steps), **about}


def _tell_and_ask(learner: Any, row: Any, label: float) -> Any:
    learner.tell(row, label)
    return learner.ask()


def _import_weal() -> Any:
    from weal import ActiveLearner

    return ActiveLearner


def query_rival(method: str, labels: int, counts: list[int]) -> Iterator[Row]:
    """Rows of a rival."""
    import_seconds, _ = seconds_of(lambda: _import_package(method))
    yield {"what": "imports", "seconds": STARTED + import_seconds, "MB": megabytes()}
    import numpy as np

    from weal.benchmark.peers import fit_botorch, fit_sklearn

    fit: Callable[..., Any] = fit_sklearn if method == "scikit-learn" else fit_botorch

    X, y, C = a_problem(labels, max(counts))
    few = min(labels, MAX_FIT_LABELS)
    seconds, model = seconds_of(lambda: fit(X[:few], y[:few], np.random.default_rng(0)))
    if few < labels:
        one, many = (seconds_of(evaluation(method, model, X[:n], y[:n]))[0] for n in (few, labels))
        seconds *= many / one
    yield {"what": "fit", "seconds": seconds, "estimated": few < labels, "MB": megabytes()}
    model.predict(C[:1])  # GPyTorch can be conditioned once it has predicted
    if few < labels:
        model = model.condition(X[:labels], y[:labels])
        model.predict(C[:1])
    for count in counts:
        steps = []
        for n in range(STEPS if count * labels < 10**7 else 1):
            size = labels + n + 1

            def step(size: int = size, model: Any = model, count: int = count) -> Any:
                told = model.condition(X[:size], y[:size])
                blocks = range(0, count, BLOCK_ROWS[method])
                parts = [told.predict(C[a : min(a + BLOCK_ROWS[method], count)])[1] for a in blocks]
                return int(np.argmax(np.concatenate(parts)))

            steps.append(seconds_of(step)[0])
        yield {
            "what": "step", "seconds": median(steps), "candidates": count, "MB": megabytes()
        }  # fmt: skip


def _import_package(method: str) -> None:
    """Import what a script with this GP imports."""
    if method == "scikit-learn":
        import sklearn.gaussian_process.kernels  # noqa: F401
    else:
        import botorch.fit
        import botorch.models  # noqa: F401


def evaluation(method: str, model: Any, X: Any, y: Any) -> Callable[[], Any]:
    """One evaluation of the marginal likelihood and its gradient, with these labels."""
    if method == "scikit-learn":
        gp = model.condition(X, y).gp
        return lambda: gp.log_marginal_likelihood(gp.kernel_.theta, eval_gradient=True)
    from gpytorch.mlls import ExactMarginalLogLikelihood

    from weal.benchmark.peers import to_tensor, torch_settings

    gp = model.gp

    def evaluate() -> None:
        with torch_settings(grad=True):
            gp.train()
            gp.set_train_data(to_tensor(X), to_tensor(y), strict=False)
            mll = ExactMarginalLogLikelihood(gp.likelihood, gp)
            (-mll(gp(*gp.train_inputs), gp.train_targets)).backward()
            gp.eval()

    return evaluate


def shards(labels: int, rows: int, threads: int) -> Iterator[Row]:
    """An ask of weal on a pool in Parquet files, its first one and one more."""
    from benchmarks.pools import labelled, write

    import weal

    with tempfile.TemporaryDirectory(dir=".") as name:
        write(Path(name), rows, 64)
        learner = labelled(weal.open_pool(name, id_column="id"), labels, threads=threads)
        seconds, _ = seconds_of(learner.ask)
        yield {"what": "step", "seconds": seconds, "candidates": rows, "MB": megabytes()}


SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("reading the store and its labels", "weal.campaign.session:Session", ("__init__", "update")),
    ("selecting and updating experts", "weal.learner.posterior_cache", ("train_initial", "update")),
    ("selecting and updating experts", "weal.model.training", ("select_experts",)),
    (
        "pass over the candidates",
        "weal.learner.pools.memory:MemoryPool",
        ("__init__", "keep_experts", "_catch_up", "predict", "predict_kept", "score", "recompute"),
    ),
    ("the reason that is shown", "weal.campaign.suggestions", ("explain",)),
)


class SectionTimes:
    """Processor seconds of sections; each counts for the innermost one."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.stack: list[str] = []
        self.last = time.process_time()

    def _charge(self) -> None:
        now = time.process_time()
        name = self.stack[-1] if self.stack else "all else"
        self.spent[name] = self.spent.get(name, 0.0) + now - self.last
        self.last = now

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Charge what is inside to this section."""
        self._charge()
        self.stack.append(name)
        try:
            yield
        finally:
            self._charge()
            self.stack.pop()

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.section(name):
                return function(*args, **kwargs)

        return timed


def sections(campaign: str, store: str) -> Iterator[Row]:
    """Seconds of `weal ask` by section."""
    from importlib import import_module

    times = SectionTimes()
    with times.section("starting Python, imports"):
        for module in ("weal.cli.main", "weal.cli.commands.ask", "weal.learner.choosing"):
            import_module(module)
        import scipy.linalg
        import scipy.optimize  # noqa: F401
    for name, place, functions in SECTIONS:
        module, _, inner = place.partition(":")
        owner = getattr(import_module(module), inner) if inner else import_module(module)
        for function in functions:
            setattr(owner, function, times.wrap(name, getattr(owner, function)))
    from weal.cli.main import main

    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        main(["ask", campaign, "--store", store])
    with times.section("starting Python, imports"):  # closes the last section
        times.spent["starting Python, imports"] += STARTED
    for name, seconds in times.spent.items():
        yield {"what": name, "seconds": seconds, "MB": megabytes()}


def main() -> None:
    part, *given = sys.argv[1:]
    if part == "query":
        method, labels, *counts = given
        sizes = [int(count) for count in counts]
        rival = method != "weal"
        found = query_rival(method, int(labels), sizes) if rival else query_weal(int(labels), sizes)
    elif part == "shards":
        found = shards(*(int(number) for number in given))
    else:
        found = sections(*given)
    print(json.dumps(list(found)))


if __name__ == "__main__":
    main()
