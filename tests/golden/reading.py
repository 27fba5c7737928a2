"""What golden files say, as plain values, by names of the public interface alone.

`make.py` asked these questions when 0.1.0 wrote the files, and kept the answers; the tests ask the
weal that is installed. What has another name now is renamed here, and nowhere else.
"""

import math
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

import weal

HERE = Path(__file__).parent
LEVEL = 0.9
BATCH = 3


# Models


def estimator_says(model, case, encoder=None):
    """What a regressor of scikit-learn's kind says; `case` holds the points to ask it about."""
    params = model.get_params()
    kept = ("approximation", "n_frequencies", "orthogonal", "temper", "warp", "random_state")
    return {
        **model_says(model, inputs(case, "points", encoder), case["labels"], mark="_"),
        "dictionary": [kernel_says(kernel) for kernel in model.dictionary_],
        "params": {name: params[name] for name in kept},
        "noise parameter": plain(params["noise"]),
        "noise bounds": plain(params["noise_bounds"]),
    }


def model_says(model, X, y, mark="_"):
    """Predictions at X (N, d), densities of labels y (N,) there, and the experts.

    `mark` is what the names of fitted values end in.
    """
    mean, std = model.predict(X, return_std=True)
    low, high = model.predict_interval(X, LEVEL)
    scaling = getattr(model, f"scaling{mark}")
    return {
        "mean": plain(mean),
        "std": plain(std),
        "low": plain(low),
        "high": plain(high),
        "log density": plain(model.log_predictive_density(X, y)),
        "weights": plain(getattr(model, f"weights{mark}")),
        "noise": plain(getattr(model, f"noise{mark}")),  # standard deviations
        "magnitude": plain(getattr(model, f"magnitude{mark}")),
        "labels": getattr(model, f"n_labels{mark}"),
        "scaling": [plain(getattr(scaling, f)) for f in ("x_mean", "x_sd", "y_mean", "y_sd")],
    }


def kernel_says(kernel):
    return [kernel.family, plain(kernel.length_scale), kernel.alpha, kernel.offset]


def inputs(case, name, encoder=None):
    """Points of a case as the model takes them: a frame where it was fitted to one, or encoded."""
    X = np.array(case[name])
    if "columns" in case:
        import pandas

        return pandas.DataFrame(X, columns=case["columns"])
    return X if encoder is None else encoder.transform(X)


# Learners


def learner_says(learner, case):
    """What a learner knows; nothing is asked of it."""
    says = {
        "labels": [[plain(one.name), one.y, one.noise] for one in learner.labels],
        "pending": [plain(name) for name in learner.pending],
        "skipped": sorted((plain(name) for name in learner.skipped), key=repr),
        "fitted": learner.fitted,
    }
    if learner.fitted:
        says["predicted error"] = learner.predicted_error()
        says["model"] = model_says(learner.model, np.array(case["points"]), case["labels"])
    return says


def history_says(learner):
    names = ("step", "id", "why", "label", "mean", "std", "score")
    return [
        [*(plain(row[name]) for name in names), row["acquisition_weights"]]
        for row in learner.history
    ]


def reference_says(learner):
    """Where ivr wants to be sure; (N, d), as it was given."""
    return plain(learner.reference)


def asks(learner, n=BATCH, **how):
    return [plain(name) for name in learner.ask(n, **how)]


def left(learner, most):
    """All that may still be asked, `most` at the most, sorted."""
    for n in range(most, 0, -1):
        with suppress(weal.Exhausted):
            return sorted(asks(learner, n, more=True), key=repr)
    return []


def name_of(kept):
    """An id as it was: JSON has lists in place of tuples."""
    return tuple(kept) if isinstance(kept, list) else kept


# Campaigns


def campaign_says(campaign, ids):
    """What a campaign knows, predictions of these ids included; nothing is asked of it."""
    events, labels = campaign.to_frame("events"), campaign.to_frame("labels")
    predictions = campaign.to_frame("predictions").set_index("id")
    candidates = campaign.to_frame("candidates")
    ledger = campaign.ledger
    return {
        "events": len(events),
        "kinds": events["kind"].tolist(),
        "keys": [key for key in events["key"] if isinstance(key, str)],
        "by": events["by"].tolist(),
        "last hash": events["hash"].iloc[-1],
        "labels": {name: plain(labels[name].tolist()) for name in ("id", "label", "noise", "note")},
        "candidates": {name: plain(candidates[name].tolist()) for name in candidates},
        "skipped": dict(ledger.skipped),
        "settings": {name: plain(value) for name, value in ledger.settings.items()},
        "predictions": {
            name: plain(predictions.loc[ids, name].tolist()) for name in predictions.columns
        },
    }


def status_says(campaign):
    """The numbers of a status; its sentences may change."""
    says = campaign.status().to_dict()
    beliefs = says["beliefs"] or {}
    counts = ("candidates", "labels", "labelled", "repeats", "skipped", "missing", "goal")
    return {
        **{name: says[name] for name in counts},
        "out": [[one["id"], one["who"]] for one in says["out"]],
        "lapsed": [[one["id"], one["who"]] for one in says["lapsed"]],
        "aside": sorted(says["aside"]),
        "check": says["check"],
        "coverage": says["coverage"],
        "has model": says["beliefs"] is not None,
        **{name: beliefs.get(name) for name in _BELIEFS},
    }


_BELIEFS = ("left_out", "prequential", "expected", "left_out_coverage", "noise", "acquisition")


def opened(store, name):
    """A campaign, closed at the end."""
    return closing(weal.open_campaign(name, f"sqlite:///{store}", by="dan"))


# Values


def plain(value):
    """As JSON keeps it: lists for arrays and tuples, None where a number is missing."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
