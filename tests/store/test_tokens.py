"""Tokens in a store: made once, hashed, revoked and expired at once on every connection."""

import re
import shutil
import sqlite3
import threading
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from campaign.postgres_server import PASSWORD
from campaign.telling import make, names, tell
from weal.errors import DamagedStore, NotAllowed, WealError
from weal.store import statements
from weal.store.actors import ROLES
from weal.store.integrity import examine
from weal.store.protocol import open_store
from weal.store.recovery import backup, recover
from weal.store.tokens import (
    check_token_name,
    decide_add,
    decide_limit,
    decide_revoke,
    digest_of,
    find_named,
    new_secret,
    read_token,
    token_row,
)
from weal.web.job_context import read_only_store

GOLDEN = Path(__file__).parents[1] / "golden_0_2" / "campaigns.db"
MAY = frozenset(("ask", "tell"))
ODD_NAMES = ["'; DROP TABLE weal_token;--", "<script>", "%s ?", "=1+1", "ä ü", "-x", "🤖", "\\"]


def added(store, name="robot-1", may=MAY, campaigns=None, seconds=None):
    secret = new_secret()
    store.write_tokens(decide_add(name, digest_of(secret), may, campaigns, seconds))
    return secret


def test_a_token_is_found_by_the_digest_of_its_secret_and_by_nothing_else(store):
    secret = added(store, campaigns=frozenset(("alloys", "steels")))
    other = added(store, "ann", ROLES["measure"])
    found = store.find_token(digest_of(secret))
    assert (found.name, found.may, found.campaigns) == ("robot-1", MAY, {"alloys", "steels"})
    assert found.actor.recorded_as("eve") == "robot-1"
    assert store.find_token(digest_of(other)).campaigns is None
    for wrong in ("", secret[:-1], secret.upper(), digest_of(secret), new_secret()):
        assert store.find_token(digest_of(wrong)) is None
    assert [one.name for one in store.tokens()] == ["ann", "robot-1"]


def test_the_store_does_not_hold_the_secret(shared_url, tmp_path):
    store = open_store(shared_url)
    secret = added(store)
    [row] = store.engine.read(lambda sql: sql.rows("SELECT * FROM weal_token"))
    assert secret not in repr(row)
    assert digest_of(secret) not in repr(store.tokens())
    assert len(secret) >= 43 + len("weal_")
    store.close()


def test_a_token_that_is_revoked_is_refused_at_once_by_other_connections(shared_url):
    one, other = open_store(shared_url), open_store(shared_url)
    secret = added(one)
    assert other.find_token(digest_of(secret)) is not None
    one.write_tokens(decide_revoke("robot-1"))
    assert other.find_token(digest_of(secret)) is None
    [kept] = other.tokens()
    assert kept.state(other.now()) == "revoked"
    assert one.write_tokens(decide_revoke("robot-1")) == [kept]  # again: nothing changes
    one.close()
    other.close()


def test_a_token_expires_by_the_clock_of_the_store(store):
    ended, lasting = added(store, seconds=-1.0), added(store, "ann", seconds=3600.0)
    assert store.find_token(digest_of(ended)) is None
    found = store.find_token(digest_of(lasting))
    assert found.expires - found.created == timedelta(hours=1)
    assert found.state(found.expires) == "expired"
    assert found.state(found.expires - timedelta(microseconds=1)) == "valid"


def test_a_name_is_used_again_only_after_its_token_has_ended(store):
    first = added(store)
    for name in ("robot-1", "Robot-1", "ROBOT-1"):
        with pytest.raises(ValueError, match="weal token revoke robot-1"):
            added(store, name)
    store.write_tokens(decide_revoke("robot-1"))
    second = added(store, may=frozenset(("read",)))
    assert store.find_token(digest_of(first)) is None
    assert store.find_token(digest_of(second)).may == {"read"}
    assert len(store.tokens()) == 1


def test_of_many_that_add_the_same_name_at_once_one_succeeds(shared_url):
    stores, answers = [open_store(shared_url) for _ in range(6)], []
    refusals = []
    start = threading.Barrier(len(stores))

    def work(store):
        start.wait()
        try:
            answers.append(added(store))
        except ValueError as error:
            refusals.append(str(error))

    threads = [threading.Thread(target=work, args=(one,)) for one in stores]
    for each in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            each(thread)
    [secret] = answers
    assert len(refusals) == 5
    assert all("robot-1' already" in one for one in refusals)
    assert stores[-1].find_token(digest_of(secret)).name == "robot-1"
    for one in stores:
        one.close()


def test_an_addition_that_is_tried_again_after_a_lost_commit_is_made_once(store):
    digest = digest_of(new_secret())
    decide = decide_add("robot-1", digest, MAY, None)
    assert store.write_tokens(decide) == store.write_tokens(decide)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back_as_they_are(store, name):
    secret = added(store, check_token_name(name))
    assert store.find_token(digest_of(secret)).name == name
    store.write_tokens(decide_revoke(name))
    assert store.find_token(digest_of(secret)) is None


@pytest.mark.parametrize(
    "name", ["", " ann", "ann\n", "a\0b", "ann\u202e1", "ro\u200bbot", "x" * 101, "\ud800", 7, None]
)
def test_names_that_nobody_can_read_are_refused(name):
    with pytest.raises(ValueError, match="name"):
        check_token_name(name)


def test_a_name_is_the_same_in_every_normal_form():
    assert check_token_name("Zoe\u0301") == check_token_name("Zo\u00e9")


def test_an_unknown_name_is_answered_with_the_one_that_was_meant(store):
    added(store)
    with pytest.raises(ValueError, match="did you mean 'robot-1'"):
        store.write_tokens(decide_revoke("robot_1"))
    with pytest.raises(ValueError, match="weal token list"):
        find_named([], "robot-1")


def test_a_store_of_0_2_takes_tokens_and_stays_one_that_0_2_opens(tmp_path):
    """0.2 compares user_version with 1, and reads its own tables by name."""
    path = tmp_path / "weal.db"
    shutil.copyfile(GOLDEN, path)
    store = open_store(f"sqlite:///{path}")
    before = {name: store.read(name) for name in store.campaigns()}
    assert store.tokens() == []
    assert store.find_token(digest_of("x")) is None
    with closing(sqlite3.connect(path)) as connection:
        assert not connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'weal_token'"
        ).fetchall()  # looking makes no table
    secret = added(store)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert {name: store.read(name) for name in store.campaigns()} == before
    assert store.find_token(digest_of(secret)) is not None
    assert {one.level for one in examine(f"sqlite:///{path}")} == {"fine"}
    store.close()


def test_a_copy_knows_the_tokens_and_a_rescue_writes_none(sqlite_url, tmp_path):
    store = open_store(sqlite_url)
    make(store, names(3))
    tell(store, names(3)[0], 1.5)
    secret = added(store)
    store.close()
    found = backup(sqlite_url, tmp_path / "copy.db")
    assert any("tokens: 1, of which valid: 1" in one.what for one in found)
    copy = open_store(f"sqlite:///{tmp_path}/copy.db")
    assert copy.find_token(digest_of(secret)).name == "robot-1"
    copy.close()
    recover(sqlite_url, tmp_path / "saved")
    digest = digest_of(secret).encode()
    assert not any(digest in path.read_bytes() for path in (tmp_path / "saved").iterdir())


def test_a_row_that_was_changed_logs_nobody_in_and_the_doctor_names_it(sqlite_url):
    store = open_store(sqlite_url)
    secret, other = added(store, "reader", ROLES["read"]), added(store, "ann")
    change = "UPDATE weal_token SET body = replace(body, '\"read\"', '\"manage\"')"
    store.engine.write(lambda sql, _: sql.rows(f"{change} WHERE name = 'reader'"))
    with pytest.raises(DamagedStore, match="'reader' does not match"):
        store.find_token(digest_of(secret))
    assert store.find_token(digest_of(other)).name == "ann"
    broken = [one for one in examine(sqlite_url) if one.level == "broken"]
    assert len(broken) == 1
    assert "weal token add" in broken[0].advice
    store.close()


def test_a_token_of_a_newer_weal_may_do_nothing(store):
    added(store)
    name, digest, body, _ = token_row(store.tokens()[0])
    newer = body.replace('"v":1', '"v":9')
    from weal.store.tokens import _checksum

    found = read_token((name, digest, newer, _checksum(name, digest, newer)), "weal.db")
    assert found.may == frozenset()


def test_a_full_disk_adds_no_token_and_half_of_none(small_disk):
    store = open_store(f"sqlite:///{small_disk}/weal.db")
    make(store, names(3))
    kept = added(store)
    with suppress(OSError), (small_disk / "filler").open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    large = frozenset(f"{'c' * 90}{k}" for k in range(40))

    def add_many():
        for n in range(200):
            added(store, f"robot-{n + 2}", campaigns=large)

    with pytest.raises(WealError, match=r"disk is full|disk reports"):
        add_many()
    (small_disk / "filler").unlink()
    names_there = [one.name for one in store.tokens()]
    assert store.find_token(digest_of(kept)) is not None
    assert added(store, "after")
    assert [one.name for one in store.tokens()] == sorted([*names_there, "after"])
    store.close()


def test_a_store_that_may_only_be_read_refuses_in_its_own_words(sqlite_url):
    store = open_store(sqlite_url)
    secret = added(store)
    reading = read_only_store(store)
    assert reading.find_token(digest_of(secret)).name == "robot-1"
    with pytest.raises(NotAllowed, match="read-only"):
        added(reading, "eve")
    store.close()


def test_who_has_no_rights_on_the_table_of_a_server_is_told_the_grant(server, postgres_url):
    import psycopg

    owner = open_store(postgres_url)
    make(owner, names(3))
    schema = re.search(r"(place\d+)$", postgres_url)[1]
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE bo_{schema} LOGIN PASSWORD 's3cret'")
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO bo_{schema}")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO bo_{schema}")
    theirs = postgres_url.replace(f"weal:{PASSWORD}", f"bo_{schema}:s3cret")
    bo = open_store(theirs)
    assert bo.tokens() == []
    with pytest.raises(NotAllowed, match="make the first token, and then run GRANT SELECT, INSERT"):
        added(bo, "bo")
    secret = added(owner)
    for look in (bo.tokens, lambda: bo.find_token(digest_of(secret)), lambda: added(bo, "bo")):
        with pytest.raises(NotAllowed, match="run GRANT SELECT ON weal_token TO your user"):
            look()
    found = [one for one in examine(theirs) if "weal_token" in str(one)]
    assert [one.level for one in found] == ["warning"]
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"GRANT SELECT ON {schema}.weal_token TO bo_{schema}")
    assert bo.find_token(digest_of(secret)).name == "robot-1"
    with pytest.raises(NotAllowed, match="run GRANT SELECT, INSERT, UPDATE, DELETE ON weal_token"):
        added(bo, "bo")
    assert bo.campaigns() == owner.campaigns()  # the connection is still of use
    owner.close()
    bo.close()


def test_the_tables_of_both_databases_have_the_same_columns():
    words = [re.findall(r"(\w+) text", text, re.IGNORECASE) for text in
             (statements.SQLITE_TOKENS, statements.POSTGRES_TOKENS)]  # fmt: skip
    assert words[0] == words[1] == list(statements.TOKEN_FIELDS)


def test_a_limit_takes_away_and_gives_nothing(store):
    secret = new_secret()
    may = frozenset(("read", "ask", "tell"))
    store.write_tokens(decide_add("robot", digest_of(secret), may, None, 3600.0))
    only = frozenset(("alloys",))
    store.write_tokens(decide_limit("robot", frozenset(("read", "ask")), only, 60.0))
    [kept] = store.tokens()
    assert (kept.may, kept.campaigns) == ({"read", "ask"}, only)
    assert kept.digest == digest_of(secret)
    assert (kept.expires - store.now()).total_seconds() <= 60.0
    for more in (
        {"may": frozenset(("tell",))}, {"campaigns": frozenset(("alloys", "steels"))},
        {"seconds": 7200.0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="cannot extend a token"):
            store.write_tokens(decide_limit("robot", **more))
    assert store.tokens() == [kept]
    store.write_tokens(decide_revoke("robot"))
    with pytest.raises(ValueError, match="is revoked"):
        store.write_tokens(decide_limit("robot", frozenset(("read",))))
