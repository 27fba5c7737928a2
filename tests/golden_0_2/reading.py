"""What golden files of 0.2 say, as plain values: by public names and the `weal` command alone.

The makers asked these questions when 0.2 wrote the files and kept the answers in `expected.json`;
the tests ask the installed weal. What gets another name later is renamed here and nowhere else.
"""

import io
import json
import math
import signal
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib.metadata import entry_points

import numpy as np

import weal

LEVEL = 0.9
BATCH = 3
# Numbers other than labels may differ by rounding, which depends on the processor: an sd, the root
# of a small difference of large numbers, differed by 3e-5.
RTOL = 1e-4


# Models


def load_model(path, case):
    """The regressor in a file, and the encoder of its inputs where there is one."""
    encoder = None
    if "encoder" in case:
        encoder = weal.FeatureEncoder.load(path.with_name(case["encoder"]))
    return weal.EnsembleGPRegressor.load(path), encoder


def read_estimator(model, case, encoder=None):
    """Predictions, experts and parameters; `case` has the points to predict."""
    X = inputs(case, "points", encoder)
    params = model.get_params()
    kept = ("approximation", "n_frequencies", "orthogonal", "temper", "warp", "outliers")
    return {
        **read_predictions(model, X),
        "log density": plain(model.log_predictive_density(X, case["labels"])),
        "weights": plain(model.weights_),
        "noise": plain(model.noise_),
        "magnitude": plain(model.magnitude_),
        "labels": model.n_labels_,
        "outlier probability": plain(model.outlier_probability_),
        "scaling": [
            plain(getattr(model.scaling_, f)) for f in ("x_mean", "x_sd", "y_mean", "y_sd")
        ],
        "dictionary": [
            [one.family, plain(one.length_scale), one.alpha, one.offset]
            for one in model.dictionary_
        ],
        "params": {name: params[name] for name in kept},
        "noise parameter": plain(params["noise"]),
        "noise bounds": plain(params["noise_bounds"]),
    }


def read_predictions(model, X):
    mean, std = model.predict(X, return_std=True)
    low, high = model.predict_interval(X, LEVEL)
    return {"mean": plain(mean), "std": plain(std), "low": plain(low), "high": plain(high)}


def inputs(case, name, encoder=None):
    """Points of a case as the model takes them: a frame where it was fitted to one, or encoded."""
    X = np.array(case[name])
    if "columns" in case:
        import pandas

        return pandas.DataFrame(X, columns=case["columns"])
    return X if encoder is None else encoder.transform(X)


# Learners


def read_learner(learner, case):
    """Labels, rows out and skipped, predictions of the ids of the case; nothing is asked."""
    found = {
        "labels": [[plain(one.name), one.y, one.noise, bool(one.sure)] for one in learner.labels],
        "pending": [plain(name) for name in learner.pending],
        "skipped": sorted((plain(name) for name in learner.skipped), key=repr),
        "fitted": learner.fitted,
        "n_start": learner.n_start,
        "seed": learner.seed,
        "acquisition weights": learner.acquisition_weights,
        "reference": plain(learner.reference),
    }
    if learner.fitted:
        found["predicted error"] = learner.predicted_error()
        for name in ("mean", "sd"):
            ids = [id_of(one) for one in case["ids"]]
            found[name] = plain(learner.predict(ids, return_std=True)[name == "sd"])
        found["weights"] = plain(learner.model.weights_)
    return found


def read_history(learner):
    names = ("step", "id", "why", "label", "mean", "std", "score")
    return [
        [*(plain(row[name]) for name in names), row["acquisition_weights"]]
        for row in learner.history
    ]


def asks(learner, n=BATCH, **how):
    return [plain(name) for name in learner.ask(n, **how)]


def left(learner):
    """All that may still be asked, sorted."""
    found = []
    with suppress(weal.Exhausted):
        while True:
            found.append(plain(learner.ask(more=True)))
    return sorted(found, key=repr)


def id_of(kept):
    """An id as it was: JSON has lists in place of tuples."""
    return tuple(kept) if isinstance(kept, list) else kept


# Campaigns


def weal_json(*words):
    """The JSON that `weal` prints for these words."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    (script,) = entry_points(group="console_scripts", name="weal")
    hooks, handler = (sys.excepthook, sys.unraisablehook), signal.getsignal(signal.SIGINT)
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("default", UserWarning)  # a line on stderr, as for everybody
        try:
            script.load()([str(word) for word in words] + ["--json"])
        except SystemExit as ended:
            if ended.code not in (0, None):
                said = err.buffer.getvalue().decode()
                raise AssertionError(f"weal {' '.join(map(str, words))}: {said}") from None
        finally:
            sys.excepthook, sys.unraisablehook = hooks
            signal.signal(signal.SIGINT, handler)
    return json.loads(out.buffer.getvalue().decode())


SENTENCES = {
    *("advice", "brief", "choice", "message", "mixtures", "needed", "note", "sentences", "why"),
    "words",
}
CLOCK = {"since", "until", "time"}


def numbers_of(value, but=SENTENCES | CLOCK):
    """JSON without the sentences, which may be written better, and without times of the clock."""
    if isinstance(value, dict):
        return {name: numbers_of(one, but) for name, one in value.items() if name not in but}
    return [numbers_of(one, but) for one in value] if isinstance(value, list) else value


def read_campaign(store, name, ids):
    """What is written of a campaign, to the letter: events, settings, rows, the list."""
    place = ("--store", f"sqlite:///{store}")
    listed = weal_json("list", "--all", *place)
    return {
        "log": weal_json("log", *place, name),
        "settings": weal_json("settings", *place, name),
        "list": [as_listed(row) for row in listed if row["name"] == name],
        "rows": [_written(weal_json("show", *place, name, one)) for one in ids],
    }


def as_listed(row):
    """A campaign as 0.2 listed it: archived ones were removed, and none had a title."""
    assert row["title"] is None
    shown = {field: one for field, one in row.items() if field not in ("archived", "title")}
    return {**shown, "removed": row["archived"]}


def _written(row):
    """Of `weal show`: what was written, not what is predicted."""
    fields = ("id", "row", "labels", "skipped", "note", "who", "until", "lapsed", "events")
    return {field: row[field] for field in fields}


def read_predicted(store, name, ids):
    """Mean, sd and interval of the rows with these ids, and whether they have labels."""
    with weal.open_campaign(name, f"sqlite:///{store}", by="dan") as campaign:
        found = campaign.to_frame("predictions").set_index("id").loc[ids]
        return {column: plain(found[column].tolist()) for column in found.columns}


def read_status(store, name):
    return numbers_of(weal_json("status", "--store", f"sqlite:///{store}", name))


def read_asks(store, name, *words):
    place = ("--store", f"sqlite:///{store}", "--by", "dan")
    return numbers_of(weal_json("ask", *place, *words, name))


def read_out(store, name):
    """Rows that are out, with whom, until when, and what was expected of them."""
    words = ("ask", "--store", f"sqlite:///{store}", "--again", name)
    return numbers_of(weal_json(*words), SENTENCES)


# Values


def plain(value):
    """As JSON keeps it: lists for arrays and tuples, None where a number is missing."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def assert_same(found, expected, rtol, place=""):
    """Equal, but for the rounding of floats; says where it is not."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), place
        for name, one in expected.items():
            assert_same(found[name], one, rtol, f"{place}/{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for n, one in enumerate(expected):
            assert_same(found[n], one, rtol, f"{place}/{n}")
    elif isinstance(expected, float) and isinstance(found, float):
        assert math.isclose(found, expected, rel_tol=rtol, abs_tol=1e-3 * rtol), (
            f"{place}: {found!r} is not {expected!r}"
        )
    else:
        assert found == expected, place
