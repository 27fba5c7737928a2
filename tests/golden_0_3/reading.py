"""What golden files of 0.3 say, as plain values: by public names and the `weal` command alone.

The maker asked these questions when 0.3 wrote the files and kept the answers in `expected.json`;
the tests ask the installed weal. What gets another name later is renamed here and nowhere else.
"""

import sqlite3
from contextlib import closing

import weal
from golden_0_2.reading import SENTENCES, asks, numbers_of, plain, read_predictions, weal_json

# Models


def load_estimator(path):
    """The regressor or the classifier in a file."""
    kind = weal.EnsembleGPClassifier if "classifier" in path.name else weal.EnsembleGPRegressor
    return kind.load(path)


def read_estimator(model, X):
    """Predictions at X, and the number of labels."""
    if isinstance(model, weal.EnsembleGPClassifier):
        shares = plain(model.predict_proba(X))
        said = {"classes": plain(model.classes_), "predict": plain(model.predict(X))}
        return {**said, "probabilities": shares, "labels": model.n_labels_}
    said = {"version": model.model_version, "outliers": plain(model.outlier_probability_)}
    return {**read_predictions(model, X), **said, "labels": model.n_labels_}


# Learners


def read_learner(learner):
    """Labels, rows out, skipped and failed, the goal and all predictions; nothing is asked."""
    frames = {what: read_frame(learner.to_frame(what)) for what in ("labels", "predictions")}
    return {
        **frames,
        "pending": [plain(name) for name in learner.pending],
        "skipped": sorted((plain(name) for name in learner.skipped), key=repr),
        "goal": str(learner.goal),
        "history": [[plain(row["id"]), plain(row["label"])] for row in learner.history],
        "plan": str(learner.plan).splitlines()[1:],
    }


def read_frame(frame):
    """The columns of a frame, without sentences."""
    return {name: plain(list(frame[name])) for name in frame.columns if name not in SENTENCES}


def read_next(learner):
    """The rows that a learner asks for next, also once a row that it asked for has failed."""
    first = asks(learner)
    learner.fail(first[0])
    return {"asks": first, "asks after a failure": asks(learner)}


# Campaigns


def read_campaign(store, name):
    """What is written of a campaign, to the letter: events, settings, the list."""
    place = ("--store", f"sqlite:///{store}")
    listed = weal_json("list", "--all", *place)
    return {
        "log": weal_json("log", *place, name),
        "settings": weal_json("settings", *place, name),
        "list": [row for row in listed if row["name"] == name],
    }


def read_beliefs(store, name):
    """Predictions of all rows, the best rows and the status, without sentences and times."""
    place = ("--store", f"sqlite:///{store}")
    with weal.open_campaign(name, f"sqlite:///{store}", by="dan") as campaign:
        predictions = read_frame(campaign.to_frame("predictions"))
    return {"predictions": predictions, "status": numbers_of(weal_json("status", *place, name))}


def read_tokens(store):
    """Tokens, without their last use."""
    return weal_json("token", "list", "--store", f"sqlite:///{store}")


def drop_snapshots(store):
    """Drop what a store keeps of models: experts are selected again."""
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("DELETE FROM weal_snapshot")
