"""Gain from the classes of kernels, task by task: `python benchmarks/real_labels/dictionary.py`.

log10 NMSE of the default model less that of the same without anova, on the synthetic tasks of
`weal.benchmark`, 15 and 40 random labels. Nothing is asserted.
"""

from collections.abc import Sequence
from unittest import mock

import numpy as np

from weal import EnsembleGPRegressor
from weal.benchmark.tasks import TASKS, Task, draw
from weal.core.constants import ANOVA_SHARE
from weal.core.extensions import model_selection

LABELS = (15, 40)


def log_errors(task: Task, seed: int, anova: float) -> list[float]:
    """Of models of the first LABELS, with that share for anova."""
    split = draw(task, seed, 7)
    found = []
    with mock.patch.object(model_selection, "ANOVA_SHARE", anova):
        for n in LABELS:
            model = EnsembleGPRegressor().fit(split.Xu[:n], split.yu[:n])
            error = np.mean((model.predict(split.Xt) - split.yt) ** 2) / split.yt.var()
            found.append(float(np.log10(max(error, 1e-5))))
    return found


def rows(seeds: Sequence[int]) -> list[tuple[str, str, str]]:
    """What anova brings, on each task."""
    found = []
    for name, task in TASKS.items():
        if task.group == "synthetic" and task.d > 1:
            share = ANOVA_SHARE
            gain = [
                np.subtract(log_errors(task, s, share), log_errors(task, s, 0.0)) for s in seeds
            ]
            said = f"{np.mean(gain):+.3f} (se {np.std(gain) / np.size(gain) ** 0.5:.3f})"
            found.append((f"anova on {name}: log10 NMSE", "<= 0", said))
    return found


if __name__ == "__main__":
    for row in rows(range(10)):
        print(f"{row[0]:40} {row[1]:10} {row[2]}")
