"""The context of a job: its arguments, the store, the folder of results, and open campaigns.

Campaigns stay open between jobs, so that a second ask continues from the posterior of the first.
The worker of a `--read-only` server gets a store that refuses every write.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, NotRequired, TypedDict, cast

from weal.campaign.campaign import Campaign
from weal.campaign.preconditions import GuardedStore, guard
from weal.errors import NotAllowed
from weal.learner.batch_options import BatchOptionsBody
from weal.store.events import Draft
from weal.store.protocol import Chunk, Decide, Store
from weal.store.tokens import DecideTokens
from weal.web.server_folder import Cells, JobResults

MAX_OPEN_CAMPAIGNS = 4
StatusJson = dict[str, Any]  # a status as JSON (`Status.to_dict`), or a part of it


class Arguments(TypedDict, total=False):
    """Arguments of a job: JSON, written by a view and read by the function of that kind of job."""

    name: str  # of the campaign
    who: str  # the person who writes
    seq: int  # the last event that the result must include
    id: str  # of a row, or the id column of a table
    ids: list[str]
    n: int
    check: bool
    form: str  # key of the form
    changes: dict[str, Any]  # settings
    what: str  # the table to export
    path: str  # the file to write
    file: str  # random name of an upload
    called: str  # name of the upload on the user's machine
    how: dict[str, bool]  # replace or repeat
    target: str
    types: dict[str, str]  # by column
    same: list[tuple[str, str, str]]  # column, spelling and level of merged spellings
    options: list[tuple[str, str]]  # of a table, each a name and its value
    goal: str  # as it was typed, and
    until: str  # the stop condition
    quantity: str  # that a picture is about; empty: the first one
    input: str
    x: str
    y: str
    expected: list[str] | None  # tags of the states in which to write; None: any
    call: dict[str, Any]  # keywords of a call of the API
    batch: BatchOptionsBody  # what the rows of an ask may be
    picture: dict[str, Any]  # to draw (`picture.to_json`)


class FileJson(TypedDict):
    """A file that a job wrote: its random name, and the name to download it by."""

    file: str
    called: str


class MeasuredPoint(TypedDict):
    """A label and its leave-one-out prediction."""

    id: str
    y: float | None
    mean: float | None
    low: float | None
    high: float | None


class MeasuredJson(TypedDict):
    """Labels against their leave-one-out predictions."""

    points: list[MeasuredPoint]
    n: int
    quantities: NotRequired[dict[str, "MeasuredJson"]]  # the same of each number


class NeighbourJson(TypedDict):
    """A measured row near another row."""

    id: str
    label: float
    words: str
    cells: Cells


class AxisJson(TypedDict):
    """An input on the axis of a picture."""

    name: str
    values: list[float]
    origin: str | None  # of a date: the day of value 0
    log: bool
    levels: list[str]  # of a category


class EffectJson(AxisJson):
    """Partial dependence on one input."""

    mean: list[float]
    low: list[float]  # of the band
    high: list[float]
    over: int  # candidates in the average


class MapJson(TypedDict):
    """Partial dependence on two inputs, row by row of the second."""

    x: AxisJson
    y: AxisJson
    mean: list[list[float]]
    over: int
    points: list[tuple[str, float, float, float | None]]  # id, x, y, label


class MapAxisJson(TypedDict):
    """An axis of the map of candidates: an input, or a principal axis of all inputs."""

    name: str
    low: float  # of the positions
    high: float
    log: bool  # positions are logs to base 10
    origin: str | None  # of a date: the day of position 0
    levels: list[str]  # of a category, at positions 0, 1, ...
    words: str  # of a principal axis: its largest weights


class CandidateMapJson(TypedDict):
    """Candidates and labels on two axes, in positions; of many candidates, counts of cells."""

    x: MapAxisJson
    y: MapAxisJson
    rows: int  # candidates
    over: int  # of them that are shown
    points: list[tuple[str, float, float, float | None]]  # id, x, y, prediction; if they are few
    cells: list[tuple[int, int, int, float | None]]  # column, row, candidates, mean prediction
    grid: tuple[int, int]  # columns and rows of cells
    labels: list[tuple[str, float, float, float, int]]  # id, x, y, mean label, event
    failed: list[tuple[str, float, float]]
    next: list[tuple[str, float, float]]


class JobContext:
    """Store, results and open campaigns of a worker."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.results = store, JobResults(folder)
        self._open: OrderedDict[str, Campaign] = OrderedDict()

    def campaign(self, name: str, who: str = "") -> Campaign:
        """The campaign, kept open; its next events are written by `who`."""
        found = self._open.get(name)
        head = self.store.head(name)
        if found is None or head[0] < found.last_ledger.seq:  # the store was replaced by a copy
            found = Campaign(name, self.store)
        self._open[name] = found
        self._open.move_to_end(name)
        while len(self._open) > MAX_OPEN_CAMPAIGNS:
            self._open.popitem(last=False)
        found.who = who
        return found

    @contextmanager
    def guarded_campaign(self, arguments: Arguments) -> Iterator[tuple[Campaign, GuardedStore]]:
        """The campaign for a call that may expect a state, and the guard with the tag after it."""
        store, guarded = guard(self.store, arguments.get("expected"))
        campaign = self.campaign(arguments["name"], arguments.get("who", ""))
        with campaign.writing_through(store):
            yield campaign, guarded


class ReadOnlyStore:
    """A store that refuses every write and drops snapshots."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def create(self, name: str, drafts: Sequence[Draft], chunks: Sequence[Chunk] = ()) -> NoReturn:
        """Refuse."""
        raise _refusal()

    def transact(self, name: str, decide: Decide, chunks: Sequence[Chunk] = ()) -> NoReturn:
        """Refuse."""
        raise _refusal()

    def write_tokens(self, decide: DecideTokens) -> NoReturn:
        """Refuse."""
        raise _refusal()

    def write_snapshot(self, name: str, kind: str, seq: int, hash: str, data: bytes) -> None:
        """Do nothing: a snapshot is a cache."""


def read_only_store(store: Store) -> Store:
    """A read-only view of the store."""
    return cast(Store, ReadOnlyStore(store))


def _refusal() -> NotAllowed:
    return NotAllowed("this server is read-only (--read-only): nothing was written")
