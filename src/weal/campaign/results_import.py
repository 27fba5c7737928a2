"""Import of a results file: the action for each line, saved all together or not at all.

    told        a new label                    repeated    a second measurement (`repeat`)
    corrected   replaces another label         same        the label exists already
    confirmed   the label exists and is now marked as sure (`sure`)
    failed      "failed" instead of a value: the run failed, and what follows the word is the note
    skipped     "n/a", "-" or a bound (<0.1) instead of a value: skipped, with this text as note
    empty       no value: ignored              refused     the line has an error; nothing is saved

`preview` decides without writing; `tell_file` decides the same under the write lock and writes.
Without a key of the client (`idempotency`), a fingerprint of the labels is the key, so the same
content told twice changes nothing. Inputs in the file (a worksheet has them) are compared with the
campaign. Only Excel, Parquet and inputs need more than the standard library.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, TypedDict, Unpack

from weal.campaign import rules
from weal.campaign.events import EVENT_BODY_VERSION
from weal.campaign.id_lookup import match_ids, near_ids, rows, transact
from weal.campaign.idempotency import SKIP, Change, find_call, with_key
from weal.campaign.label_input import (
    entry,
    find_different_inputs,
    name_quantity,
    read_labels_file,
)
from weal.campaign.ledger import Ledger
from weal.campaign.plausibility import implausible_message, judge_first_labels
from weal.campaign.row_rules import decide_failure, failure
from weal.campaign.rules import LabelDecision, LabelInput
from weal.errors import AlreadyLabelled, ReusedKey, UnknownId
from weal.store.events import Draft, Event, canonical_json
from weal.store.protocol import Transaction
from weal.tables.result_lines import RUN_FAILED, Result
from weal.tables.results_reader import Results, refused_message

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


LINE_ACTIONS = (
    "told", "corrected", "repeated", "confirmed", "same", "failed", "skipped", "empty", "refused"
)  # fmt: skip
OTHER_CAMPAIGN_SHARE = 0.5  # of lines with different inputs: the file is of another campaign


class ImportArguments(TypedDict, total=False):
    """The keywords of `Campaign.tell_file` and `Campaign.preview`."""

    by: str | None
    replace: bool
    repeat: bool
    key: str | None
    sure: bool
    name: str | None
    value: str | None
    sheet: str | None
    header: int | None


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """The action for one line."""

    line: int
    id: str
    action: str  # one of LINE_ACTIONS
    value: float | str | None = None  # a number, or a word
    noise: float | None = None
    note: str | None = None
    message: str = ""  # for the user
    quantity: str | None = None  # its name; None: the only one


@dataclass(frozen=True, slots=True)
class ResultsImport:
    """The actions for a file; with problems, nothing is saved."""

    where: str
    rows: tuple[ImportedLine, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # on the file as a whole
    event: int = 0  # number of the last event; 0 in a preview

    @property
    def counts(self) -> dict[str, int]:
        """The number of lines by action."""
        found = Counter(row.action for row in self.rows)
        return {action: found[action] for action in LINE_ACTIONS if found[action]}

    @property
    def labels(self) -> int:
        """The number of labels in the file, existing ones included."""
        return sum(self.counts.get(one, 0) for one in LINE_ACTIONS[:5])

    @property
    def new(self) -> int:
        """The number of labels that are written."""
        return sum(self.counts.get(one, 0) for one in LINE_ACTIONS[:4])


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options for reading a file and saving its labels."""

    by: str | None = None
    replace: bool = False
    repeat: bool = False
    key: str | None = None
    sure: bool = False
    name: str | None = None  # of a file that comes as bytes
    value: str | None = None  # the value column
    sheet: str | None = None
    header: int | None = None

    @property
    def who(self) -> str:
        """The person who saves the labels."""
        return self.by or ""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The import of a file, and the events to write."""

    result: ResultsImport
    drafts: tuple[Draft, ...] = ()
    existing: int = 0  # number of the event that holds the last label, if it exists already
    error: Exception | None = None  # why nothing is saved


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
        return self.campaign.existing_ids(ids)

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


def plan_import(
    campaign: str, tx: Transaction, results: Results, differs: Mapping[int, str],
    how: ImportOptions, ids: Callable[[], Sequence[str]], ledger: Ledger,
) -> ImportPlan:  # fmt: skip
    """The action for each line, given the events of the transaction.

    The ledger has the other labels, by which labels without a prediction are judged.
    """
    named = [line.id for line in results.lines if line.has_result and not line.error]
    there = tx.existing_ids(named)
    if unknown := [name for name in dict.fromkeys(named) if name not in there]:
        results = _mark_unknown(results, unknown, match_ids(unknown, ids()))
    names = [name for name in named if name in there]
    now = rules.read_rows(tx, names)
    found = _entries(now, results.lines, how.sure)
    entries = {n: one for n, one in found.items() if isinstance(one, LabelInput)}
    changes = [rules.label_change(now, one) for one in entries.values()]
    no_label = [line for line in results.lines if line.failure and not line.error]
    of_0_2 = [*changes, *(Change(line.id, SKIP) for line in no_label)]  # it skipped failed runs
    changes += [_change(now, line) for line in no_label]
    past, reused = _find_past_call(tx, how.key, changes, now, of_0_2)
    if past:
        told = rules.decide_retry(tx, now, list(entries.values()), past)
    else:
        content = _fingerprint(now, list(entries.values())) if how.key is None else None
        told = rules.decide_each_label(
            tx, now, list(entries.values()), how.who, how.replace, how.repeat, content
        )
    told, early = judge_first_labels(ledger, told)
    tellings = dict(zip(entries, told, strict=True))
    rows, drafts, repeats = [], list[Draft](), now.open_repeats(tx.now)
    own_labels = {one.id for one in entries.values()}
    for n, line in enumerate(results.lines):
        row, own = _import_line(campaign, line, found.get(n), tellings.get(n), now, how, repeats)
        if line.failure and line.id in own_labels:
            row, own = _unfailed(line), ()
        if past and line.failure and own:
            words = f"{line.id} was {row.action} under this key before and is back since"
            row, own = replace(row, action="same", message=words), ()
        if n in differs and row.action != "refused":
            row = replace(row, message=" ".join(filter(None, [row.message, differs[n]])))
        rows.append(row)
        drafts += own
    notes = (*results.notes, *(implausible_message(*one, campaign) for one in early))
    problems = _problems(results, differs, how) + ((str(reused),) if reused else ())
    result = ResultsImport(results.where, tuple(rows), problems, notes)
    last = told[-1].seq if told else _last_label(now)
    labelled = AlreadyLabelled if any(one.error for one in told) else ValueError
    kind = UnknownId if unknown else labelled
    keyed = tuple(with_key(drafts, how.key, changes))
    return ImportPlan(result, keyed, last, reused or _error(result, kind))


def _find_past_call(
    tx: Transaction, key: str | None, changes: Sequence[Change], now: Ledger,
    of_0_2: Sequence[Change],
) -> tuple[Sequence[Event], ReusedKey | None]:  # fmt: skip
    """The events of an earlier call with this key; the error if its content was different."""
    if key is None:
        return (), None
    try:
        return find_call(
            tx, key, changes, partial(rules.is_recorded, now), now.first_quantity
        ), None
    except ReusedKey as error:
        if list(of_0_2) == list(changes):
            return (), error
        past, other = _find_past_call(tx, key, of_0_2, now, of_0_2)
        return past, error if other else None


def _error(result: ResultsImport, kind: type[Exception]) -> Exception | None:
    """The error that prevents the import, if there is one."""
    bad = [f"line {row.line}: {row.message}" for row in result.rows if row.action == "refused"]
    if bad:
        return kind(refused_message(result.where, bad))
    return ValueError(result.problems[0]) if result.problems else None


def _mark_unknown(results: Results, unknown: Sequence[str], like: Mapping[str, str]) -> Results:
    """The results with an error on each line whose id is unknown."""

    def describe(name: str) -> str:
        hint = f"; did you mean {like[name]!r}?" if name in like else ""
        return f"no candidate has the id {name!r}{hint}"

    lines = (
        line._replace(error=describe(line.id)) if line.id in unknown and not line.error else line
        for line in results.lines
    )
    return replace(results, lines=tuple(lines))


def _last_label(now: Ledger) -> int:
    """The number of the last event with a label, or with a failure."""
    told = (one.seq for own in now.with_failures().values() for one in own.told())
    return max(told, default=0)


def _entries(now: Ledger, lines: Sequence[Result], sure: bool) -> dict[int, LabelInput | str]:
    """The label of each line, by position; an error message if it is not valid."""
    found: dict[int, LabelInput | str] = {}
    for n, line in enumerate(lines):
        if line.value is None or line.error:
            continue
        try:
            quantity = now.quantity(line.quantity).quantity
            found[n] = entry(quantity, line.id, line.value, line.noise, line.note, sure)
        except ValueError as error:
            found[n] = name_quantity(str(error), line.quantity or "", len(now.quantities))
    return found


def _fingerprint(now: Ledger, entries: Sequence[LabelInput]) -> str:
    """A key made of the labels; that of the first quantity is as weal 0.2 made it."""
    first = now.first_quantity
    content = canonical_json(
        [
            [one.id, one.y, one.noise, *([] if one.quantity == first else [one.quantity])]
            for one in entries
        ]
    )
    return f"file {blake2b(content.encode(), digest_size=16).hexdigest()}"


def _import_line(
    campaign: str, line: Result, found: LabelInput | str | None, telling: LabelDecision | None,
    now: Ledger, how: ImportOptions, repeats: Collection[str],
) -> tuple[ImportedLine, tuple[Draft, ...]]:  # fmt: skip
    own = (line.value, line.noise, line.note)
    row = ImportedLine(line.line, line.id, "empty", *own, quantity=line.quantity)
    if line.error or isinstance(found, str):
        return replace(row, action="refused", message=line.error or str(found)), ()
    if telling is None and line.failure:
        fails = _is_failure(line)
        return (_fail_row if fails else _skip_row)(row, line, now, how, repeats)
    if telling is None:
        return row, ()
    if telling.error:
        return replace(row, action="refused", message=str(telling.error)), ()
    message = telling.superseded or telling.unclear_message(campaign) or ""
    if telling.implausible and not message:
        message = implausible_message(line.id, telling.implausible, telling.named, campaign)
    if telling.draft is None:
        return replace(row, action="same", message=message), ()
    kind, again = telling.draft.kind, telling.draft.body["repeat"]
    action = "corrected" if kind == "corrected" else "repeated" if again else "told"
    action = "confirmed" if telling.draft.body.get("confirms") else action
    return replace(row, action=action, message=message), (telling.draft,)


def _is_failure(line: Result) -> bool:
    """Whether the run of the line failed."""
    return str(line.failure).lower() in RUN_FAILED


def _change(now: Ledger, line: Result) -> Change:
    if _is_failure(line):
        return rules.label_change(now, failure(line.id, line.note))
    return Change(line.id, SKIP)


def _unfailed(line: Result) -> ImportedLine:
    words = f"{line.id} has a label in this file, so {line.failure!r} changes nothing"
    return ImportedLine(line.line, line.id, "same", note=line.note, message=words)


def _fail_row(
    row: ImportedLine, line: Result, now: Ledger, how: ImportOptions, repeats: Collection[str]
) -> tuple[ImportedLine, tuple[Draft, ...]]:
    """The failure of a run; a row with a label has worked, unless its label is replaced."""
    decided = decide_failure(now, line.id, line.note, how.who, how.replace, repeats)
    if decided.error:
        return replace(row, action="same", message=str(decided.error)), ()
    kinds = {draft.kind for draft in decided.drafts}
    action = "skipped" if kinds == {"skipped"} else "failed" if kinds else "same"
    return replace(row, action=action, message=decided.message), decided.drafts


def _skip_row(
    row: ImportedLine, line: Result, now: Ledger, how: ImportOptions, repeats: Collection[str]
) -> tuple[ImportedLine, tuple[Draft, ...]]:
    note = ": ".join(filter(None, [line.failure, line.note]))
    row = replace(row, action="same", note=note)
    if now.is_labelled(line.id) and line.id not in repeats:
        return replace(row, message=f"{line.id} has a label, so {line.failure!r} skips nothing"), ()
    if line.id in now.skipped:
        return row, ()
    body = {"v": EVENT_BODY_VERSION, "on": True, "note": note}
    said = f"{line.failure!r} is kept as a note, and the model ignores it" if line.is_bound else ""
    return replace(row, action="skipped", message=said), (Draft("skipped", body, line.id, how.who),)


def _problems(results: Results, differs: Mapping[int, str], how: ImportOptions) -> tuple[str, ...]:
    if not any(line.has_result or line.error for line in results.lines):
        return (f"{results.where} has no value in any row, so there is no label to tell",)
    compared = [n for n, line in enumerate(results.lines) if line.inputs and line.has_result]
    wrong = [n for n in compared if n in differs]
    if how.sure or len(wrong) < 2 or len(wrong) <= OTHER_CAMPAIGN_SHARE * len(compared):
        return ()
    return (
        f"{len(wrong)} of {len(compared)} rows of {results.where} have other inputs than the "
        f"campaign (line {results.lines[wrong[0]].line}: {differs[wrong[0]]}), so nothing was "
        "saved: is it the file of another campaign? --sure imports it",
    )


def preview(campaign: "Campaign", source: object, **how: Unpack[ImportArguments]) -> ResultsImport:
    """The action that `tell_file` would take for each line now."""
    plan_now = _read_file(campaign, source, how)
    return plan_now(ReadView(campaign, campaign.events(), campaign.store.now())).result


def tell_file(
    campaign: "Campaign", source: object, **how: Unpack[ImportArguments]
) -> ResultsImport:
    """Save the labels of a file under the write lock; ValueError if a line has an error."""
    decided, plan_now = list[ImportPlan](), _read_file(campaign, source, how)

    def decide(tx: Transaction) -> tuple[Draft, ...]:
        decided[:] = [plan_now(tx)]
        if decided[0].error:
            raise decided[0].error
        return decided[0].drafts

    events = transact(campaign, decide)
    event = events[-1].seq if events else decided[0].existing
    return replace(decided[0].result, event=event)


def _read_file(
    campaign: "Campaign", source: object, given: ImportArguments
) -> Callable[[Transaction], ImportPlan]:
    """Read the file once, and return the function that plans its import."""
    how = ImportOptions(**given)
    how = replace(how, by=how.by or campaign.who)
    if how.replace and how.repeat:
        raise ValueError("replace corrects a label and repeat adds to it: not both at once")
    results = (
        source
        if isinstance(source, Results)
        else read_labels_file(
            campaign, source, how.value, name=how.name, sheet=how.sheet, header=how.header
        )
    )
    if not results.lines:
        raise ValueError(f"{results.where} has no rows below its header: there is no label in it")
    columns, differs = {name for line in results.lines for name in line.inputs}, dict[int, str]()
    if columns:  # otherwise no candidate is read
        candidates = rows(campaign, {line.id for line in results.lines}, columns)
        differs = find_different_inputs(results, candidates)
    ids, ledger = partial(near_ids, campaign), campaign.read_ledger()
    return lambda tx: plan_import(campaign.name, tx, results, differs, how, ids, ledger)
