"""Jobs of the API: calls that need a model or read a table. Each answers JSON text and a tag.

The tag names the state of the campaign that the answer is of (`campaign.preconditions`). A table is
an upload of the server's folder, or rows as JSON.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weal.campaign.answers import (
    description_answer,
    import_answer,
    json_text,
    predictions_answer,
    row_answer,
    settings_answer,
)
from weal.campaign.campaign import Campaign
from weal.campaign.config import chosen_goal
from weal.campaign.export import export as write_export
from weal.campaign.preconditions import state_tag
from weal.campaign.predict import predict
from weal.campaign.suggestions import explain
from weal.campaign.table_calls import add_once, create_once
from weal.goals.protocol import Goal
from weal.progress import Progress
from weal.store.events import from_the_future
from weal.web.job_context import Arguments, JobContext
from weal.web.table_jobs import without_path

TaggedText = tuple[str, str]


def _tagged(campaign: Campaign, value: object) -> TaggedText:
    ledger = campaign.last_ledger
    return json_text(value), state_tag(ledger.seq, ledger.hash)


def suggest(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Lease rows; the rows that are out with their reasons, or only their ids."""
    call = dict(arguments["call"])
    only_ids = call.pop("only_ids", False)
    with context.guarded_campaign(arguments) as (campaign, guarded):
        n = call.pop("n", None if call.keys() & {"rows", "instead_of"} else 1)
        ids: list[str] = campaign.ask(n, **call)
        tag = guarded.tag or ""
        if only_ids:
            return json_text({"ids": ids}), tag
        session = campaign.replay_session()
        leases = session.ledger.leases
        out = [leases[one] for one in ids if one in leases and leases[one].who == campaign.who]
        return json_text([row_answer(row) for row in explain(session, out)]), tag


def asked(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """The rows that are out, of one person or of all."""
    campaign = context.campaign(arguments["name"])
    by = arguments["call"].get("by")
    rows = [row_answer(row) for row in campaign.asked() if by in (None, row.who)]
    return _tagged(campaign, rows)


def _goal(campaign: Campaign, call: dict[str, Any]) -> Goal | str | None:
    """The goal of a call, in place of that of the settings."""
    goals = call.get("goal") or [None]
    goal = goals[0] if len(goals) == 1 else goals
    stored = lambda: campaign.read_ledger().settings["goal"]  # noqa: E731
    return chosen_goal(goal, call.get("subject_to", ()), stored)


def report(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """The status, as `weal status --json` prints it."""
    campaign, call = context.campaign(arguments["name"]), arguments["call"]
    goal = _goal(campaign, call)
    found = campaign.status(goal=goal, until=call.get("until"), progress=progress)
    future = from_the_future(campaign.events(), context.store.now())
    return _tagged(campaign, {**found.to_dict(), "future": [event.seq for event in future]})


def best(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """The best rows, as `weal best --json` prints them."""
    campaign, call = context.campaign(arguments["name"]), arguments["call"]
    found = campaign.best(int(call["n"]), goal=_goal(campaign, call))
    return _tagged(campaign, found.to_dict())


def card(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """One row, as `weal show --json` prints it."""
    campaign = context.campaign(arguments["name"])
    return _tagged(campaign, campaign.card(arguments["id"]).to_dict())


@contextmanager
def _table(arguments: Arguments) -> Iterator[object]:
    """The table of a call; an upload is deleted at the end."""
    if "path" not in arguments:
        import pandas

        rows = arguments["call"].get("rows")
        yield None if rows is None else pandas.DataFrame.from_records(rows)
        return
    path = Path(arguments["path"])
    try:
        with without_path(path):
            yield path
    finally:
        path.unlink(missing_ok=True)


def predict_rows(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Predictions for the rows of a table, as `weal predict --json` prints them."""
    campaign, call = context.campaign(arguments["name"]), arguments["call"]
    header = call.get("header")
    with _table(arguments) as source:
        found = predict(
            campaign, source, call.get("id_column"), call.get("level", 0.9), call.get("sheet"),
            None if header is None else int(header), quantity=call.get("quantity"),
        )  # fmt: skip
    answer = predictions_answer(found)
    if not call.get("lines"):
        return _tagged(campaign, answer)
    text = "".join(f"{json_text(row)}\n" for row in answer["predictions"])  # type: ignore[attr-defined]
    return text, _tagged(campaign, None)[1]


def create_campaign(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Create a campaign of a table or of a box, once for each key."""
    name, call = arguments["name"], arguments["call"]
    with _table(arguments) as source:
        given = {key: one for key, one in call.items() if key not in ("rows", "key", "content")}
        create_once(
            context.store, name, source, given, arguments["who"], call.get("key"), call["content"]
        )
    campaign = context.campaign(name)
    return _tagged(campaign, description_answer(campaign.read_ledger()))


def copy_campaign(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Copy a campaign, once for each key."""
    call = arguments["call"]
    source = context.campaign(arguments["name"], arguments["who"])
    source.copy(call["new"], labels=call["labels"], key=call["key"])
    campaign = context.campaign(call["new"])
    return _tagged(campaign, description_answer(campaign.read_ledger()))


def add_rows(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Add the candidates of a table, once for each key."""
    call = arguments["call"]
    with _table(arguments) as source, context.guarded_campaign(arguments) as (campaign, guarded):
        given = {key: one for key, one in call.items() if key in ("sheet", "header")}
        found = add_once(campaign, source, given, call.get("key"), call["content"])
        return json_text(found), guarded.tag or _tagged(campaign, None)[1]


def change_settings(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Change settings once for each key; the settings after it."""
    call = arguments["call"]
    with context.guarded_campaign(arguments) as (campaign, guarded):
        campaign.change(key=call["key"], **arguments["changes"])
        return json_text(settings_answer(campaign.read_ledger())), guarded.tag or ""


def import_labels(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Save the labels of a file, all or none; or say what would become of each line."""
    call = dict(arguments["call"])
    dry_run = call.pop("dry_run", False)
    with _table(arguments) as source, context.guarded_campaign(arguments) as (campaign, guarded):
        save = campaign.preview if dry_run else campaign.tell_file
        found = save(source, name=arguments["called"], by=arguments["who"], **call)
        return json_text(import_answer(found)), guarded.tag or _tagged(campaign, None)[1]


def write_table(context: JobContext, arguments: Arguments, progress: Progress) -> str:
    """Write a table of the campaign to a file of the server; the tag of the state it is of."""
    campaign, path = context.campaign(arguments["name"]), Path(arguments["path"])
    ledger, what = campaign.read_ledger(), arguments["what"]
    if what == "predictions" and ledger.shards:
        _write_shard_predictions(campaign, path, arguments["call"].get("quantity"))
    else:
        write_export(campaign, what, path)
    return state_tag(ledger.seq, ledger.hash)


def _write_shard_predictions(campaign: Campaign, path: Path, quantity: str | None) -> None:
    """The predictions for candidates in files as one file, a shard at a time."""
    import shutil

    from pyarrow import parquet

    folder = path.with_suffix(".shards")
    try:
        write_export(campaign, "predictions", f"{folder}/", quantity=quantity)
        parts = sorted(folder.glob("*.parquet"))
        if path.suffix == ".parquet":
            with parquet.ParquetWriter(path, parquet.read_schema(parts[0])) as writer:
                for part in parts:
                    writer.write_table(parquet.read_table(part))
            return
        with path.open("w", encoding="utf-8") as file:
            for part in parts:
                for batch in parquet.ParquetFile(part).iter_batches():
                    file.writelines(f"{json.dumps(row)}\n" for row in batch.to_pylist())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


API_JOBS = {
    "suggest": suggest,
    "asked": asked,
    "report": report,
    "best": best,
    "card": card,
    "predict_rows": predict_rows,
    "create_campaign": create_campaign,
    "copy_campaign": copy_campaign,
    "add_rows": add_rows,
    "change_settings": change_settings,
    "import_labels": import_labels,
    "write_table": write_table,
}
