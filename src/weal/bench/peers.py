"""The rivals by name: other packages' GPs and ways to ask, on our splits and first labels.

    sklearn-std, sklearn-igs, sklearn-random        scikit-learn, refitted every 5 labels
    skactiveml-igs                                  scikit-activeml's greedy sampling on that GP
    botorch-var, botorch-ivr, botorch-random        BoTorch, refitted every 5 labels

They are given L0 and nothing else: no validation labels. scikit-activeml and BoTorch are an extra,
`pip install "weal[peers]"`; without them their methods are not in `methods()` but, with the
reason, in `unavailable()`.
"""

from functools import partial
from importlib.util import find_spec
from typing import Any

from weal.bench import peers_botorch, peers_sklearn
from weal.bench.methods import Method
from weal.bench.peers_loop import at_random, igs, play, variance

REFIT = 5  # labels between two fits of a rival's hyperparameters

_SKLEARN: dict[str, tuple[str, Any]] = {
    "sklearn-std": ("scikit-learn, max std", variance),
    "sklearn-igs": ("scikit-learn, iGS", igs),
    "sklearn-random": ("scikit-learn, random", at_random),
}
_SKACTIVEML: dict[str, tuple[str, Any]] = {
    "skactiveml-igs": ("scikit-activeml, iGS", peers_sklearn.skactiveml_igs),
}
_BOTORCH: dict[str, tuple[str, Any]] = {
    "botorch-var": ("BoTorch, max variance", variance),
    "botorch-ivr": ("BoTorch, integrated variance", peers_botorch.ivr),
    "botorch-random": ("BoTorch, random", at_random),
}


def methods() -> dict[str, Method]:
    """The rivals that can play on this machine, by name.

    >>> list(methods())[:3]
    ['sklearn-std', 'sklearn-igs', 'sklearn-random']
    """
    missing = unavailable()
    named = {
        **_table(peers_sklearn.fit, REFIT, _SKLEARN | _SKACTIVEML),
        **_table(peers_botorch.fit, REFIT, _BOTORCH),
    }
    return {name: method for name, method in named.items() if name not in missing}


def unavailable() -> dict[str, str]:
    """The rivals that cannot, by name, each with one line that says what to install."""
    return {
        name: f'needs {package}: pip install "weal[peers]"'
        for package, module, names in (
            ("scikit-activeml", "skactiveml", _SKACTIVEML),
            ("BoTorch", "botorch", _BOTORCH),
        )
        if find_spec(module) is None
        for name in names
    }


def _table(fit: Any, every: int, named: dict[str, tuple[str, Any]]) -> dict[str, Method]:
    return {
        name: Method(name, title, partial(play, fit, score, every), "peers")
        for name, (title, score) in named.items()
    }
