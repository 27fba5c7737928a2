"""Weighted ensembles for active learning: which point to measure next, and how sure we are.

Public names load on first use, so that `import weal` costs next to nothing::

    from weal import EnsembleGPRegressor, Kernel
"""

TYPE_CHECKING = False  # as of `typing`, which takes time to load: Ctrl-C may come meanwhile
__version__ = "0.2.0"

_HOMES = {
    "ActiveLearner": "weal.active_learner",
    "AlreadyLabelled": "weal.errors",
    "Campaign": "weal.campaign.campaign",
    "Conflict": "weal.errors",
    "EnsembleGPRegressor": "weal.model.regressor",
    "Exhausted": "weal.errors",
    "FeatureEncoder": "weal.model.encoder",
    "Kernel": "weal.core.paper.kernels",
    "Scaling": "weal.core.scaling",
    "UnknownId": "weal.errors",
    "UnreadableFile": "weal.errors",
    "WealError": "weal.errors",
    "box": "weal.table.box",
    "open_campaign": "weal.campaign.opening",
    "open_pool": "weal.shards.pool",
}

__all__ = [
    "ActiveLearner",
    "AlreadyLabelled",
    "Campaign",
    "Conflict",
    "EnsembleGPRegressor",
    "Exhausted",
    "FeatureEncoder",
    "Kernel",
    "Scaling",
    "UnknownId",
    "UnreadableFile",
    "WealError",
    "box",
    "open_campaign",
    "open_pool",
]

if TYPE_CHECKING:
    from typing import Any

    from weal.active_learner import ActiveLearner
    from weal.campaign.campaign import Campaign
    from weal.campaign.opening import open_campaign
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
    from weal.model.encoder import FeatureEncoder
    from weal.model.regressor import EnsembleGPRegressor
    from weal.shards.pool import open_pool
    from weal.table.box import box


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"weal has no {name!r}; it has {', '.join(__all__)}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
