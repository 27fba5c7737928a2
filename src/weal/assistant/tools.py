"""Tools of an assistant: read campaigns, ask for rows, tell labels, explain.

Each tool is a method of `CampaignTools` with plain arguments, and answers the JSON of the shell
(`campaign.answers`). A tool has the name of an operation of the API and needs the same permission:

    read    list_campaigns  describe_campaign  get_status  get_best_rows  get_asked_rows
            explain_row  predict
    ask     ask_for_rows  release_rows
    tell    tell_label  withdraw_labels
    skip    skip_rows

Nothing here creates, changes or removes a campaign. Every write records the name of the assistant,
and `key` makes it safe to repeat. A label far from what is expected is refused unless the assistant
says that the person has checked it, since an assistant mishears and mistypes as people do.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from weal.campaign.answers import campaign_answer, description_answer, json_text, row_answer
from weal.campaign.campaign import Campaign
from weal.campaign.row_results import RowDetails, tell_row
from weal.errors import UnknownCampaign
from weal.store.actors import Actor

if TYPE_CHECKING:
    from weal.store.protocol import Store

JsonObject = dict[str, Any]
Json = TypeVar("Json", JsonObject, list[JsonObject])
Tool = Callable[..., JsonObject | list[JsonObject]]
LEVEL = 0.9  # of the intervals
MAX_ASK_ROWS, MAX_ROWS = 96, 100  # of one call: an assistant reads what it gets
Value = float | int | str | bool


@dataclass
class CampaignTools:
    """The tools on the campaigns of a store, for one actor."""

    store: "Store"
    actor: Actor
    _lock: Lock = field(default_factory=Lock)  # calls come from several threads; one at a time

    def allowed(self) -> dict[str, Tool]:
        """The tools that the actor may call, by name."""
        may = self.actor.may
        found = [(name, tool) for need, tools in TOOLS.items() for name, tool in tools
                 if need in may or "manage" in may]  # fmt: skip
        return {name: getattr(self, tool.__name__) for name, tool in found}

    @contextmanager
    def _campaign(self, name: str) -> Iterator[Campaign]:
        if not self.actor.sees(name) or name not in self.store.campaigns():
            known = self.actor.visible(self.store.campaigns())[:20]
            raise UnknownCampaign(
                f"there is no campaign {name!r}; list_campaigns shows those there are"
                + (f": {', '.join(known)}" if known else "")
            )
        with self._lock:
            yield Campaign(name, self.store, self.actor.name or "assistant")

    def list_campaigns(self) -> list[JsonObject]:
        """List the campaigns: name, number of candidates and labels, rows that are out."""
        with self._lock:
            names = self.actor.visible(self.store.campaigns())
            ledgers = [Campaign(name, self.store).read_ledger() for name in names]
            shown = [one for one in ledgers if not one.is_hidden]
            return [campaign_answer(one, self.store.now()) for one in shown]

    def describe_campaign(self, campaign: str) -> JsonObject:
        """Describe a campaign: inputs, quantities to measure with their units, goal, settings."""
        with self._campaign(campaign) as found:
            return description_answer(found.read_ledger())

    def get_status(self, campaign: str) -> JsonObject:
        """Report progress: expected error, advice whether to continue, labels that look wrong."""
        with self._campaign(campaign) as found:
            return _plain(found.status().to_dict())

    def get_best_rows(self, campaign: str, n: int = 10) -> JsonObject:
        """List the best rows so far, or the rows above the threshold, by the goal of the campaign.

        A campaign without a goal has no best rows.
        """
        with self._campaign(campaign) as found:
            return _plain(found.best(_count(n, MAX_ROWS)).to_dict())

    def get_asked_rows(self, campaign: str) -> list[JsonObject]:
        """List the rows that were asked and have no label yet, and the person who reserved each."""
        with self._campaign(campaign) as found:
            return _plain([row_answer(row) for row in found.asked()])

    def explain_row(self, campaign: str, id: str) -> JsonObject:
        """Explain one row: inputs, labels, prediction with interval, why it was asked, history."""
        with self._campaign(campaign) as found:
            return _plain(found.card(id).to_dict())

    def predict(self, campaign: str, rows: list[dict[str, Value]]) -> JsonObject:
        """Predict rows that are not candidates, given as objects of input columns and values."""
        import pandas

        from weal.campaign.answers import predictions_answer
        from weal.campaign.predict import predict

        _count(len(rows), MAX_ROWS)
        with self._campaign(campaign) as found:
            table = pandas.DataFrame.from_records(rows)
            return _plain(predictions_answer(predict(found, table, None, LEVEL)))

    def ask_for_rows(
        self,
        campaign: str,
        n: int | None = None,
        key: str | None = None,
        where: str | None = None,
        same: str | list[str] | None = None,
        at_most: dict[str, int] | None = None,
        instead_of: list[str] | None = None,
        rows: list[str] | None = None,
    ) -> list[JsonObject]:
        """Suggest the next rows to measure, reserve them, and say why.

        `where` restricts them ("solvent is THF and temp < 90"), `same` names columns with one value
        in the whole batch, and `at_most` says how many different values of a column it may hold.
        `instead_of` replaces rows that are out, and `rows` includes rows by their ids. Without `n`
        there are as many as `rows` or `instead_of`, else one. The same `key` again gives the same
        rows and reserves no more.
        """
        from weal.campaign.suggestions import explain

        _count(n if n is not None else max(len(rows or "1"), len(instead_of or "1")), MAX_ASK_ROWS)
        if n is None and not rows and not instead_of:
            n = 1
        options: dict[str, Any] = {"n": n, "where": where, "same": same, "at_most": at_most,
                                   "instead_of": instead_of, "rows": rows}  # fmt: skip
        with self._campaign(campaign) as found:
            ids: list[str] = found.ask(key=key, **options)
            session = found.replay_session()
            leases = session.ledger.leases
            own = [leases[one] for one in ids if one in leases and leases[one].who == found.who]
            return _plain([row_answer(row) for row in explain(session, own)])

    def tell_label(
        self,
        campaign: str,
        id: str,
        value: Value | dict[str, Value],
        note: str | None = None,
        checked: bool = False,
        replace: bool = False,
        key: str | None = None,
    ) -> JsonObject:
        """Save what was measured: a number, a word, "failed", or values by quantity.

        A value far from what is expected is refused: ask the person, then send it again with
        `checked`. `replace` corrects a label that is there. It is on disk when the answer comes.
        """
        how = RowDetails(note=note, sure=checked, replace=replace, key=key, plausible=not checked)
        with self._campaign(campaign) as found:
            return _plain(tell_row(found, id, value, how))

    def withdraw_labels(self, campaign: str, ids: list[str], note: str | None = None) -> JsonObject:
        """Withdraw the labels of rows, or give back rows without one; the history keeps both."""
        with self._campaign(campaign) as found:
            found.withdraw(ids, note=note)
            return {"withdrawn": ids}

    def release_rows(self, campaign: str, ids: list[str]) -> JsonObject:
        """Give back rows that were asked and will not be measured; labels stay."""
        from weal.campaign.row_rules import decide_release

        with self._campaign(campaign) as found:
            events = found.transact(lambda tx: decide_release(tx, list(ids), found.who, "released"))
            return {"released": [str(one.id) for one in events]}

    def skip_rows(
        self, campaign: str, ids: list[str], note: str | None = None, undo: bool = False
    ) -> JsonObject:
        """Leave out rows that cannot be measured; `undo` lets them be suggested again."""
        with self._campaign(campaign) as found:
            (found.unskip if undo else found.skip)(ids, note=note)
            return {"back" if undo else "skipped": ids}


TOOLS: dict[str, Sequence[tuple[str, Tool]]] = {
    need: [(tool.__name__, tool) for tool in tools]
    for need, tools in {
        "read": (
            CampaignTools.list_campaigns,
            CampaignTools.describe_campaign,
            CampaignTools.get_status,
            CampaignTools.get_best_rows,
            CampaignTools.get_asked_rows,
            CampaignTools.explain_row,
            CampaignTools.predict,
        ),
        "ask": (CampaignTools.ask_for_rows, CampaignTools.release_rows),
        "tell": (CampaignTools.tell_label, CampaignTools.withdraw_labels),
        "skip": (CampaignTools.skip_rows,),
    }.items()
}


def _count(n: int, most: int) -> int:
    if not 1 <= n <= most:
        raise ValueError(f"n is {n}; it must be 1 to {most}")
    return n


def _plain(value: Json) -> Json:
    """The value as JSON has it: times as text, tuples as lists."""
    return cast(Json, json.loads(json_text(value)))
