"""The default model of two checkouts on the same labels: one process each, in turn.

    with Checkout(HERE) as now, Checkout(Path("../before")) as before:
        fitted = [side.fit(X, y, at, truth) for side in (before, now)]

Both get the same arrays, so that differences are paired; processor seconds are of the fit alone,
with one BLAS thread. `summarise` gives the mean of paired differences and the ends of its 95 %
interval.
"""

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]
HERE = Path(__file__).resolve().parents[2]
LEVEL = 0.9
FLOOR = 1e-12  # of NMSE

SERVE = """
import pickle, sys, time, warnings
import numpy as np
from weal import EnsembleGPRegressor
warnings.simplefilter("ignore")
source, sink = sys.stdin.buffer, sys.stdout.buffer
while True:
    try:
        X, y, at, truth, level, given = pickle.load(source)
    except EOFError:
        break
    started = time.process_time()
    model = EnsembleGPRegressor(random_state=0, **given).fit(X, y)
    seconds = time.process_time() - started
    low, high = model.predict_interval(at, level)
    log_p = model.log_predictive_density(at, truth)
    pickle.dump((model.predict(at), low, high, np.asarray(log_p), seconds), sink)
    sink.flush()
"""


class Fitted(NamedTuple):
    """Predictions of the model of one checkout for N test points."""

    mean: Array  # (N,)
    low: Array  # (N,)  of the 90 % intervals of a label
    high: Array  # (N,)
    log_density: Array  # (N,)  of the labels there
    seconds: float  # of the processor, for the fit

    def error(self, f: Array) -> float:
        """Log10 NMSE against f (N,)."""
        share = float(np.mean((self.mean - f) ** 2) / np.var(f))
        return float(np.log10(max(share, FLOOR)))

    def inside(self, y: Array, where: NDArray[np.bool_] | None = None) -> float:
        """Share of the labels y (N,) inside their intervals, of those rows `where` (N,)."""
        held = (self.low <= y) & (y <= self.high)
        return float(np.mean(held if where is None else held[where]))


@dataclass
class Checkout:
    """The weal of a checkout, in a process of its own."""

    place: Path
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **threads, "PYTHONPATH": str(self.place.resolve() / "src")},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def fit(self, X: Array, y: Array, at: Array, labels: Array, **given: object) -> Fitted:
        """Fit labels y (t,) at X (t, d); predict at (N, d), whose labels are (N,)."""
        process = self._process
        if process is None:
            raise RuntimeError("a checkout is used inside `with`")
        sink, source = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
        pickle.dump((X, y, at, labels, LEVEL, given), sink)
        sink.flush()
        return Fitted(*pickle.load(source))  # noqa: S301  (of our own process)


def summarise(differences: Array) -> str:
    """Mean of paired differences (n,), and the ends of its 95 % interval."""
    n, mean = len(differences), float(np.mean(differences))
    if n < 2:
        return f"{mean:+.3f} (one pair)"
    half = float(student.ppf(0.975, n - 1) * np.std(differences, ddof=1) / n**0.5)
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"
