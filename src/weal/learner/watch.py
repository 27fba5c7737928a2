"""Points that a learner keeps its belief on, such as a test set; all experts are held."""

from collections.abc import Callable

from weal.core.arrays import Array
from weal.learner.beliefs import Beliefs
from weal.learner.state import State
from weal.model.prediction import in_units, log_density_in_units


class Watch:
    """Predictions at some points, moved by one column for each label."""

    def __init__(self, beliefs: Beliefs, X: Array, state: Callable[[], State]) -> None:
        self._beliefs, self._state, self.X = beliefs, state, X
        self._n = beliefs.watch(X)

    def predict(self) -> tuple[Array, Array]:
        """Mean and sd (N,) of f, in the user's units."""
        model, mu, var = self._beliefs.watched(self._state(), self._n)
        return in_units(model.fold, model.scaling, mu, var)

    def log_predictive_density(self, y: Array) -> Array:
        """Log density (N,) of labels y (N,), noise included, in units of y."""
        model, mu, var = self._beliefs.watched(self._state(), self._n)
        return log_density_in_units(model.fold, model.scaling, mu, var, y)
