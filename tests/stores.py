"""Stores to run tests on; PostgreSQL is a real server, one for each worker of pytest.

A new kind of store joins the conformance suite (`seams/test_store.py`) by its name in `url`.
"""

import itertools
import os
import tempfile
from pathlib import Path

import pytest

from campaign import postgres_server
from weal.store import sqlite_file
from weal.store.protocol import open_store

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server():
    """A running PostgreSQL."""
    if postgres_server.programs() is None:
        if os.environ.get("WEAL_POSTGRES") == "required":
            pytest.fail("no PostgreSQL here: install the Debian package postgresql")
        pytest.skip("no PostgreSQL here: install the Debian package postgresql")
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def postgres_url(server):
    """The address of a place on the server where no other test is."""
    import psycopg

    place = f"place{next(_numbers)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {place}")
    return f"{server.url}?options=-csearch_path%3D{place}"


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/weal.db"


@pytest.fixture
def quick_folder(tmp_path):
    """A folder in memory, where there is room: for tests that write much and lose no power."""
    with tempfile.TemporaryDirectory(dir=postgres_server.in_memory() or tmp_path) as name:
        yield Path(name)


@pytest.fixture
def quick_sqlite_url(quick_folder):
    return f"sqlite:///{quick_folder}/weal.db"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request):
    """The address of an empty store of each kind."""
    return (
        "memory:" if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")
    )


@pytest.fixture(params=["quick_sqlite", "postgres"])
def shared_url(request):
    """The address of an empty store that processes can share."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def store(url):
    store = open_store(url)
    yield store
    store.close()


@pytest.fixture(params=[(3, 0, 0), (99,)], ids=["log", "rollback"])
def journal(request, constants):
    """Both journals of SQLite, whatever its version."""
    constants(sqlite_file, SAFE_LOG=request.param)
