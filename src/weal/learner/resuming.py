"""Where a learner is after many labels, without going through them one by one.

A learner takes labels one at a time. It is fitted when it has `n_start` of them, which settles the
scaling; from then on its experts are settled anew at certain numbers of labels (`fold`), and
whenever a label is dropped. Where it was after that follows from two things, whatever lay between:

    the labels and candidates at the first fit      the scaling
    the labels by which experts were last settled   the experts, and the fold of these labels

`past` finds by counting the last move that settled experts, and `jump` brings a learner to where it
was after that move, to the last bit: what came since is taken one by one, as it was then.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weal.learner.labels import Label, Labels
from weal.model.fold import refresh_after
from weal.model.settling import Settled

Told = tuple[Hashable, float, float]  # id, label, noise sd


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happened to a learner: candidates, or a label, came or went."""

    kind: str  # "add", "tell", "correct" or "forget"; a second label of an id is a "tell" too
    id: Hashable = None
    y: float = 0.0
    noise: float = 0.0
    rows: int = 0  # of "add": candidates from then on


@dataclass(frozen=True, slots=True)
class Past:
    """What decides where a learner was when its experts were last settled."""

    labels: tuple[Told, ...]  # then, in order
    first: tuple[Told, ...]  # at the first fit
    rows: int  # candidates at the first fit
    moves: int  # up to then, the one that settled the experts included


def past(moves: Iterable[Move], rows: int, n_start: int) -> Past | None:
    """The past of a learner that began with so many candidates; None where it cannot be told.

    That is so before the first fit, and when all labels were forgotten after it.
    """
    labels: list[Told] = []
    first: tuple[Told, ...] = ()
    settled: tuple[Told, ...] = ()
    then = at = due = 0
    for n, move in enumerate(moves, start=1):
        if move.kind == "add":
            rows = move.rows
            continue
        labels, dropped = _after(labels, move)
        t = len(labels)
        if not first and t >= n_start:
            first, then = tuple(labels), rows
            settled, at, due = first, n, refresh_after(t)
        elif first and (dropped or t >= due):
            settled, at, due = tuple(labels), n, refresh_after(t)
        if first and not t:
            return None
    return Past(settled, first, then, at) if first else None


def _after(labels: list[Told], move: Move) -> tuple[list[Told], bool]:
    """Labels after a move, and whether one was dropped."""
    if move.kind == "tell":
        return [*labels, (move.id, move.y, move.noise)], False
    kept = [label for label in labels if label[0] != move.id]
    new = [(move.id, move.y, move.noise)] if move.kind == "correct" else []
    return kept + new, len(kept) < len(labels)


def jump(learner: Any, past: Past, picked: Settled | None, every: Sequence[Told]) -> None:
    """Bring a learner, whose candidates are there but no label, to where it was then.

    `picked` are the experts as they were settled, where they are known. ValueError when one of all
    labels that ever came (`every`) could not have been taken: then it did not go by counting.
    """
    known, candidates = learner._knowledge, learner.candidates
    first = _labels(candidates, past.first)
    known.fit(first, _unlabelled(candidates.X[: past.rows], candidates, first), candidates.columns)
    known.check([Label(name, candidates.X[0], y, noise) for name, y, noise in every])
    labels = _labels(candidates, past.labels)
    known.refold(labels, picked)
    learner.labels = labels
    learner._queries.news += 1


def _labels(candidates: Any, told: Sequence[Told]) -> Labels:
    labels = Labels()
    for name, y, noise in told:
        labels.add(Label(name, candidates.x(name), y, noise))
    return labels


def _unlabelled(X: Any, candidates: Any, labels: Labels) -> Any:
    return np.delete(X, [candidates.index[name] for name in labels.by_name], axis=0)
