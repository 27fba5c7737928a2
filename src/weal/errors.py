"""The few errors of our own that a program may want to catch; all are a `WealError`.

    UnreadableFile    load, of what weal did not write or what was damaged
    UnknownId         tell, skip, .. of an id that is not in the pool
    AlreadyLabelled   tell of another label, without replace or repeat
    ReusedKey         a key of the client's own, used again for other content
    Exhausted         ask for more than is left
    UnknownCampaign   open_campaign, of a name that is not in the store
    NotAllowed        a store that this user may not write to
    Conflict          somebody else was faster, again and again
    DamagedStore      a store whose rows are not what was written
    ChangedShard      a file of a pool that is not what it was when the pool was opened
    UnreadableShard   a part of a pool that cannot be read; the error names it
    WorkerLost        the processes that do the work went away, or cannot be reached
    DiskFull          a disk that has no room for what is to be written
    ForeignFile       a file, folder or link of somebody else's stands where weal would write
    TooLarge          a file with more rows, columns, .. than are read (`weal.limits`)

Wrong arguments raise ValueError or TypeError.
"""


class WealError(Exception):
    """Anything weal itself refuses to do.

    All errors of ours are of this kind; wrong arguments raise ValueError or TypeError.

    Examples
    --------
    >>> import weal
    >>> try:
    ...     weal.open_campaign("no-such", "memory:")
    ... except weal.WealError as error:
    ...     print(type(error).__name__)
    UnknownCampaign
    """


class UnreadableFile(WealError, ValueError):
    """A file that weal did not write, or that was damaged since.

    Examples
    --------
    >>> import os, tempfile, weal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "notes.txt")
    ...     with open(path, "w") as file:
    ...         n = file.write("bread, milk")
    ...     try:
    ...         weal.ActiveLearner.load(path)
    ...     except weal.UnreadableFile as error:
    ...         print("is not a weal file" in str(error))
    True
    """


class UnknownId(WealError, KeyError):
    """An id that is not in the pool.

    Examples
    --------
    >>> import weal
    >>> learner = weal.ActiveLearner([[0.0], [1.0]], ids=["A-1", "A-2"])
    >>> try:
    ...     learner.tell("A-3", 312.5)
    ... except weal.UnknownId as error:
    ...     print("A-3" in str(error))
    True
    """

    def __str__(self) -> str:  # KeyError would show the quotes of a repr
        return str(self.args[0])


class AlreadyLabelled(WealError, ValueError):
    """A second, different label for a point that has one.

    Examples
    --------
    >>> import weal
    >>> learner = weal.ActiveLearner([[0.0], [1.0]])
    >>> learner.tell(0, 312.5)
    >>> learner.tell(0, 321.5)
    Traceback (most recent call last):
        ...
    weal.errors.AlreadyLabelled: 0 has the label 312.5 already, and 321.5 is another; say
    replace=True to correct it, or repeat=True to add a second measurement
    """


class ReusedKey(WealError, ValueError):
    """A key that was used already, for other content; nothing was written.

    Attributes
    ----------
    used : str
        The content that the key was used for, in words.
    wanted : str
        The content of the call that was refused.

    Examples
    --------
    >>> import pandas as pd, weal
    >>> from weal.errors import ReusedKey
    >>> pool = pd.DataFrame({"temp": [20, 80, 140]}, index=["a", "b", "c"])
    >>> campaign = weal.open_campaign("demo", "memory:", pool=pool, by="ann")
    >>> campaign.tell("a", 312.5, key="lims-4711") == campaign.tell("a", 312.5, key="lims-4711")
    True
    >>> try:
    ...     campaign.tell("b", 340.0, key="lims-4711")
    ... except ReusedKey as error:
    ...     print(error.used, "is not", error.wanted)
    'a': 312.5 is not 'b': 340.0
    """

    def __init__(self, message: str, used: str = "", wanted: str = "") -> None:
        super().__init__(message)
        self.used, self.wanted = used, wanted


class Exhausted(WealError):
    """More was asked for than the pool has left.

    Examples
    --------
    >>> import weal
    >>> learner = weal.ActiveLearner([[0.0], [1.0]])
    >>> try:
    ...     learner.ask(3)
    ... except weal.Exhausted:
    ...     print("done")
    done
    """


class UnknownCampaign(WealError, KeyError):
    """A campaign that is not in the store."""

    def __str__(self) -> str:
        return str(self.args[0])


class NotAllowed(WealError):
    """A store that this user may not write to, or not even read."""


class Conflict(WealError):
    """Somebody else wrote first; read again, and decide again.

    Examples
    --------
    >>> import pandas as pd, weal
    >>> pool = pd.DataFrame({"temp": [20, 80, 140]}, index=["a", "b", "c"])
    >>> campaign = weal.open_campaign("demo", "memory:", pool=pool)
    >>> campaign.ask_for("b", by="ann")
    ['b']
    >>> try:
    ...     campaign.ask_for("b", by="bo")
    ... except weal.Conflict as error:
    ...     print("is out with ann" in str(error))
    True
    """


class DamagedStore(WealError):
    """A store whose rows are not what was written."""


class ChangedShard(WealError):
    """A file of a pool that is not what it was when the pool was opened."""


class UnreadableShard(WealError):
    """A part of a pool that cannot be read."""


class WorkerLost(WealError):
    """A process that did the work went away, or a cluster cannot be reached."""


class DiskFull(WealError):
    """A disk that has no room for what is to be written."""


class ForeignFile(WealError, ValueError):
    """A file, folder or link that weal did not write stands where weal would write."""


class TooLarge(WealError, ValueError):
    """A file with more rows, columns, characters or bytes than are read.

    The error names the limit, and the environment variable that raises it.
    """

    limit = ""  # its name in `weal.limits`
