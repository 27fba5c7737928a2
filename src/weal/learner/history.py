"""What was asked, why, and what came back: plain rows, one for each query or label.

`pandas.DataFrame(learner.history)` makes a table of it. Columns:

    step                  labels told before
    id                    of the candidate; None for a point outside the pool
    why                   the acquisition functions that chose it, "start", "told" when not asked,
                          or "elsewhere" when another learner did
    score, scores         of the choice, and of each acquisition function
    shares                of each acquisition function in the score of the choice
    mean, std             what the model expected of f there when it was asked
    label                 None until it is told
    expert_weights        of the model that was asked; None: there was none
    acquisition_weights   at the choice

Rows are values: a label gives its row anew.
"""

from collections.abc import Hashable, Mapping

from weal.learner.events import Reason, Row, Told

NOT_ASKED = Reason("told")


def asked(rows: tuple[Row, ...], step: int, name: Hashable, reason: Reason) -> tuple[Row, ...]:
    """The history with one query more."""
    return (*rows, _row(step, name, reason))


def told(
    rows: tuple[Row, ...], step: int, event: Told, at: Mapping[Hashable, int]
) -> tuple[Row, ...]:
    """The history after labels: in the rows of their queries, or in rows of their own."""
    after, left = list(rows), dict(at)
    for label in event.labels:
        row = left.pop(label.name, None)
        if row is None:
            after.append(_row(step, label.name, NOT_ASKED, label.y))
        else:
            after[row] = {**after[row], "label": label.y}
    return tuple(after)


def _row(step: int, name: Hashable, reason: Reason, label: float | None = None) -> Row:
    return {
        "step": step,
        "id": name,
        "why": reason.why,
        "score": reason.score,
        "scores": dict(reason.scores),
        "shares": dict(reason.shares),
        "mean": reason.mean,
        "std": reason.std,
        "label": label,
        "expert_weights": reason.expert_weights,
        "acquisition_weights": dict(reason.acquisition_weights),
    }
