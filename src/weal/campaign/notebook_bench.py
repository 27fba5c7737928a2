"""The notebook widget of a `Campaign`: the rows of this person, as on the labelling page.

Labels, skips and failures are in the store when a method returns, with the key of the form, so that
a form sent twice writes once, also after a restart of the kernel. The widget and the page use the
same keys: each can undo actions of the other (`campaign.undo`).
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from weal.campaign.ledger import Lease, Ledger
from weal.campaign.plausibility import judge_in_ledger
from weal.campaign.prediction_text import NOT_KNOWN, prediction_of_quantity, prediction_text
from weal.campaign.row_rules import fail_rows
from weal.campaign.rules import LabelInput
from weal.campaign.undo import (
    PAGE_KEY_PREFIX,
    Action,
    UndoDecision,
    action_text,
    decide_undo_action,
    last_action,
)
from weal.errors import AlreadyLabelled, Exhausted
from weal.learner.batch_options import BatchOptionsBody
from weal.quantities.protocol import Quantity
from weal.store.events import Draft
from weal.store.protocol import Transaction
from weal.tables.result_lines import bound_note
from weal.widget.protocol import (
    MAX_SHOWN_ROWS,
    NONE_LEFT,
    UNDONE_ALREADY,
    Answer,
    BenchRow,
    BenchView,
    LearningReport,
    TypedLabel,
    Undoable,
    next_step,
    plural,
    shown,
)
from weal.widget.typed_labels import (
    bench_fields,
    counts_text,
    finite_curve,
    headline_text,
    interval_text,
    labels_text,
    question_text,
    read_typed,
)

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.status import Status

SKIP_REASONS = ("no sample", "cannot be made", "not enough time")
STORAGE = "Every label is in the store as soon as it is saved; a restart of the kernel loses none."
HAS_LABEL = (
    "nothing was saved. To correct it, run campaign.tell(id, value, replace=True) in a cell."
)
MAX_EVENTS_SEARCHED = 500  # for the last action of this person


class CampaignBench:
    """A campaign as the `Bench` of the widget.

    Parameters
    ----------
    campaign : Campaign
        An open campaign; its `who` types the labels.
    """

    def __init__(self, campaign: "Campaign") -> None:
        self.campaign = campaign
        self._described: dict[int, tuple[tuple[tuple[str, str], ...], str]] = {}  # by lease

    def version(self) -> object:
        """The last event, and the leases that have not ended."""
        ledger = self.campaign.read_ledger()
        return ledger.seq, ledger.hash, tuple(one.seq for one in self._mine(ledger))

    def _mine(self, ledger: Ledger) -> list[Lease]:
        """The rows of this person, in the order asked."""
        leases = ledger.open_leases(self.campaign.store.now())
        return [one for one in leases if one.who == self.campaign.who]

    def view(self) -> BenchView:
        """What is shown."""
        ledger = self.campaign.read_ledger()
        mine = self._mine(ledger)
        out = {one.id for one in ledger.open_leases(self.campaign.store.now())}
        taken = ledger.labelled() | out | ledger.skipped.keys()
        free = max(ledger.rows - len(taken), 0)
        by = f", as {self.campaign.who}" if self.campaign.who else ""
        others = len(out) - len(mine)
        counts = [plural(ledger.n_labels, "label"), plural(ledger.rows, "candidate")]
        counts += [f"{plural(others, 'row')} with others"] if others else []
        return BenchView(
            title=f"Campaign: {ledger.title or ledger.name}{by}",
            counts=", ".join(counts),
            next_step=next_step(len(mine), free, self._missing()),
            fields=bench_fields(one.quantity for one in ledger.quantities.values()),
            rows=self._rows(ledger, mine[:MAX_SHOWN_ROWS]),
            waiting=len(mine),
            free=free,
            columns=tuple(ledger.column_names),
            storage=STORAGE,
            reasons=SKIP_REASONS,
            keeps_notes=True,
            undo=self._last_action(ledger),
        )

    def _missing(self) -> int:
        """Labels needed before there is a model of the quantity that the goal looks at first."""
        view = self.campaign.replay_session().view()
        return 0 if view.has_model else max(view.settings.n_start - len(view.labels), 1)

    def _rows(self, ledger: Ledger, leases: Sequence[Lease]) -> tuple[BenchRow, ...]:
        new = [one.id for one in leases if one.seq not in self._described]
        described = {row.id: row for row in self.campaign.asked(new)} if new else {}
        left_out = {ledger.id_column, *(one.quantity.column for one in ledger.quantities.values())}
        found = []
        for lease in leases:
            if lease.id in described:
                row = described[lease.id]
                cells = [
                    (name, shown(one)) for name, one in row.row.items() if name not in left_out
                ]
                self._described[lease.seq] = tuple(cells), row.why
            cells_shown, why = self._described[lease.seq]
            saved = [
                ", ".join(own.quantity.format(told.y, 8) for told in own.labels.get(lease.id, ()))
                for own in ledger.quantities.values()
            ]
            predicted = tuple(_predicted(ledger, lease, name) for name in ledger.quantities)
            found.append(
                BenchRow(lease.id, cells_shown, predicted, why, tuple(saved), lease.is_repeat)
            )
        return tuple(found)

    def report(self) -> LearningReport:
        """The status in brief: one number, advice, and the learning curve."""
        return _report(self.campaign.status(), self.campaign.last_ledger)

    def ask(self, n: int, options: BatchOptionsBody, key: str) -> Answer:
        """Lease n more rows; if fewer are left, the answer says how many."""
        given: dict[str, Any] = dict(options)
        try:
            self.campaign.ask(n, key=PAGE_KEY_PREFIX + key, **given)
        except Exhausted as error:
            free = self.view().free
            if options or free >= n:
                raise
            left = f"{plural(free, 'row is', 'rows are')} left: ask for {free}."
            return Answer(wrong=left if free else f"{NONE_LEFT} ({error})", left=free)
        return Answer(f"{plural(n, 'row')} to measure.")

    def tell(self, typed: TypedLabel, key: str) -> Answer:
        """Save the labels of a row, all or none; a question if one is implausible."""
        ledger = self.campaign.read_ledger()
        measured, id_ = _measured(ledger), str(typed.id)
        note, text = typed.note or None, typed.values.get(ledger.first_quantity, "")
        if len(measured) == 1 and not measured[0].words and (bound := bound_note(text, note)):
            self.skip(id_, bound, key)
            return Answer(f"{shown(id_)} is skipped, with the bound {text.strip()} as its note")
        labels, refused = read_typed(measured, typed)
        if refused is not None:
            return refused
        entries = [LabelInput(name, id_, y, None, note) for name, y in labels.items()]
        doubts = [
            (one.quantity, doubt)
            for one in ([] if typed.sure else entries)
            if (doubt := judge_in_ledger(ledger, one)) and not _has_label(ledger, one)
        ]
        if doubts:
            return Answer(question=question_text(doubts, len(measured) > 1))
        try:
            kept = self.campaign.tell_entries(entries, key=PAGE_KEY_PREFIX + key)
        except AlreadyLabelled:
            return Answer(wrong=f"{shown(id_)} has a label already: {HAS_LABEL}")
        if kept.superseded:
            return Answer(
                wrong="Nothing was saved: this form saved it before, and the label has changed "
                "since. Check the row, and save again if it is right."
            )
        return Answer(f"Saved {shown(id_)}: {labels_text(measured, labels)}")

    def skip(self, id_: Hashable, reason: str, key: str) -> Answer:
        """Skip a row; the reason is kept with it."""
        self.campaign.skip(id_, note=reason or None, key=PAGE_KEY_PREFIX + key)
        return Answer(f"Skipped {shown(id_)}")

    def fail(self, id_: Hashable, note: str, accident: bool, key: str) -> Answer:
        """Save that the run of a row failed; the model ignores an accident."""
        who, own = self.campaign.who, PAGE_KEY_PREFIX + key
        fail_rows(self.campaign, [str(id_)], who, note or None, accident, False, own)
        return Answer(f"{shown(id_)} is saved as failed")

    def undo(self, number: int) -> Answer:
        """Undo the action whose first event has this number, if it is the last one."""
        found: list[UndoDecision | None] = []

        def decide(tx: Transaction) -> Sequence[Draft]:
            found[:] = [decide_undo_action(tx, number, self.campaign.who)]
            return found[0].drafts if found[0] else []

        self.campaign.transact(decide)
        done = found[0]
        if done is None or done.is_undone or done.changed_by:
            return Answer(wrong=UNDONE_ALREADY)
        text = _undo_text(done.action, self.campaign.read_ledger())
        return Answer(f"Undone: {text}", row=done.action.id)

    def _last_action(self, ledger: Ledger) -> Undoable | None:
        """The last action of this person, here or on the page, that can be undone."""
        start = max(ledger.seq - MAX_EVENTS_SEARCHED, 1)
        events = self.campaign.store.events_between(ledger.name, start, ledger.seq)
        found = last_action(list(events), self.campaign.who)
        return Undoable(found.seq, _undo_text(found, ledger)) if found else None


def _undo_text(action: Action, ledger: Ledger) -> str:
    """An action in words, with its row."""
    return f"{shown(action.id)}: {action_text(action, ledger)}"


def _measured(ledger: Ledger) -> list[Quantity]:
    return [one.quantity for one in ledger.quantities.values()]


def _has_label(ledger: Ledger, entry: LabelInput) -> bool:
    """Whether the row has exactly this label."""
    labels = ledger.quantity(entry.quantity).labels.get(entry.id, ())
    return any(told.y == entry.y for told in labels)


def _predicted(ledger: Ledger, lease: Lease, name: str) -> str:
    """The prediction when the row was asked, in words; empty if there was no model."""
    quantity = ledger.quantity(name).quantity
    body = prediction_of_quantity(lease.body, name, ledger.first_quantity)
    mean, low, high = body["mean"], body["low"], body["high"]
    if not quantity.words and mean is not None and low is not None and high is not None:
        return interval_text(quantity, mean, low, high)
    words = prediction_text(quantity, body)
    return "" if words == NOT_KNOWN else words


def _report(status: "Status", ledger: Ledger) -> LearningReport:
    """The report of a status."""
    from weal.campaign.status import goal_in_force

    goal, _ = goal_in_force(ledger)
    lead = ledger.quantity(goal.scored(list(ledger.quantities))[0])
    quantity, beliefs = lead.quantity, status.beliefs
    if quantity.words:
        codes = [int(told.y) for several in lead.labels.values() for told in several]
        counts = {word: codes.count(n) for n, word in enumerate(quantity.words)}
        return LearningReport(counts_text(counts), status.advice)
    if beliefs is None:
        return LearningReport(advice=status.advice)
    if status.curve is not None:
        curve, name = status.curve, goal.curve_label(quantity.column or quantity.name)
        headline = headline_text(goal, quantity, curve.now, lead.n_labels)
        return LearningReport(headline, status.advice, finite_curve(curve.course), name)
    curve, name = beliefs.left_out, quantity.error_axis_label()
    headline = headline_text(goal, quantity, curve.now, lead.n_labels, beliefs.baseline)
    return LearningReport(headline, status.advice, finite_curve(curve.course), name)
