"""What 0.1.0 wrote the golden files with, under the names and units of later versions."""

import numpy as np


class Renamed:
    """A regressor of 0.1.0 under later names, noise as a standard deviation."""

    def __init__(self, old):
        self.old = old

    def __getattr__(self, name):
        if name in ("noise", "noise_"):
            return np.sqrt(self.old.noise_)
        if name in ("weights", "magnitude", "scaling", "n_labels"):
            name = f"{name}_"
        return getattr(self.old, name)

    def get_params(self):
        params = self.old.get_params()
        noise, bounds = params["noise"], params["noise_bounds"]
        params["noise"] = None if noise is None else np.sqrt(noise)
        params["noise_bounds"] = np.sqrt(bounds)
        return params


class RenamedLearner:
    """A learner of 0.1.0 under later names."""

    def __init__(self, old):
        self.old = old

    def __getattr__(self, name):
        return getattr(self.old, "target" if name == "reference" else name)

    @property
    def model(self):
        return Renamed(self.old.model)
