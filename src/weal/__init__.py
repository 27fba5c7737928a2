"""Weighted Gaussian-process ensembles for active learning: choose which row to measure next.

Public names load on first use, so that `import weal` costs next to nothing::

    from weal import EnsembleGPRegressor, Kernel
"""

TYPE_CHECKING = False  # as of `typing`, which takes time to load: Ctrl-C may come meanwhile
__version__ = "0.3.0"

_HOMES = {
    "ActiveLearner": "weal.active_learner",
    "AlreadyLabelled": "weal.errors",
    "Campaign": "weal.campaign.campaign",
    "Conflict": "weal.errors",
    "EnsembleGPClassifier": "weal.classifier",
    "EnsembleGPRegressor": "weal.regressor",
    "Exhausted": "weal.errors",
    "FeatureEncoder": "weal.feature_encoder",
    "Kernel": "weal.core.paper.kernels",
    "Remote": "weal.client.remote",
    "Scaling": "weal.core.scaling",
    "UnknownId": "weal.errors",
    "UnreadableFile": "weal.errors",
    "WealError": "weal.errors",
    "box": "weal.tables.design_file",
    "open_campaign": "weal.campaign.campaign",
    "open_pool": "weal.shards.dataset",
    "simulate": "weal.benchmark.simulate",
}

__all__ = [
    "ActiveLearner",
    "AlreadyLabelled",
    "Campaign",
    "Conflict",
    "EnsembleGPClassifier",
    "EnsembleGPRegressor",
    "Exhausted",
    "FeatureEncoder",
    "Kernel",
    "Remote",
    "Scaling",
    "UnknownId",
    "UnreadableFile",
    "WealError",
    "box",
    "open_campaign",
    "open_pool",
    "simulate",
]

if TYPE_CHECKING:
    from typing import Any

    from weal.active_learner import ActiveLearner
    from weal.benchmark.simulate import simulate
    from weal.campaign.campaign import Campaign, open_campaign
    from weal.classifier import EnsembleGPClassifier
    from weal.client.remote import Remote
    from weal.core.paper.kernels import Kernel
    from weal.core.scaling import Scaling
    from weal.errors import (
        AlreadyLabelled,
        Conflict,
        Exhausted,
        UnknownId,
        UnreadableFile,
        WealError,
    )
    from weal.feature_encoder import FeatureEncoder
    from weal.regressor import EnsembleGPRegressor
    from weal.shards.dataset import open_pool
    from weal.tables.design_file import box


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"weal has no {name!r}; it has {', '.join(__all__)}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
