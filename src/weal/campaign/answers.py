"""Answers to programs: the JSON that `--json` of the shell prints and that the API sends.

The fields are an interface; `weal/cli/schemas` has a JSON Schema of each. Times are ISO 8601. This
module imports no numerics.
"""

import json
from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING

from weal.campaign.config import settings_to_json
from weal.campaign.ledger import Ledger

if TYPE_CHECKING:
    from weal.campaign.predict import RowPredictions
    from weal.campaign.results_import import ResultsImport
    from weal.campaign.suggestions import LeasedRow
    from weal.store.events import Event

COUNTED_LINES = ("failed", "skipped", "empty", "refused")
LIST_SETTINGS = ("archived", "hidden")  # which only affect lists of campaigns
OPTIONAL_ROW_FIELDS = ("repeat", "quantities")  # of a leased row: left out where they are empty


def json_text(value: object, indent: int | None = None) -> str:
    """JSON with times in ISO format; ValueError for NaN and infinite numbers."""
    return json.dumps(value, indent=indent, allow_nan=False, default=_plain)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def campaign_answer(ledger: Ledger, now: datetime) -> dict[str, object]:
    """A campaign in the list of campaigns."""
    return {
        "name": ledger.name,
        "title": ledger.title,
        "candidates": ledger.rows,
        "labels": ledger.n_labels,
        "out": len(ledger.open_leases(now)),
        "skipped": len(ledger.skipped),
    }


def description_answer(ledger: Ledger) -> dict[str, object]:
    """A campaign with its plan, quantities and settings, as after `weal new`."""
    return {
        "name": ledger.name,
        "candidates": ledger.rows,
        "labels": ledger.n_labels,
        "failed": len(ledger.failures.labels),
        "plan": ledger.plan,
        "quantities": [one.quantity.to_json() for one in ledger.quantities.values()],
        "settings": settings_answer(ledger),
        "archived": ledger.is_archived,
        "copied_from": ledger.copied_from,
    }


def settings_answer(ledger: Ledger) -> dict[str, object]:
    """The settings of a campaign."""
    shown = {key: value for key, value in ledger.settings.items() if key not in LIST_SETTINGS}
    return settings_to_json(shown)


def row_answer(row: "LeasedRow") -> dict[str, object]:
    """A leased row, and why it was asked."""
    found = {**asdict(row), "why": row.why}
    return {key: one for key, one in found.items() if key not in OPTIONAL_ROW_FIELDS or one}


def import_answer(found: "ResultsImport") -> dict[str, object]:
    """The outcome of several labels, line by line."""
    return {
        "event": found.event,
        "labels": found.labels,
        "new": found.new,
        **{action: found.counts.get(action, 0) for action in COUNTED_LINES},
        "problems": list(found.problems),
        "notes": list(found.notes),
        "rows": [asdict(row) for row in found.rows],
    }


def predictions_answer(found: "RowPredictions", to: str | None = None) -> dict[str, object]:
    """Predictions of rows, or the name of the file that they were written to."""
    names = list(found.columns())
    numbers = (one.tolist() for one in found.predicted.values())
    rows = [] if to else [dict(zip(names, row, strict=True))
                          for row in zip(found.ids, *numbers, strict=True)]  # fmt: skip
    return {"rows": len(found.ids), "file": to, "predictions": rows, "notes": list(found.notes)}


def event_answer(event: "Event") -> dict[str, object]:
    """An event, as `weal log` lists it."""
    return asdict(event)
