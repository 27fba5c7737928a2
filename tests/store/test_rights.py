"""Who may do what on a server: the roles of docs/guide/trust.md, as they stand there."""

import re
from pathlib import Path

import pytest

from campaign.lab import campaign, truth
from campaign.postgres_server import PASSWORD
from shell import typed
from weal.campaign.campaign import open_campaign
from weal.errors import NotAllowed
from weal.store.protocol import open_store

DOCS = Path(__file__).parents[2] / "docs" / "guide" / "trust.md"
ROLES = re.search(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)[1]


@pytest.fixture
def roles(server, postgres_url):
    """A campaign of the owner's; the addresses of one of the team and of a reader."""
    import psycopg

    with campaign(postgres_url, rows=12) as one:
        for n in range(6):
            one.tell(f"r{n}", truth(n))
    schema = re.search(r"(place\d+)$", postgres_url)[1]
    with psycopg.connect(server.url, autocommit=True) as admin:
        text = ROLES.replace("lab", schema)
        for role in ("team", "reader"):
            text = text.replace(f"weal_{role}", f"{role}_{schema}")
        admin.execute(text)
        for role in ("team", "reader"):
            admin.execute(f"CREATE ROLE one_{role}_{schema} LOGIN PASSWORD 's3cret'")
            admin.execute(f"GRANT {role}_{schema} TO one_{role}_{schema}")
    login = f"weal:{PASSWORD}"
    return [
        postgres_url.replace(login, f"one_{role}_{schema}:s3cret") for role in ("team", "reader")
    ]


def test_the_team_may_ask_and_tell_and_cannot_change_what_happened(roles):
    team, _ = roles
    with open_campaign("lab", team) as one:
        [name] = one.ask(1)
        one.tell(name, 0.5)
        one.tell(name, 0.75, replace=True)
        one.skip("r9" if name != "r9" else "r8")
        one.withdraw(name)
        one.fail("r10", note="stirrer")  # the first event that weal 0.2 would misread
        one.change(lease="3d")
        assert one.status().labels == 6
    store = open_store(team)
    for forbidden in (
        "DELETE FROM weal_event",
        "UPDATE weal_event SET who = 'eve'",
        "DELETE FROM weal_campaign",
        "UPDATE weal_campaign SET name = 'x'",
        "UPDATE weal_chunk SET data = ''",
        "DROP TABLE weal_snapshot",
        "TRUNCATE weal_event",
    ):
        with pytest.raises(NotAllowed, match="your user may not do that"):
            store.engine.write(lambda sql, again, text=forbidden: sql.rows(text))
    store.close()
    assert typed("doctor", "--store", team).code == 0
    with pytest.raises(NotAllowed):
        campaign(team, name="another")


def test_a_reader_may_look_and_nothing_else(roles, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_WHO", "eve")
    _, reader = roles
    store = open_store(reader)
    before = store.head("lab")
    for words in ("list", "status lab", "export lab --to labels.csv", "doctor", "settings lab"):
        done = typed(*words.split(), "--store", reader)
        assert done.code == 0, done.err
    for words in ("tell lab r9 1", "ask lab", "skip lab r9", "settings lab --lease 3d"):
        done = typed(*words.split(), "--store", reader)
        assert done.code == 1
        assert "your user may not do that" in done.complaint
        assert "s3cret" not in done.err
    assert store.head("lab") == before
    store.close()


def test_without_the_right_to_raise_the_version_a_failure_is_refused_with_the_way_out(
    roles, server, postgres_url
):
    import psycopg

    schema = re.search(r"(place\d+)$", postgres_url)[1]
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"REVOKE UPDATE ON {schema}.weal_schema FROM team_{schema}")
    with open_campaign("lab", roles[0]) as one:
        before = one.read_ledger().seq
        with pytest.raises(NotAllowed, match="GRANT UPDATE ON weal_schema"):
            one.fail("r10")
        assert one.read_ledger().seq == before
        one.tell("r10", 0.5)  # what weal 0.2 can read is saved as before
        assert one.read_ledger().n_labels == 7
    with open_campaign("lab", postgres_url) as owner:
        owner.fail("r11")
    with open_campaign("lab", roles[0]) as one:
        one.fail("r9")
