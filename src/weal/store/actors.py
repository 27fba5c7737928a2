"""Actors: who sends a request, what they may do, and on which campaigns.

    read     see campaigns, predictions, events and files
    ask      reserve rows, and release them
    tell     write, correct and withdraw labels
    skip     mark rows that cannot be measured, and restore them
    manage   everything: create campaigns, add candidates, change settings

`parse_permissions` reads a list of these words and of the roles `read`, `measure` (read, ask, tell
and skip) and `manage`:

>>> sorted(parse_permissions("ask,tell")), sorted(parse_permissions("measure"))
(['ask', 'tell'], ['ask', 'read', 'skip', 'tell'])
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

PERMISSIONS = ("read", "ask", "tell", "skip", "manage")
ROLES = {
    "read": frozenset(("read",)),
    "measure": frozenset(("read", "ask", "tell", "skip")),
    "manage": frozenset(PERMISSIONS),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """The sender of a request.

    `name` is recorded in the events as `by`; None: the address that `weal serve` printed, which
    many people may share. `campaigns` are the campaigns that this actor can see; None: all.
    """

    name: str | None
    may: frozenset[str]
    campaigns: frozenset[str] | None = None

    def sees(self, campaign: str) -> bool:
        """Whether this actor can see the campaign.

        >>> Actor("robot-1", frozenset(("ask",)), frozenset(("alloys",))).sees("steels")
        False
        """
        return self.campaigns is None or campaign in self.campaigns

    def visible(self, campaigns: Iterable[str]) -> list[str]:
        """The campaigns of the list that this actor can see, in the same order."""
        return [one for one in campaigns if self.sees(one)]

    def recorded_as(self, given: str) -> str:
        """The name in the events: the name of the actor, or the given one if the actor has none."""
        return given if self.name is None else self.name

    @property
    def may_write(self) -> bool:
        """Whether this actor may change anything."""
        return bool(self.may - {"read"})


FULL_ACCESS = Actor(None, ROLES["manage"])
READ_ONLY = Actor(None, ROLES["read"])


def parse_permissions(text: str) -> frozenset[str]:
    """The permissions that a list of words and roles gives; ValueError for another word."""
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    known = sorted({*PERMISSIONS, *ROLES})
    for word in words:
        if word not in known:
            near = get_close_matches(word, known, 1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(
                f"{word!r} is not a permission: {meant}Give some of {', '.join(PERMISSIONS)}, or "
                "a role: read, measure (read, ask, tell and skip) or manage"
            )
    if not words:
        raise ValueError(f"no permission was given: give some of {', '.join(PERMISSIONS)}")
    return frozenset().union(*(ROLES.get(word, frozenset((word,))) for word in words))


def permissions_text(may: frozenset[str]) -> str:
    """Permissions as a list that `parse_permissions` reads: a role if one matches.

    >>> permissions_text(frozenset(("tell", "ask"))), permissions_text(ROLES["measure"])
    ('ask,tell', 'measure')
    """
    roles = [role for role, words in ROLES.items() if words == may]
    return roles[0] if roles else ",".join(word for word in PERMISSIONS if word in may)
