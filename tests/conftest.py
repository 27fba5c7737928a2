"""The same draws in every run, unless one asks for others; the seed of the order beside failures.

Hypothesis draws the same examples each time: a run that fails does so again. Others are drawn with
--hypothesis-profile=random. Neither profile looks at the clock, which a busy machine bends.
"""

import signal
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings

import soak
from campaign.fixtures import (  # noqa: F401, fixtures
    alloys,
    bare,
    in_a_folder,
    small_disk,
    steel,
)
from constants import changed_constants, set_constants
from stores import (  # noqa: F401, fixtures
    journal,
    postgres_url,
    quick_folder,
    quick_sqlite_url,
    server,
    shared_url,
    sqlite_url,
    store,
    url,
)
from weal import logs

# Code that mypy reads and nothing runs (`test_user_types`).
collect_ignore = ["user_code.py"]

CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("same", derandomize=True, database=None, **CALM)
settings.register_profile("random", derandomize=False, **CALM)
settings.load_profile("same")

# Who runs the tests in the background may have made them deaf to Ctrl-C, and so would children be.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="soaks with their large counts (`soak`)")


def pytest_configure(config):
    set_constants(soak, LONG=config.getoption("--long"))


def pytest_collection_modifyitems(config, items):
    """Leave out what runs only with --long."""
    if not soak.LONG:
        long = soak.left_out(items)
        config.hook.pytest_deselected(items=list(long))
        items[:] = [item for item in items if item not in long]


@pytest.fixture
def constants():
    """Change constants of a module until the end of the test: constants(module, NAME=value)."""
    with ExitStack() as stack:
        yield lambda module, **values: stack.enter_context(changed_constants(module, **values))


@pytest.fixture(autouse=True)
def own_secrets():
    """Texts that a test masks in records of the log are not masked in those of other tests."""
    before = set(logs._hidden)
    yield
    logs._hidden.intersection_update(before)


def pytest_terminal_summary(terminalreporter, config):
    """Say how the order comes again, also under -q, which hides the header."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and (terminalreporter.stats.keys() & {"failed", "error"}):
        terminalreporter.write_line(f"the same order again: --randomly-seed={seed}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """A command that ran in this process is at its end deaf to Ctrl-C, and so would children be."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return (yield)
    finally:
        signal.signal(signal.SIGINT, before)
