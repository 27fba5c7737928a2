"""A label beside what was expected when its row was asked: is it far outside?

The expectation is kept in the event of the ask, so that no model is needed to say so at once. It is
the middle and the 90 % interval of a label; a label counts as far outside when it is more than FAR
times the interval's half width away from the middle: for a normal distribution 6.6 sds. Models of
few labels are sometimes wrong by 5. On clean campaigns that was said of 4 in 1,260 labels (36 of 45
labels each, a third of them skewed); a factor of 10 is farther as a rule. Where nothing was
expected, see `first_labels`.
Standard library only.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from weal.campaign.ledger import Ledger
from weal.diagnostics.wording import number, plus_minus

if TYPE_CHECKING:
    from weal.campaign.rules import Entry

FAR = 4.0  # half widths of the interval that was given
_NORMAL = 1.6449  # half width of a 90 % interval, in sds of a normal


def surprise(now: Ledger, entry: "Entry") -> str | None:
    """Why this label is far from what was expected, in words; None where it is not."""
    body = expectation(now, entry.id)
    if body is None:
        return None
    mean, half = body["mean"], 0.5 * (body["high"] - body["low"])
    beyond = 0.5 * _NORMAL * (entry.noise or 0.0)  # what is known of its noise counts for it
    if half <= 0.0 or abs(entry.y - mean) <= FAR * (half + beyond):
        return None
    expected = plus_minus(mean, half / _NORMAL)
    return f"{number(entry.y, 8)} is far outside what was expected ({expected})"


def doubtful(campaign: str, name: str, why: str) -> str:
    """What to say of a label that may be wrong, and what to do."""
    return (
        f"{name}: {why}. A typo, or another unit? `{command(campaign, name)}` corrects it; --sure "
        "says that it is right"
    )


def doubtful_here(name: str, why: str) -> str:
    """The same, to a program."""
    return (
        f"{name}: {why}. A typo, or another unit? tell(..., replace=True) corrects it; sure=True "
        "says that it is right"
    )


def command(campaign: str, name: str) -> str:
    """The command that corrects a label, to be pasted."""
    from shlex import quote

    dashes = "-- " if campaign.startswith("-") or name.startswith("-") else ""
    return f"weal tell --replace {dashes}{quote(campaign)} {quote(name)} VALUE"


def expectation(now: Ledger, name: str) -> Mapping[str, Any] | None:
    """What the ask of a row says was expected; None: nobody asked, or there was no model."""
    lease = now.leases.get(name)
    foretold = (past.body for past in now.foretold if past.told.id == name)
    body = lease.body if lease else next(foretold, None)
    if body is None or body.get("mean") is None or body.get("low") is None:
        return None
    return body
