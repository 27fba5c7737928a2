"""The few errors of our own; wrong arguments raise ValueError or TypeError."""


class WealError(Exception):
    """Anything weal itself refuses to do."""


class UnreadableFile(WealError, ValueError):
    """A file that weal did not write, or that was damaged since."""


class UnknownId(WealError, KeyError):
    """An id that is not in the pool."""

    def __str__(self) -> str:  # KeyError would show the quotes of a repr
        return str(self.args[0])


class AlreadyLabelled(WealError, ValueError):
    """A second, different label for a point that has one."""


class Exhausted(WealError):
    """More was asked for than the pool has left."""


class UnknownCampaign(WealError, KeyError):
    """A campaign that is not in the store."""

    def __str__(self) -> str:
        return str(self.args[0])


class NotAllowed(WealError):
    """A store that this user may not write to, or not even read."""


class Conflict(WealError):
    """Somebody else wrote first; read again, and decide again."""


class DamagedStore(WealError):
    """A store whose rows are not what was written."""
