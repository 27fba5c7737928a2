"""Pass/fail results, classes and grades: probabilities beside peers, and rows chosen by BALD."""

import pandas as pd
from benchmarks.pages.markdown import bold, ends, plain, repeat, share, table, whole
from benchmarks.pages.result_files import Figures, Files

from weal.benchmark.statistics import Interval, interval

OURS = "weal"
PEERS = ("forest", "GP classifier", "logistic")
KINDS = {"pass": "Pass or fail", "classes": "Classes", "grades": "Ordered grades"}
TEXT = """# Pass or fail, classes, grades

**{found}**

How good are the probabilities of `EnsembleGPClassifier` ([how it is used](../howto/classes.md)) at
few labels, beside a random forest, scikit-learn's Gaussian process classifier (RBF) and logistic
regression? Labels are drawn at random, the same for all, and the other rows are predicted. Tables
of scikit-learn, California housing and tables of laboratories, where a number was cut at its median
or upper third to pass or fail. No probability is allowed below {least}: forests say 0.
{kinds}
## Task by task

Log loss on average over all numbers of labels.

{tasks}

{made}

## Which result to look at next

Rows chosen by what their result tells (BALD), beside random ones: accuracy and log loss on other
rows, on average along the curve up to {labels} labels. Differences are BALD minus random.

{choice}

{chosen}
"""
KIND = """
## {title}

{rows}

{made}
"""
LEAST = 0.01  # as the benchmark holds them


def page(files: Files, figures: Figures) -> str:
    """The text."""
    models, choice = files["classes-models"], files["classes-choice"]
    made, frame = repeat(models), models.frame
    return TEXT.format(
        found=found(frame, choice.frame),
        least=LEAST,
        kinds="".join(
            KIND.format(title=title, rows=of_kind(frame[frame["kind"] == kind]), made=made)
            for kind, title in KINDS.items()
        ),
        tasks=by_task(frame),
        made=made,
        labels=choice.frame["labels"].max(),
        choice=by_choice(choice.frame),
        chosen=repeat(choice),
    )


def found(models: pd.DataFrame, choice: pd.DataFrame) -> str:
    """What is found, in two sentences."""
    loss = models[models["kind"] == "pass"].pivot_table("log_loss", "task", "method")
    lower = [share(int((loss[OURS] < loss[peer]).sum()), len(loss)) for peer in PEERS]
    gain = between(choice, "accuracy")
    better = share(int((gain > 0.0).sum()), len(gain))
    return (
        f"The log loss of pass/fail results is {loss[OURS].mean():.3f} on average over tasks, "
        f"that of forests {loss['forest'].mean():.3f}; it is lower than that of forests on "
        f"{lower[0]} tasks, than that of the Gaussian process classifier on {lower[1]} and of "
        f"logistic regression on {lower[2]}. Choosing rows by BALD makes {gain.mean():+.3f} of "
        f"accuracy, and is better than random on {better} tasks."
    )


def of_kind(rows: pd.DataFrame) -> str:
    """Log loss and accuracy of all methods, by the number of labels."""
    cells = []
    for labels, own in rows.groupby("labels"):
        means = own.groupby("method")[["log_loss", "accuracy"]].mean()
        least, most = means["log_loss"].min(), means["accuracy"].max()
        losses = [means["log_loss"][name] for name in (OURS, *PEERS)]
        shares = [means["accuracy"][name] for name in (OURS, *PEERS)]
        cells.append(
            [
                labels,
                *(bold(plain(one, 3), one == least) for one in losses),
                *(bold(plain(one, 3), one == most) for one in shares),
            ]
        )
    header = ["labels", *(f"{name}, log loss" for name in (OURS, *PEERS))]
    return table([*header, *(f"{name}, accuracy" for name in (OURS, *PEERS))], cells, "r" * 9)


def by_task(rows: pd.DataFrame) -> str:
    """Log loss of all methods, and differences to the peers on average over pass/fail tasks."""
    loss = rows.pivot_table("log_loss", ["kind", "task"], "method", sort=False)
    cells = [
        [task, *(bold(plain(own[name], 3), own[name] == own.min()) for name in (OURS, *PEERS))]
        for (_, task), own in loss.iterrows()
    ]
    passes = loss.loc["pass"]
    less = [interval((passes[OURS] - passes[peer]).to_numpy(dtype=float)) for peer in PEERS]
    cells.append(["weal minus it, pass or fail", "", *(whole(ends(one)) for one in less)])
    return table(["task", OURS, *PEERS], cells, "lrrrr")


def between(rows: pd.DataFrame, column: str) -> pd.Series:
    """BALD minus random, by task."""
    means = rows.pivot_table(column, "task", "method", sort=False)
    return means["bald"] - means["random"]


def by_choice(rows: pd.DataFrame) -> str:
    """Accuracy and log loss along the curve, task by task."""
    means = {name: rows.pivot_table(name, "task", "method", sort=False) for name in COLUMNS}
    cells = []
    for task in means["accuracy"].index:
        own = [means[name].loc[task] for name in COLUMNS]
        cells.append([task, *(plain(one[who], 3) for one in own for who in ("bald", "random"))])
    less: list[Interval] = [interval(between(rows, name).to_numpy(dtype=float)) for name in COLUMNS]
    cells.append(["difference", whole(ends(less[0])), "", whole(ends(less[1])), ""])
    header = [f"{name}, {who}" for name in ("accuracy", "log loss") for who in ("BALD", "random")]
    return table(["task", *header], cells, "lrrrr")


COLUMNS = ("accuracy", "log_loss")
