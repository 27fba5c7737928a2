"""Candidates looked up by id, and suggestions for misspelt ids.

The store answers first: it needs no numerical library. The ids of candidates in files are not in
the store; the index beside the files has them (`candidate_files`). An unknown id is compared with
the existing ones: another case, other zeros, other signs, or one wrong letter.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher, get_close_matches
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

from weal.errors import UnknownId
from weal.logs import record
from weal.store.events import Event
from weal.store.protocol import Decide, Transaction

if TYPE_CHECKING:
    from weal.campaign.candidate_files import FileCandidates
    from weal.campaign.ledger import Ledger
    from weal.campaign.log import CampaignLog


@dataclass(frozen=True, slots=True)
class FileTransaction:
    """A transaction whose candidates include those in files, and those with events."""

    inner: Transaction
    find_in_files: Callable[[set[str]], set[str]]

    @property
    def last(self) -> int:
        """Number of the last event."""
        return self.inner.last

    @property
    def hash(self) -> str:
        """Hash of the last event."""
        return self.inner.hash

    @property
    def now(self) -> datetime:
        """The store's clock."""
        return self.inner.now

    def events_of(self, ids: Iterable[str]) -> list[Event]:
        """All events of these ids."""
        return self.inner.events_of(ids)

    def existing_ids(self, ids: Iterable[str]) -> set[str]:
        """The ids of candidates among these."""
        wanted = set(ids)
        found = self.inner.existing_ids(wanted) | {
            str(event.id) for event in self.inner.events_of(wanted)
        }
        return found | self.find_in_files(wanted - found)

    def events_by_keys(self, keys: Iterable[str]) -> list[Event]:
        """The events with these idempotency keys."""
        return self.inner.events_by_keys(keys)

    def events_between(self, first: int, last: int) -> list[Event]:
        """The events with the numbers `first` to `last`."""
        return self.inner.events_between(first, last)

    def count_chunks(self) -> int:
        """The number that the next chunk will have."""
        return self.inner.count_chunks()


def transact(campaign: "CampaignLog", decide: Decide) -> tuple[Event, ...]:
    """Write the events that `decide` returns; ids in files are looked up in their index."""
    try:
        return _logged(campaign.store.transact(campaign.name, decide))
    except UnknownId:
        ledger = campaign.read_ledger()
        if not ledger.shards:
            raise
    find = lambda ids: _find_in_files(campaign, ledger, ids)  # noqa: E731
    return _logged(
        campaign.store.transact(campaign.name, lambda inner: decide(FileTransaction(inner, find)))
    )


def _logged(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events, with a record of them."""
    if events:
        last = events[-1]
        record(
            "campaign", "INFO", "written", campaign=last.campaign, kind=last.kind,
            events=len(events), last=last.seq, by=last.who,
        )  # fmt: skip
    return events


def existing_ids(campaign: "CampaignLog", ids: set[str]) -> set[str]:
    """The ids of candidates among these."""
    found = campaign.store.existing_ids(campaign.name, ids)
    if len(found) == len(ids) or not (ledger := campaign.read_ledger()).shards:
        return found
    return found | _find_in_files(campaign, ledger, ids - found)


def candidate_ids(campaign: "CampaignLog") -> list[str]:
    """The ids of all candidates, in order; ValueError if files have too many."""
    ledger = campaign.read_ledger()
    if not ledger.shards:
        from weal.campaign.candidates import read_ids

        return read_ids(campaign.store, campaign.name, ledger.id_column)
    pool = _file_candidates(campaign, ledger)
    pool.refuse_many("ids")
    return [str(name) for name in pool.ids[:]]


def near_ids(campaign: "CampaignLog") -> list[str]:
    """Ids to compare a misspelt id with; none if too many are in files."""
    ledger = campaign.read_ledger()
    return [] if ledger.shards and ledger.rows > MAX_IDS_COMPARED else candidate_ids(campaign)


def columns(campaign: "CampaignLog") -> tuple[str, ...]:
    """The names of the columns that candidates came with."""
    ledger = campaign.read_ledger()
    if not ledger.shards:
        from weal.campaign.candidates import read_columns

        return read_columns(campaign.store, campaign.name)
    first = _file_candidates(campaign, ledger).pieces[0]
    own = [first.id_column] if first.id_column else []
    return (*own, *first.columns)


def rows(
    campaign: "CampaignLog", ids: Collection[str], columns: Collection[str]
) -> dict[str, dict[str, Any]]:
    """The original cells of these candidates, in these columns at least, by id."""
    ledger = campaign.read_ledger()
    if not ledger.shards:
        from weal.campaign.candidates import read_rows

        return read_rows(campaign.store, campaign.name, ledger.id_column, ids, columns)
    pool = _file_candidates(campaign, ledger)
    return pool.cells(sorted(_find_in_files(campaign, ledger, set(ids))))


def _find_in_files(campaign: "CampaignLog", ledger: "Ledger", ids: set[str]) -> set[str]:
    from weal.campaign.candidate_files import existing_ids

    return existing_ids(_file_candidates(campaign, ledger), ids)


def _file_candidates(campaign: "CampaignLog", ledger: "Ledger") -> "FileCandidates":
    """The candidates in files: those of the session if it has them, else opened now."""
    from weal.campaign.candidate_files import read_shard_pool

    there = campaign.loaded_pool
    if there is not None and there.rows == ledger.rows:
        return cast("FileCandidates", there)
    return read_shard_pool(campaign.store, ledger)


MAX_IDS_COMPARED = 20_000  # ids that are compared letter by letter, which is slow
# similarity of difflib, and its lead over the second best
MIN_ID_SIMILARITY, MIN_SIMILARITY_LEAD = 0.75, 0.1
MAX_ID_DIGITS = 10
_LAST = re.compile(r"(.*?)([-_ ]?)([0-9]+)([^0-9]*)", re.DOTALL)
_ID_PART = re.compile(r"[0-9]+|[^\W\d_]+")


def match_ids(names: Sequence[str], ids: Iterable[str]) -> dict[str, str]:
    """For each of these names, the one similar id; none if several ids are similar.

    >>> match_ids(["P-740", "p 0739", "P-07401", "Q"], ["P-0739", "P-0740"])
    {'P-740': 'P-0740', 'p 0739': 'P-0739', 'P-07401': 'P-0740'}
    """
    there = list(ids)
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in there:
        alike.setdefault(_plain(one), []).append(one)
    found = {}
    for name in names:
        same = alike.get(_plain(name), [])
        if not same and len(there) <= MAX_IDS_COMPARED:
            same = _closest(name, there)
        if len(same) == 1:
            found[name] = same[0]
    return found


def explain_unknown_ids(
    campaign: str, error: UnknownId, known: Callable[[Sequence[str]], set[str]]
) -> UnknownId:
    """The error on unknown ids, with a suggestion of similar ids or of a command."""
    unknown = error.args[1][:5] if len(error.args) > 1 else []
    found = match_ids(unknown, sorted(known([way for name in unknown for way in spellings(name)])))
    if found:
        of = {name: f" for {name!r}" if len(unknown) > 1 else "" for name in found}
        hints = ", ".join(f"{one!r}{of[name]}" for name, one in found.items())
        return UnknownId(f"{error}; did you mean {hints}?")
    dashes = "-- " if campaign.startswith("-") else ""
    return UnknownId(
        f"{error}; `weal export --what candidates --to - {dashes}{quote(campaign)}` lists "
        f"all ids, and `weal add {dashes}{quote(campaign)} FILE` adds candidates"
    )


def spellings(name: str) -> list[str]:
    """Other spellings of an id: case, zeros before its last number, the sign before it.

    >>> "P-0740" in spellings("p 740"), "P0740" in spellings("P-740"), "740" in spellings("00740")
    (True, True, True)
    """
    found = _LAST.fullmatch(name.strip())
    heads, tails = [name.strip()], [""]
    if found:
        letters, digits, rest = found[1], found[3].lstrip("0") or "0", found[4]
        heads = [letters + sign for sign in (found[2], "-", "_", " ", "")]
        tails = [digits.zfill(width) + rest for width in range(len(digits), MAX_ID_DIGITS)]
    every = [head + tail for head in heads for tail in tails]
    return list(dict.fromkeys(way(one) for one in every for way in (str, str.upper, str.lower)))


def _closest(name: str, there: Sequence[str]) -> list[str]:
    """The most similar id, if no other is nearly as similar."""
    best = get_close_matches(name, there, 2, MIN_ID_SIMILARITY)
    alike = [SequenceMatcher(None, one, name).ratio() for one in best]
    return best[:1] if len(best) < 2 or alike[0] > alike[1] + MIN_SIMILARITY_LEAD else []


def _plain(name: str) -> tuple[str, ...]:
    """Letters and numbers of an id, without case, signs and leading zeros."""
    return tuple(part.lstrip("0") or "0" for part in _ID_PART.findall(name.casefold()))
