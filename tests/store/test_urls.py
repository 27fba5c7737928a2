"""What a store is called: one reader of names, and no password in anything that is shown."""

import logging
import traceback

import pytest

import weal
from shell import typed
from weal.errors import WealError
from weal.store.integrity import examine
from weal.store.protocol import open_store
from weal.store.recovery import recover
from weal.store.urls import mask, read_name

SECRET = "s3cr3t"
HERE = "127.0.0.1:1/lab"
BAD = [  # {} is the password
    "POSTGRESQL://ann:{}@127.0.0.1:1/lab",
    "PostgreSQL://ann:{}@127.0.0.1:1/lab.db",
    "postgresql://ann:{}@127.0.0.1:1/lab.db",
    "postgres://ann:{}@127.0.0.1:1/lab.sqlite",
    "postgresql+psycopg://ann:{}@127.0.0.1:1/lab",
    "postgresql+psycopg2://ann:{}@127.0.0.1:1/lab.db",
    "postgresql+asyncpg://ann:{}@127.0.0.1:1/lab.db",
    "mysql://ann:{}@127.0.0.1:1/lab",
    "mysql://ann:{}@127.0.0.1:1/lab.db",
    "mssql+pyodbc://ann:{}@127.0.0.1:1/lab.db",
    "jdbc:postgresql://127.0.0.1:1/lab?user=ann&password={}",
    "postgresql:/ann:{}@127.0.0.1/lab",
    "postgresql:/ann:{}@127.0.0.1/lab.db",
    "postgresql:ann:{}@127.0.0.1/lab",
    "postgresql:ann:{}@127.0.0.1/lab.db",
    "postgresql//ann:{}@127.0.0.1/lab",
    "postgresql//ann:{}@127.0.0.1/lab.db",
    "postgresql:///ann:{}@127.0.0.1/lab",
    "postgresql:////ann:{}@127.0.0.1/lab.db",
    "postgresql;//ann:{}@127.0.0.1/lab.db",
    "postgresq://ann:{}@127.0.0.1/lab.db",
    "postgresql://ann:{}%40127.0.0.1/lab",
    "postgresql://ann:{}/x@127.0.0.1/lab",
    "postgresql://ann:x@{}@127.0.0.1/lab",
    "postgresql://ann:#{}@127.0.0.1/lab.db",
    "postgresql://ann:?{}@127.0.0.1/lab",
    "postgresql://ann {}@127.0.0.1/lab",
    "postgresql://ann:{} @127.0.0.1/lab",
    "postgresql://ann:%zz{}@127.0.0.1:1/lab",
    "postgresql://:{}@127.0.0.1:1/lab",
    "postgresql://ann%3A{}@127.0.0.1:1/lab",
    "postgresql://127.0.0.1:1/lab?user=ann&password={}",
    "postgresql://127.0.0.1:1/lab?PASSWORD={}",
    "postgresql://127.0.0.1:1/lab?pasword={}",
    "postgresql://127.0.0.1:1/lab?sslpassword={}&nonsense=1",
    "postgresql://127.0.0.1:1/lab?{}",
    "postgresql://127.0.0.1:1/lab password={}",
    "postgresql://127.0.0.1:1/ann:{}@lab",
    "postgresql://ann@127.0.0.1:{}/lab.db",
    " postgresql://ann:{}@127.0.0.1/lab.db",
    "'postgresql://ann:{}@127.0.0.1/lab.db'",
    "--postgresql://ann:{}@127.0.0.1/lab.db",
    "host=127.0.0.1 port=1 user=ann password={}",
    "host=127.0.0.1 password='a {}'",
    "host=127.0.0.1 password = {} dbname=lab.db",
    "password={}",
    "password={}.db",
    "ann:{}@127.0.0.1/lab",
    "ann:{}@127.0.0.1/lab.db",
    "//ann:{}@127.0.0.1/lab.db",
    "sqlite://ann:{}@127.0.0.1/lab",
    "sqlite:///ann:{}@127.0.0.1/lab.db",
    "SQLITE:ann:{}@lab.db",
    "sqlite:////no/such/folder?password={}.db",
    "file:lab.db?password={}",
    "http://ann:{}@127.0.0.1/lab.db",
]


@pytest.fixture
def url(request, caplog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_WHO", "mk")
    monkeypatch.delenv("WEAL_STORE", raising=False)
    caplog.set_level(logging.DEBUG)
    yield request.param.format(SECRET)
    assert SECRET not in caplog.text
    assert not list(tmp_path.iterdir())


def test_there_are_forty_bad_names_and_more():
    assert len(set(BAD)) >= 40


@pytest.mark.parametrize("url", BAD, indirect=True)
def test_no_command_shows_a_password_or_calls_such_a_store_fine(url, monkeypatch):
    words = [
        ["list"],
        ["doctor"],
        ["doctor", "--json"],
        ["tell", "alloys", "A-1", "2.5"],
        ["new", "alloys", "--pool", "no.csv"],
        ["export", "alloys", "--to", "-"],
    ]
    done = [typed(*some, "--store", url) for some in words]
    done += [typed(*some, f"--store={url}") for some in words[:2]]
    monkeypatch.setenv("WEAL_STORE", url)
    done += [typed("list"), typed("status", "alloys"), typed("doctor", "--rescue", "saved")]
    for one in done:
        assert one.code in (1, 2)
        assert SECRET not in one.out + one.err
        assert "mistake" not in one.err


@pytest.mark.parametrize("url", BAD, indirect=True)
def test_no_error_of_python_shows_a_password(url):
    for call in (
        lambda: weal.open_campaign("alloys", url),
        lambda: open_store(url),
        lambda: recover(url, "saved"),
    ):
        with pytest.raises((WealError, ValueError)) as caught:
            call()
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert SECRET not in repr(caught.value)


@pytest.mark.parametrize("url", BAD, indirect=True)
def test_no_finding_and_no_repr_shows_a_password(url):
    try:
        said = repr(read_name(url)) + repr(examine(url))
    except ValueError as error:
        said = str(error)
    assert SECRET not in said + mask(url)
    assert "level='fine'" not in said


@pytest.mark.parametrize("url", BAD, indirect=True)
def test_a_password_at_the_wrong_place_is_not_shown(url):
    for words in ("", "tell", "new x --pool", "tell x A-1", "ask x -n"):
        done = typed(*words.split(), url)
        assert done.code in (1, 2)
        assert SECRET not in done.out + done.err


def test_help_and_advice_are_not_masked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = typed("list", "--store", f"mysql://ann:{SECRET}@h/d")
    assert "postgresql://user:password@host/database" in done.err
    assert "mysql:..." in done.err


@pytest.mark.parametrize(
    ("given", "kind", "shown"),
    [
        ("MEMORY:", "memory", "memory:"),
        ("weal.DB", "sqlite", "weal.DB"),
        ("SQLite:///weal.db", "sqlite", "SQLite:///weal.db"),
        ("sqlite:///any name", "sqlite", "sqlite:///any name"),
        (r"C:\data\weal.db", "sqlite", r"C:\data\weal.db"),
        ("ann@lab.db", "sqlite", "ann@lab.db"),
        ("Postgres://ann:x%40y@h:5432/d", "postgres", "postgres://ann:***@h:5432/d"),
        ("postgresql://[::1]:5432/d", "postgres", "postgresql://[::1]:5432/d"),
        ("postgresql://a,b:5433/d?sslmode=require", "postgres", None),
        ("postgresql://%2Frun%2Fpostgresql/d", "postgres", None),
        ("postgresql:///?service=lab", "postgres", None),
        ("postgresql://h/d?password=x", "postgres", "postgresql://h/d?password=***"),
    ],
)
def test_names_are_read_scheme_first_in_any_case(given, kind, shown):
    found = read_name(given)
    assert (found.kind, found.shown) == (kind, shown or given)


def test_a_path_is_a_name_too(tmp_path):
    assert read_name(tmp_path / "weal.db").address == str(tmp_path / "weal.db")
    with pytest.raises(WealError, match="no campaign 'x'"):
        weal.open_campaign("x", tmp_path / "weal.db")


def test_a_store_that_is_not_there_is_not_fine(tmp_path, monkeypatch, postgres_url):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEAL_STORE", raising=False)
    assert typed("doctor").code == 0  # nobody has named a store, and what is installed is shown
    for url in ("weal.db", "sqlite:///typo.db", postgres_url):
        done = typed("doctor", "--store", url)
        assert done.code == 1
        assert "there is no store" in done.out
        assert "check its name" in done.out
