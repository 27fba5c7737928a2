"""Learners of format 1, as weal 0.1 wrote them, turned into the present format."""

from weal.model import old_files
from weal.model.model_file import Arrays, Header
from weal.model.old_files import is_old

__all__ = ["is_old", "learner"]

_MODEL = "model_"  # prefix of the arrays of a model, which was kept whole
_SCALING = ("x_mean", "x_sd", "y_mean_sd", "x_median", "x_spread")
_EXPERTS = ("prior_log_w", "ratio", "a0", "b0", "unit", "magnitude", "zeta", "offset")


def learner(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """Header and arrays as they are now."""
    news, weighed = header["news"]
    settlement, more = _settlement(header, arrays)
    kept = {name: array for name, array in arrays.items() if not name.startswith(_MODEL)}
    if "target" in kept:
        kept["reference"] = kept.pop("target")
    changed = {
        "params": old_files.params(header["params"]),
        "asked": header["pending"],
        "weighed": news == weighed,
        "settlement": settlement,
    }
    return {**header, **changed}, {**kept, **more}


def _settlement(header: Header, arrays: Arrays) -> tuple[Header | None, Arrays]:
    """What the experts were settled by; the model itself follows from the labels."""
    if header["model"] is None:
        return None, {}
    own = {n.removeprefix(_MODEL): a for n, a in arrays.items() if n.startswith(_MODEL)}
    model = old_files.model(header["model"], own)
    n = min(model["settled"], len(arrays["label_y"]))
    by = {f"settled_{part}": arrays[f"label_{part}"][:n] for part in ("x", "y", "noise")}
    experts = {f"experts_{name}": own[name] for name in _EXPERTS if name in own}
    scaling = {name: own[name] for name in _SCALING if name in own}
    return {"n": n, "together": n, "experts": model}, {**by, **experts, **scaling}
