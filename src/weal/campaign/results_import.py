"""A file of results comes in: line by line what will happen, and then just that, all or nothing.

    told        a label that is new            repeated    a second measurement (`repeat`)
    corrected   in place of another            same        it is there already
    confirmed   it is there, and now said to be sure (`sure`)
    skipped     "failed", "n/a" or "-" in place of a value: the row is skipped, with that as note
    empty       no value: left out             refused     the line cannot be taken, and no line is

`preview` looks only; `tell_file` decides the same under the write lock of the campaign and writes.
Without a key of the client's own (`idempotency`), the fingerprint of the labels is their key: the
same content told twice changes nothing. Inputs in a
file (a worksheet has them) are compared with those of the campaign. Standard library only, unless
the file is no text, or has inputs to compare: then the candidates are read.

A file of results, previewed or told: what `intake` decides, with the campaign at hand.

The lines of a file of results beside what the campaign has: ids that are meant, and inputs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from weal.campaign import rules
from weal.campaign.events import EVENT_BODY_VERSION
from weal.campaign.id_lookup import match_ids, near_ids, rows, transact
from weal.campaign.idempotency import SKIP, Change, find_call, with_key
from weal.campaign.label_input import entry
from weal.campaign.ledger import Ledger, apply_events
from weal.campaign.plausibility import implausible_message, judge_first_labels
from weal.campaign.rules import LabelDecision, LabelInput
from weal.errors import AlreadyLabelled, ReusedKey, UnknownId
from weal.store.events import Draft, Event, canonical_json, check_id
from weal.store.protocol import Transaction
from weal.tables.cells import cell_text, read_number
from weal.tables.results_reader import Result, ResultColumns, Results, read_results, refused_message
from weal.tables.spreadsheet_escaping import unescape

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


ACTIONS = ("told", "corrected", "repeated", "confirmed", "same", "skipped", "empty", "refused")
# share of lines with other inputs from which the file is another campaign's
OTHER_CAMPAIGN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """What becomes of one line."""

    line: int
    id: str
    action: str  # one of ACTIONS
    value: float | None = None
    noise: float | None = None
    note: str | None = None
    message: str = ""  # what its owner should know


@dataclass(frozen=True, slots=True)
class ResultsImport:
    """What becomes of a file; where there are problems, nothing does."""

    where: str
    rows: tuple[ImportedLine, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # on the file as a whole
    event: int = 0  # number of the last event; 0 in a preview

    @property
    def counts(self) -> dict[str, int]:
        """Lines by what becomes of them."""
        found = Counter(row.action for row in self.rows)
        return {action: found[action] for action in ACTIONS if found[action]}

    @property
    def labels(self) -> int:
        """Labels in the file, those that were there already included."""
        return sum(self.counts.get(one, 0) for one in ACTIONS[:5])

    @property
    def new(self) -> int:
        """Labels that are written."""
        return sum(
            self.counts.get(one, 0) for one in ("told", "corrected", "repeated", "confirmed")
        )


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How labels are taken."""

    who: str = ""
    replace: bool = False
    repeat: bool = False
    key: str | None = None
    sure: bool = False


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What is to be done, and what to write for it."""

    intake: ResultsImport
    drafts: tuple[Draft, ...] = ()
    there: int = 0  # number of the event that holds the last label, if it was there
    error: Exception | None = None  # why nothing is done


@dataclass(frozen=True, slots=True)
class ReadView:
    """A `Transaction` without a lock: the events as they were read once, for a preview."""

    campaign: "Campaign"
    events: Sequence[Event]
    now: datetime

    @property
    def last(self) -> int:
        """Number of the last event."""
        return len(self.events)

    @property
    def hash(self) -> str:
        """Hash of the last event."""
        return self.events[-1].hash

    def events_of(self, ids: Iterable[str]) -> list[Event]:
        """All events of these ids."""
        wanted = set(ids)
        return [event for event in self.events if event.id in wanted]

    def existing_ids(self, ids: Iterable[str]) -> set[str]:
        """The ids of candidates among these."""
        return self.campaign.known(ids)

    def events_by_keys(self, keys: Iterable[str]) -> list[Event]:
        """The events with these idempotency keys."""
        wanted = set(keys)
        return [event for event in self.events if event.key in wanted]

    def events_between(self, first: int, last: int) -> list[Event]:
        """The events with the numbers `first` to `last`."""
        return list(self.events[first - 1 : last])

    def count_chunks(self) -> int:
        """A preview writes no chunk."""
        raise NotImplementedError


def plan(
    campaign: str, tx: Transaction, results: Results, differs: Mapping[int, str],
    how: ImportOptions, ids: Callable[[], Sequence[str]], ledger: Ledger,
) -> ImportPlan:  # fmt: skip
    """What becomes of each line: decided by what the book says now.

    The ledger has the other labels, beside which those are looked at of which nothing was expected.
    """
    named = [line.id for line in results.lines if line.has_result and not line.error]
    there = tx.existing_ids(named)
    if unknown := [name for name in dict.fromkeys(named) if name not in there]:
        results = _without(results, unknown, match_ids(unknown, ids()))
    names = [name for name in named if name in there]
    now = apply_events(Ledger(""), tx.events_of(names))
    found = _entries(results.lines, how.sure)
    entries = {n: one for n, one in found.items() if isinstance(one, LabelInput)}
    changes = [rules.label_change(one) for one in entries.values()]
    changes += [Change(line.id, SKIP) for line in results.lines if line.failure and not line.error]
    past, reused = _past(tx, how.key, changes, now)
    if past:
        told = rules.retold(tx, now, list(entries.values()), past)
    else:
        content = _fingerprint(list(entries.values())) if how.key is None else None
        told = rules.tellings(
            tx, now, list(entries.values()), how.who, how.replace, how.repeat, content
        )
    told, early = judge_first_labels(ledger, told)
    tellings = dict(zip(entries, told, strict=True))
    rows, drafts = [], list[Draft]()
    for n, line in enumerate(results.lines):
        row, draft = _becomes(campaign, line, found.get(n), tellings.get(n), now, how)
        if past and draft:
            words = f"{line.id} was skipped under this key before, and brought back since"
            row, draft = replace(row, action="same", message=words), None
        if n in differs and row.action != "refused":
            row = replace(row, message=" ".join(filter(None, [row.message, differs[n]])))
        rows.append(row)
        drafts += [draft] if draft else []
    notes = (*results.notes, *(implausible_message(*one, campaign) for one in early))
    problems = _problems(results, differs, how) + ((str(reused),) if reused else ())
    intake = ResultsImport(results.where, tuple(rows), problems, notes)
    last = told[-1].seq if told else max((one.seq for one in now.told()), default=0)
    labelled = AlreadyLabelled if any(one.error for one in told) else ValueError
    kind = UnknownId if unknown else labelled
    keyed = tuple(with_key(drafts, how.key, changes))
    return ImportPlan(intake, keyed, last, reused or _error(intake, kind))


def _past(
    tx: Transaction, key: str | None, changes: Sequence[Change], now: Ledger
) -> tuple[Sequence[Event], ReusedKey | None]:
    """The events of an earlier call with this key and content; the error where it had another."""
    if key is None:
        return (), None
    try:
        return find_call(tx, key, changes, partial(rules.is_there, now)), None
    except ReusedKey as error:
        return (), error


def _error(intake: ResultsImport, kind: type[Exception]) -> Exception | None:
    """What is wrong with the file, if anything is."""
    bad = [f"line {row.line}: {row.message}" for row in intake.rows if row.action == "refused"]
    if bad:
        return kind(refused_message(intake.where, bad))
    return ValueError(intake.problems[0]) if intake.problems else None


def _without(results: Results, unknown: Sequence[str], like: Mapping[str, str]) -> Results:
    """The file, its lines on rows that are not there marked as bad."""

    def said(name: str) -> str:
        hint = f"; did you mean {like[name]!r}?" if name in like else ""
        return f"no candidate has the id {name!r}{hint}"

    lines = (
        line._replace(error=said(line.id)) if line.id in unknown and not line.error else line
        for line in results.lines
    )
    return replace(results, lines=tuple(lines))


def _entries(lines: Sequence[Result], sure: bool) -> dict[int, LabelInput | str]:
    """Labels by the place of their line; text where a line is no label after all."""
    found: dict[int, LabelInput | str] = {}
    for n, line in enumerate(lines):
        if line.value is None or line.error:
            continue
        try:
            found[n] = entry(line.id, line.value, line.noise, line.note, sure)
        except ValueError as error:
            found[n] = str(error)
    return found


def _fingerprint(entries: Sequence[LabelInput]) -> str:
    content = canonical_json([[one.id, one.y, one.noise] for one in entries])
    return f"file {blake2b(content.encode(), digest_size=16).hexdigest()}"


def _becomes(
    campaign: str, line: Result, found: LabelInput | str | None, telling: LabelDecision | None,
    now: Ledger, how: ImportOptions,
) -> tuple[ImportedLine, Draft | None]:  # fmt: skip
    row = ImportedLine(line.line, line.id, "empty", line.value, line.noise, line.note)
    if line.error or isinstance(found, str):
        return replace(row, action="refused", message=line.error or str(found)), None
    if telling is None:
        return _skip_row(row, line, now, how) if line.failure else (row, None)
    if telling.error:
        return replace(row, action="refused", message=str(telling.error)), None
    message = telling.superseded or ""
    if telling.implausible and not message:
        message = implausible_message(line.id, telling.implausible, campaign)
    if telling.draft is None:
        return replace(row, action="same", message=message), None
    kind, again = telling.draft.kind, telling.draft.body["repeat"]
    action = "corrected" if kind == "corrected" else "repeated" if again else "told"
    action = "confirmed" if telling.draft.body.get("confirms") else action
    return replace(row, action=action, message=message), telling.draft


def _skip_row(
    row: ImportedLine, line: Result, now: Ledger, how: ImportOptions
) -> tuple[ImportedLine, Draft | None]:
    note = ": ".join(filter(None, [line.failure, line.note]))
    row = replace(row, action="same", note=note)
    if line.id in now.labels:
        return replace(
            row, message=f"{line.id} has a label, so {line.failure!r} skips nothing"
        ), None
    if line.id in now.skipped:
        return row, None
    body = {"v": EVENT_BODY_VERSION, "on": True, "note": note}
    return replace(row, action="skipped"), Draft("skipped", body, line.id, how.who)


def _problems(results: Results, differs: Mapping[int, str], how: ImportOptions) -> tuple[str, ...]:
    if not any(line.has_result or line.error for line in results.lines):
        return (f"{results.where} has no value in any row, so there is no label to tell",)
    compared = [n for n, line in enumerate(results.lines) if line.inputs and line.has_result]
    wrong = [n for n in compared if n in differs]
    if how.sure or len(wrong) < 2 or len(wrong) <= OTHER_CAMPAIGN_SHARE * len(compared):
        return ()
    return (
        f"{len(wrong)} of {len(compared)} rows of {results.where} have other inputs than the "
        f"campaign (line {results.lines[wrong[0]].line}: {differs[wrong[0]]}), so none was taken: "
        "is it the file of another campaign? --sure takes it",
    )


SAME_INPUT_RTOL = 1e-4  # relative difference of two inputs that are the same, one of them rounded


def read(campaign: "Campaign", source: Any, **options: Any) -> Results:
    """The lines of a file of results, its ids those of the campaign where they can be found."""
    ledger = campaign.read_ledger()
    own = tuple(column["name"] for column in ledger.plan["columns"])
    value = options.pop("value", None)
    form = ResultColumns(ledger.id_column, ledger.target, own, value)
    try:
        results = read_results(source, form, **options)
    except ValueError:
        more = campaign.columns()  # the pool may have columns that nothing is learnt from
        if set(more) <= {*own, form.id_column, form.target}:
            raise
        results = read_results(source, replace(form, own=more), **options)
    return _with_known_ids(results, campaign.known)


def _with_known_ids(results: Results, known: Callable[[Sequence[str]], set[str]]) -> Results:
    """Ids without blanks around them, and without a ' that a spreadsheet kept, where that helps."""
    ways = {line.id: _ways(line.id) for line in results.lines if not line.error}
    there = known(list({one for some in ways.values() for one in some}))
    lines = (
        line._replace(id=next((one for one in ways[line.id] if one in there), line.id.strip()))
        if line.id in ways
        else line
        for line in results.lines
    )
    return replace(results, lines=tuple(lines))


def _ways(name: str) -> list[str]:
    found = []
    for one in (name, name.strip(), unescape(name.strip())):
        try:
            found.append(check_id(one))
        except ValueError:  # such as one that is empty, or has a NUL
            continue
    return found


def find_different_inputs(
    results: Results, rows: Mapping[str, Mapping[str, Any]]
) -> dict[int, str]:
    """Lines whose inputs are not those of their row, with what to say; rows by id."""
    found = {}
    for n, line in enumerate(results.lines):
        own = rows.get(line.id)
        if own is None or not line.has_result:
            continue
        other = [
            f"{name} {written.strip() or 'empty'} here, "
            f"{_format_cell(own.get(name))} in the campaign"
            for name, written in line.inputs.items()
            if not _alike(own.get(name), written)
        ]
        if other:
            found[n] = f"{line.id} has {'; '.join(other[:3])}: is it the right row?"
    return found


def _format_cell(cell: Any) -> str:
    return "nothing" if cell is None else cell_text(cell)


def _alike(cell: Any, written: str) -> bool:
    """Whether what is written is the cell; a number may be rounded, or have a decimal comma."""
    if cell is None or isinstance(cell, datetime | bool):
        return True  # spreadsheets write dates and truth values in ways of their own
    text = written.strip()
    if isinstance(cell, str):
        return text.casefold() in (cell.strip().casefold(), unescape(cell).strip().casefold())
    number = read_number(text)
    number = read_number(text.replace(",", ".")) if number is None else number
    return number is not None and math.isclose(number, cell, rel_tol=SAME_INPUT_RTOL, abs_tol=1e-12)


def preview(campaign: "Campaign", source: Any, **how: Any) -> ResultsImport:
    """What would become of each line, as things stand now."""
    reader = _plan_reader(campaign, source, how)
    return reader(ReadView(campaign, campaign.events(), campaign.store.now())).intake


def tell_file(campaign: "Campaign", source: Any, **how: Any) -> ResultsImport:
    """The same, decided under the lock and written; ValueError where a line cannot be taken."""
    decided, planned = list[ImportPlan](), _plan_reader(campaign, source, how)

    def decide(tx: Transaction) -> tuple[Draft, ...]:
        decided[:] = [planned(tx)]
        if decided[0].error:
            raise decided[0].error
        return decided[0].drafts

    events = transact(campaign, decide)
    event = events[-1].seq if events else decided[0].there
    return replace(decided[0].intake, event=event)


def _plan_reader(
    campaign: "Campaign", source: Any, given: dict[str, Any]
) -> Callable[[Transaction], ImportPlan]:
    """The file, read; what is left is to look at the tx."""
    files = {key: given.pop(key) for key in ("name", "value", "sheet", "header") if key in given}
    who = given.pop("by", None) or campaign.who
    how = ImportOptions(who, **given)
    if how.replace and how.repeat:
        raise ValueError("replace corrects a label and repeat adds to it: not both at once")
    results = read(campaign, source, **files)
    if not results.lines:
        raise ValueError(f"{results.where} has no rows below its header: there is no label in it")
    differs, ledger = _find_different_inputs(campaign, results), campaign.read_ledger()

    def planned(tx: Transaction) -> ImportPlan:
        ids = lambda: near_ids(campaign)  # noqa: E731
        return plan(campaign.name, tx, results, differs, how, ids, ledger)

    return planned


def _find_different_inputs(campaign: "Campaign", results: Results) -> dict[int, str]:
    """Lines whose inputs are not those of the campaign; without inputs no candidate is read."""
    columns = {name for line in results.lines for name in line.inputs}
    if not columns:
        return {}
    return find_different_inputs(
        results, rows(campaign, {line.id for line in results.lines}, columns)
    )
