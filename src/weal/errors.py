"""The exceptions of weal; each is a `WealError`.

    UnreadableFile    a file that weal did not write, or that is damaged
    UnknownId         an id that is not among the candidates
    AlreadyLabelled   a different label for a labelled row, without replace or repeat
    ReusedKey         an idempotency key that was used for other content
    Exhausted         an ask for more rows than are left
    UnknownCampaign   a campaign that is not in the store
    NotAllowed        a store that this user may not write to
    NotAuthenticated  a request without a valid token or session
    NotPermitted      a request that its token does not allow
    Conflict          another writer was faster, repeatedly
    DamagedStore      a store whose events were changed or lost
    ChangedShard      a file of candidates that changed since it was opened
    UnreadableShard   a file of candidates that cannot be read
    WorkerLost        a worker process that ended or cannot be reached
    DiskFull          a disk without room for a file
    ForeignFile       a file, folder or link that weal did not write and would overwrite
    TooLarge          a file beyond a limit (`weal.limits`)
    Archived          an ask in an archived campaign
    CampaignExists    a new campaign with the name of an existing one
    ImplausibleLabel  a label far from its prediction, if the caller rejects such labels
    NoModel           predictions before there are enough labels for a model
    Changed           a write that required an unchanged campaign
    Unreachable       a server that gave no answer

Wrong arguments raise ValueError or TypeError. Every error has a `code` (`error_code`): a word that
programs can rely on, the same in Python, in the shell under --json and in the API.
"""


class WealError(Exception):
    """Base class of all errors of weal; wrong arguments raise ValueError or TypeError.

    Examples
    --------
    >>> import weal
    >>> try:
    ...     weal.open_campaign("no-such", "memory:")
    ... except weal.WealError as error:
    ...     print(type(error).__name__)
    UnknownCampaign
    """

    code = "failed"  # an instance may have a more precise one


def error_code(error: BaseException) -> str:
    """The code of an error: its own, or that of a wrong argument, a file or a package.

    Examples
    --------
    >>> import weal
    >>> from weal.errors import error_code
    >>> error_code(weal.UnknownId("A-3")), error_code(ValueError("n is -1"))
    ('unknown_id', 'invalid_value')
    """
    own = getattr(error, "code", None)
    if isinstance(own, str):
        return own
    return next((code for kind, code in _OTHER_CODES if isinstance(error, kind)), "bug")


_OTHER_CODES: tuple[tuple[type[BaseException], str], ...] = (  # the first that fits
    (ValueError, "invalid_value"),
    (TypeError, "invalid_value"),
    (ModuleNotFoundError, "missing_package"),
    (OSError, "file_error"),
    (KeyboardInterrupt, "interrupted"),
)


class UnreadableFile(WealError, ValueError):
    """A file that weal did not write, or that is damaged.

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

    code = "unreadable_file"


class UnknownId(WealError, KeyError):
    """An id that is not among the candidates.

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

    code = "unknown_id"

    def __str__(self) -> str:  # KeyError would show the quotes of a repr
        return str(self.args[0])


class AlreadyLabelled(WealError, ValueError):
    """A different label for a row that has one.

    Examples
    --------
    >>> import weal
    >>> learner = weal.ActiveLearner([[0.0], [1.0]])
    >>> learner.tell(0, 312.5)
    >>> learner.tell(0, 321.5)
    Traceback (most recent call last):
        ...
    weal.errors.AlreadyLabelled: 0 has the label 312.5 already, and 321.5 is another; use
    replace=True to correct it, or repeat=True to add a second measurement
    """

    code = "already_labelled"


class ReusedKey(WealError, ValueError):
    """An idempotency key that was used for other content; nothing was written.

    Attributes
    ----------
    used : str
        The content that the key was used for, as text.
    wanted : str
        The content of the refused call.

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

    code = "reused_key"

    def __init__(self, message: str, used: str = "", wanted: str = "") -> None:
        super().__init__(message)
        self.used, self.wanted = used, wanted


class Exhausted(WealError):
    """An ask for more rows than are left.

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

    code = "exhausted"


class UnknownCampaign(WealError, KeyError):
    """A campaign that is not in the store."""

    code = "unknown_campaign"

    def __str__(self) -> str:
        return str(self.args[0])


class NotAllowed(WealError):
    """A store that this user may not write to or read."""

    code = "not_allowed"


class NotAuthenticated(WealError):
    """A request to a server without a valid token or session."""

    code = "not_authenticated"


class NotPermitted(WealError):
    """A request to a server that its token does not allow."""

    code = "not_permitted"


class Conflict(WealError):
    """Another writer was faster; read again and decide again.

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

    code = "conflict"


class DamagedStore(WealError):
    """A store whose events were changed or lost."""

    code = "damaged_store"


class ChangedShard(WealError):
    """A file of candidates that changed since it was opened."""

    code = "changed_shard"


class UnreadableShard(WealError):
    """A file of candidates that cannot be read."""

    code = "unreadable_shard"


class WorkerLost(WealError):
    """A worker process that ended, or a cluster that cannot be reached."""

    code = "worker_lost"


class DiskFull(WealError):
    """A disk without room for a file."""

    code = "disk_full"


class ForeignFile(WealError, ValueError):
    """A file, folder or link that weal did not write and would overwrite."""

    code = "foreign_file"


class TooLarge(WealError, ValueError):
    """A file with more rows, columns, characters or bytes than a limit allows.

    The message names the limit and the environment variable that raises it.
    """

    code = "too_large"

    limit = ""  # its name in `weal.limits`


class CampaignExists(WealError, ValueError):
    """A new campaign with the name of an existing one."""

    code = "campaign_exists"


def campaign_exists(name: str) -> CampaignExists:
    """The error of a name that is taken, with the way out."""
    return CampaignExists(f"there is a campaign {name!r} already: choose another name")


class Archived(WealError):
    """An ask in an archived campaign; no row is reserved."""

    code = "archived"


class ImplausibleLabel(WealError, ValueError):
    """A label far from its prediction, if the caller rejects such labels; nothing is saved."""

    code = "implausible_label"


class NoModel(WealError):
    """Predictions before there are enough labels for a model."""

    code = "no_model"


class Changed(WealError):
    """A write that required an unchanged campaign, which has changed since; nothing is written."""

    code = "changed"


class Unreachable(WealError):
    """A server that gave no answer, although the request was sent again (`weal.Remote`)."""

    code = "unreachable"
