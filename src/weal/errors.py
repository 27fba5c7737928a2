"""The few errors of our own that a program may want to catch; all are a `WealError`.

    UnreadableFile    load, of what weal did not write or what was damaged
    UnknownId         tell, skip, .. of an id that is not in the pool
    AlreadyLabelled   tell of another label, without replace or repeat
    Exhausted         ask for more than is left
    UnknownCampaign   open_campaign, of a name that is not in the store
    NotAllowed        a store that this user may not write to
    Conflict          somebody else was faster, again and again
    DamagedStore      a store whose rows are not what was written
    ChangedShard      a file of a pool that is not what it was when the pool was opened
    UnreadableShard   a part of a pool that cannot be read; the error names it
    WorkerLost        the processes that do the work went away, or cannot be reached
    DiskFull          a disk that cannot take what a pass has to keep for a while

Wrong arguments raise ValueError or TypeError.
"""


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


class ChangedShard(WealError):
    """A file of a pool that is not what it was when the pool was opened."""


class UnreadableShard(WealError):
    """A part of a pool that cannot be read."""


class WorkerLost(WealError):
    """A process that did the work went away, or a cluster cannot be reached."""


class DiskFull(WealError):
    """A disk that cannot take what a pass has to keep for a while."""
