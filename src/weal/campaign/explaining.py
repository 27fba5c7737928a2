"""Rows that are out: with whom and until when, what was expected of them, and why they were asked.

Expectations, scores and shares are those kept in the event of the ask: what was true then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from weal.campaign.ledger import Lease
from weal.campaign.session import Session
from weal.diagnostics.explain import Neighbour, brief, neighbours, sentences, usual_sd


@dataclass(frozen=True, slots=True)
class Asked:
    """A row that is out, and why it was chosen."""

    id: str
    row: dict[str, Any]  # its original cells
    who: str
    since: datetime
    until: datetime
    check: bool
    mean: float | None  # what was expected when it was asked; None: there was no model
    sd: float | None
    low: float | None
    high: float | None
    shares: dict[str, float]  # of each acquisition function in the choice
    scores: dict[str, float]
    near: tuple[Neighbour, ...]
    sentences: tuple[str, ...]
    brief: str = ""  # the main reason, in a few words

    @property
    def why(self) -> str:
        """All that is to say, in one line."""
        return " ".join(self.sentences)


def explain(session: Session, leases: Sequence[Lease]) -> list[Asked]:
    """What is known of these rows, and why each was asked."""
    if not leases:
        return []
    state = session.state
    model = session.model if state.fitted else None
    near = neighbours(state, model, [lease.id for lease in leases])
    usual = usual_sd(state, model)
    return [_asked(session, *pair, usual) for pair in zip(leases, near, strict=True)]


def _asked(
    session: Session, lease: Lease, near: tuple[Neighbour, ...], usual: float | None
) -> Asked:
    body, why = lease.body, lease.body["why"]
    shares, expected = why.get("shares", {}), (body["mean"], body["sd"])
    return Asked(
        id=lease.id,
        row=session.pool.row(session.state.candidates.index[lease.id]),
        who=lease.who,
        since=lease.since,
        until=lease.until,
        check=body["check"],
        mean=body["mean"],
        sd=body["sd"],
        low=body["low"],
        high=body["high"],
        shares=dict(shares),
        scores=dict(why.get("scores", {})),
        near=near,
        sentences=tuple(sentences(why["how"], *expected, shares, near, usual)),
        brief=brief(why["how"], near, body["sd"], usual),
    )
