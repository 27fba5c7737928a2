"""Many at once, and servers that die: every label is there once (W10, W14)."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest

import weal
from soak import count
from weal.campaign.idempotency import AskCall
from weal.campaign.suggestions import Suggestion, decide_leases
from weal.store.protocol import open_store
from web.conftest import begin
from web.visiting import Visitor

CLIENTS, LABELS = count((20, 10), long=(50, 20))
KILLS = count(16, long=50)
POINTS = ("before the answer", "after commit", "before commit", "before begin")


def told(url, name="steel"):
    """How often each row was told what."""
    return Counter(
        (event.id, event.body["y"]) for event in open_store(url).read(name) if event.kind == "told"
    )


def test_a_crowd_on_two_servers_loses_and_doubles_nothing(servers, url, tmp_path):
    """W10: some forms are sent twice, as impatient people do, then to the other server."""
    begin(url, tmp_path, rows=CLIENTS * LABELS)
    two = [servers.start(url), servers.start(url)]
    together = threading.Barrier(CLIENTS)

    def client(c):
        visitors = [Visitor(server, who=f"p{c}") for server in (two[c % 2], two[1 - c % 2])]
        forms = [visitor.secret() for visitor in visitors]
        together.wait()
        for n in range(LABELS):
            words = (f"A-{c * LABELS + n}", f"{n / 4}")
            for visitor, form in zip(visitors[: 1 + (n % 5 == 0)], forms, strict=False):
                answer = visitor.tell("steel", *words, form, f"{c}-{n}", sure="true")
                assert answer.status_code == 303
        for visitor in visitors:
            visitor.client.close()

    with ThreadPoolExecutor(CLIENTS) as crowd:
        list(crowd.map(client, range(CLIENTS)))
    expected = {(f"A-{c * LABELS + n}", n / 4): 1 for c in range(CLIENTS) for n in range(LABELS)}
    assert told(url) == expected
    with Visitor(two[0]) as ann, Visitor(two[1]) as bo:
        for visitor in (ann, bo):
            assert f"{CLIENTS * LABELS:,} labels" in visitor.get("/c/steel/standing").text


@pytest.mark.parametrize("again", ["", "true"])
def test_a_label_is_there_once_however_the_server_dies(servers, url, tmp_path, again):
    """W14: killed between keeping and answering; the form is sent again to the next server.

    Each server takes the label of the one that died before it, and dies at the next. A repeated
    measurement (`again`) is where a label could be there twice.
    """
    begin(url, tmp_path, rows=KILLS)
    port, form, visitor = 0, "", None
    kills = KILLS // 2
    for k in range(kills):
        point = POINTS[k % len(POINTS)]
        server = servers.start(url, port=port, dies=[point, 1 if k == 0 else 2])
        port = server["port"]
        if visitor is None:
            visitor = Visitor(server)
            form = visitor.secret()
        if k:
            assert visitor.tell(
                "steel", *_label(k - 1), form, f"k{k - 1}", **_more(again)
            ).is_redirect
        with pytest.raises(httpx.TransportError):
            visitor.tell("steel", *_label(k), form, f"k{k}", **_more(again))
    servers.start(url, port=port)
    assert visitor.tell(
        "steel", *_label(kills - 1), form, f"k{kills - 1}", **_more(again)
    ).is_redirect
    visitor.client.close()
    assert told(url) == {(id_, float(value)): 1 for id_, value in map(_label, range(kills))}


def _label(k):
    return f"A-{k}", f"{k / 2}"


def _more(again):
    return {"sure": "true", **({"again": again} if again else {})}


def test_a_label_that_is_taken_back_twice_is_withdrawn_once(ann, steel):
    form = ann.secret()
    for id_ in ("A-1", "A-2"):
        assert ann.tell("steel", id_, "3", form, f"k{id_}").is_redirect
    fields = ann.form("/c/steel/bench", "/c/steel/undo")
    codes = [ann.post("/c/steel/undo", fields).status_code for _ in range(3)]
    assert codes == [303, 303, 303]
    kinds = [(event.kind, event.id) for event in open_store(steel).read("steel")]
    assert kinds[-3:] == [("told", "A-1"), ("told", "A-2"), ("withdrawn", "A-2")]


def test_a_repeat_is_shown_and_saved_as_one_and_undo_takes_back_it_alone(ann, steel):
    why = {"how": "doubted", "goal": "maximise"}
    body = {"mean": 3.0, "sd": 1.0, "low": 1.0, "high": 5.0, "check": False, "why": why}
    with weal.open_campaign("steel", steel, by="ann") as one:
        one.tell("A-1", 3.0)
        ledger, call = one.read_ledger(), AskCall(1, "ann", check=False)
        offers, lease = [Suggestion("A-1", body)], timedelta(days=1)
        one.transact(lambda tx: decide_leases(tx, ledger, offers, call, lease, None))
        page = ann.get("/c/steel/bench").text
        assert '<span class="tag accent">repeat</span>' in page
        assert "both labels are kept" in page
        form = ann.secret()
        for _ in range(2):  # sent twice
            assert ann.tell("steel", "A-1", "3", form, "k1").is_redirect
        labels = one.read_ledger().quantity().labels
        assert [told.y for told in labels["A-1"]] == [3.0, 3.0]
        fields = ann.form("/c/steel/bench", "/c/steel/undo")
        for _ in range(2):
            assert ann.post("/c/steel/undo", fields).is_redirect
        [told] = one.read_ledger().quantity().labels["A-1"]
        assert told.seq == labels["A-1"][0].seq
