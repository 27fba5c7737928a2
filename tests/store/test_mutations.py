"""Whatever happened to a file: the doctor does not fall over, and does not call it sound.

`benchmarks/store_edges.py fuzz` tries thousands; here are some of each kind.
"""

import shutil
import sqlite3
from contextlib import closing

import pytest

from campaign import mutations
from campaign.telling import make, names, tell
from shell import typed
from weal.errors import DamagedStore
from weal.store.integrity import examine
from weal.store.protocol import open_store
from weal.store.recovery import recover

EACH = 8


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "small.db"
    return path, mutations.small_store(path)


def test_a_small_store_is_fine(small):
    assert {one.level for one in examine(str(small[0]))} == {"fine"}


@pytest.mark.parametrize("kind", mutations.KINDS, ids=lambda kind: kind.__name__)
def test_doctor_and_rescue_survive(small, quick_folder, kind):
    counts = mutations.run(*small, quick_folder, EACH, seed=13, kinds=[kind])
    assert counts["tried"] == EACH
    unseen = (mutations.drop_index, mutations.flip_bit, mutations.flip_letter)
    assert counts["sound"] < EACH or kind in unseen


def changed(small, path, *statements):
    shutil.copy(small[0], path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    return f"sqlite:///{path}"


def said(url):
    return "\n".join(f"{one.level}: {one}" for one in examine(url) if one.level != "fine")


REWIND = "UPDATE weal_campaign SET last = 3, hash = (SELECT hash FROM weal_event WHERE "
REWIND += "campaign = name AND seq = 3)"


def test_events_behind_a_rewound_head_are_found_and_none_is_told_over_them(small, tmp_path):
    url = changed(small, tmp_path / "weal.db", REWIND)
    assert "'alloys' has 29 more events after the event marked as its last event, number 3" in said(
        url
    )
    store = open_store(url)
    for use in (lambda: store.read("alloys"), lambda: tell(store, "id50", 1.0)):
        with pytest.raises(DamagedStore, match="after the event marked as its last event"):
            use()
    store.close()
    assert recover(url, tmp_path / "saved").vouched == len(small[1][0])


def test_events_behind_a_rewound_head_are_found_on_a_server_too(postgres_url):
    store = open_store(postgres_url)
    make(store, names(9))
    [tell(store, f"id{n}", 1.0) for n in range(4)]
    store.engine.write(lambda sql, again: sql.rows(REWIND))
    with pytest.raises(DamagedStore, match="'alloys' has 3 more events after"):
        tell(store, "id8", 1.0)
    assert "'alloys' has 3 more events after" in said(postgres_url)
    store.close()


def test_an_id_that_was_changed_is_found_though_the_count_is_right(small, tmp_path):
    rename = "UPDATE weal_candidate SET id = 'id5x' WHERE id = 'id55'"
    url = changed(small, tmp_path / "weal.db", rename)
    assert "broken: 'alloys': 1 candidates are not in its table of ids: 'id55'" in said(url)


def test_an_answer_that_was_not_asked_for_is_damage(small, tmp_path, monkeypatch):
    """As of an index whose order is broken: what is found is not what was looked for."""
    url = changed(small, tmp_path / "weal.db")
    store = open_store(url)
    sql = type(store.engine.read(lambda sql: sql))
    monkeypatch.setattr(sql, "rows", lambda self, text, values=(): [("another",)])
    with pytest.raises(DamagedStore, match="returns ids that were not requested"):
        store.existing_ids("alloys", ["id1"])
    store.close()


@pytest.mark.parametrize(
    ("statements", "word"),
    [
        (["DROP INDEX weal_event_key"], "warning: the index weal_event_key is missing"),
        (["CREATE TABLE mine (x)"], "warning: there is a table mine that weal did not create"),
        (
            ["ALTER TABLE weal_snapshot RENAME TO h", "CREATE VIEW weal_snapshot AS SELECT 1"],
            "broken: the table weal_snapshot is not as weal made it: it is a view",
        ),
    ],
)
def test_tables_are_compared_with_those_that_weal_makes(small, tmp_path, statements, word):
    assert word in said(changed(small, tmp_path / "weal.db", *statements))


def test_a_damaged_first_page_costs_nothing(small, tmp_path):
    data = bytearray(small[0].read_bytes())
    data[:4096] = bytes(4096)
    (tmp_path / "weal.db").write_bytes(data)
    saved = recover(tmp_path / "weal.db", tmp_path / "saved")
    assert (saved.events, saved.vouched, saved.candidates) == (38, 38, 69)


def test_the_command_says_what_was_saved_and_how_much(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed(small, tmp_path / "weal.db", "DELETE FROM weal_event WHERE seq = 9")
    done = typed("doctor", "--rescue", "saved")
    assert done.code == 1
    line = "saved: 37 events (36 with valid hashes, 1 more are lost), 33 labels"
    assert line in done.out
    assert "Traceback" not in done.out + done.err
