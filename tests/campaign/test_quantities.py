"""Events with labels name their quantity; those of weal 0.2 mean the only one."""

from dataclasses import replace

import pytest

from campaign.lab import campaign, pool, truth
from campaign.test_ledger import after, asked, event, told
from weal.campaign.campaign import Campaign, open_campaign
from weal.campaign.idempotency import LABEL, Change, with_key
from weal.campaign.ledger import Ledger, apply_events, quantity_of_event
from weal.campaign.rules import LabelInput
from weal.errors import UnreadableFile, WealError
from weal.quantities.number import Number
from weal.store.events import Draft

YIELD, PURITY = Number("yield", "%", "yield [%]"), Number("purity")


def created(*quantities):
    """The event `created`; of weal 0.2 without quantities."""
    more = {"quantities": [one.to_json() for one in quantities]} if quantities else {}
    settings = {"acquisition": "wvar", "lease": 1.0, "seed": 3}
    return event(1, "created", settings=settings, plan={}, target="yield [%]", id="name", **more)


def label(seq, quantity, name, y, kind="told"):
    plain = told(seq, name, y, kind)
    return event(seq, kind, name, **{**plain.body, "quantity": quantity})


def named(store="memory:"):
    table = pool().assign(**{"yield [%]": None})
    settings = {"id_column": "name", "target": "yield [%]", "by": "ann", "n_start": 5}
    settings["ranges"] = {"yield [%]": (None, None)}
    return open_campaign("lab", store, pool=table, **settings)


def test_every_event_with_a_label_names_its_quantity():
    with named() as one:
        one.tell({"r1": 0.5, "r2": 0.7})
        one.tell("r1", 0.6, replace=True)
        one.tell("r2", 0.7, sure=True)
        one.ask()
        one.withdraw(["r2"])
        bodies = {event.kind: event.body for event in one.events()}
    assert bodies["created"]["quantities"] == [YIELD.to_json()]
    assert bodies["created"]["target"] == "yield [%]"
    for kind in ("told", "corrected", "withdrawn"):
        assert bodies[kind]["quantity"] == "yield"
    assert "quantity" not in bodies["asked"]


def test_labels_of_a_table_name_it_too():
    table = pool().assign(strength=[truth(n) for n in range(40)])
    with open_campaign("lab", "memory:", pool=table, id_column="name", target="strength") as one:
        names = [e.body["quantity"] for e in one.events() if e.kind == "told"]
    assert names == ["strength"] * 40


def test_a_campaign_without_a_target_measures_a_value():
    with campaign() as one:
        one.tell("r1", 0.5)
        assert one.events()[-1].body["quantity"] == "value"
        assert list(one.read_quantities()) == ["value"]


def test_a_campaign_of_0_2_goes_on_as_one_with_one_quantity():
    with named() as one:
        one.tell({f"r{n}": truth(n) for n in range(8)})
        one.tell("r3", 0.9, replace=True)
        before = one.events()
        model = one.read_model()
    nameless = [replace(one, body=body_of_0_2(one.body)) for one in before]
    now, then = (apply_events(Ledger("lab"), events) for events in (before, nameless))
    assert now == then
    assert now.quantity("yield").quantity == YIELD
    assert model.n_labels_ == len(now.quantity().labels) == 8


def body_of_0_2(body):
    return {key: part for key, part in body.items() if key not in ("quantity", "quantities")}


def test_labels_of_two_quantities_are_kept_apart():
    events = [
        created(YIELD, PURITY),
        asked(2, "a"),
        label(3, "yield", "a", 41.0),
        label(4, "purity", "a", 0.9),
        told(5, "b", 42.0),  # without a name: the first
        label(6, "purity", "a", 0.8, "corrected"),
        event(7, "withdrawn", "a", note=None, quantity="yield"),
    ]
    whole = after(*events)
    assert whole.quantity("purity").labels["a"][0].y == 0.8
    assert list(whole.quantity("yield").labels) == ["b"]
    assert (whole.n_labels, whole.labelled()) == (2, {"a", "b"})
    assert whole.is_labelled("a")
    assert [len(whole.quantity(name).foretold) for name in ("yield", "purity")] == [0, 1]
    for cut in range(1, len(events)):
        assert apply_events(after(*events[:cut]), events[cut:]) == whole
    with pytest.raises(ValueError, match="several quantities"):
        whole.quantity()


def test_an_event_on_an_unknown_quantity_is_refused_with_words():
    with pytest.raises(WealError, match=r"event 2 is about the quantity 'purty'.* `weal doctor`"):
        after(created(YIELD), label(2, "purty", "a", 0.9))
    assert quantity_of_event(["yield", "purity"], told(2, "a", 1.0)) == "yield"


def test_a_label_of_an_unknown_quantity_writes_nothing():
    with named() as one:
        before = one.read_ledger().seq
        with pytest.raises(ValueError, match="no quantity 'purity'; there is 'yield'"):
            one.tell_entries([LabelInput("purity", "r1", 0.5)])
        assert one.read_ledger().seq == before


def test_a_kind_of_a_later_version_is_refused_with_words():
    body = {**PURITY.to_json(), "kind": "pass/fail"}
    start = replace(created(), body={**created().body, "quantities": [body]})
    with pytest.raises(UnreadableFile, match="install a newer version"):
        after(start)


def test_the_content_of_a_call_is_the_same_as_before_for_the_first_quantity():
    """Its digest is in stores: that of a label of the first quantity never changes."""

    def digest(*changes):
        return with_key([Draft("told", {})], "key", changes)[0].body["call"]["digest"]

    first, other = Change("a", LABEL, 1.5), Change("a", LABEL, 1.5, quantity="purity")
    assert digest(first) == "3e86394b6be04a917f3e6ab2a5cdc7ca"
    assert digest(other) != digest(first)
    assert str(other) == "'a': purity 1.5"


def test_what_is_measured_is_known_without_reading_the_log(monkeypatch):
    """`weal tell` reads one event, however long the log is."""
    with named() as one:
        one.tell("r1", 0.5)
        again = Campaign("lab", one.store, "ann")
        monkeypatch.setattr(type(one.store), "read", None)
        assert list(again.read_quantities()) == ["yield"]
        assert again.tell("r2", 0.25, sure=True) == one.store.head("lab")[0]
