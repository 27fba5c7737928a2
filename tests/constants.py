"""Module constants changed for a test, such as a limit lowered so that tens of rows are many.

    def test_...(constants):                                                  until its end
        constants(expert_kind, MAX_LABELS_ALWAYS_EXACT=40)

    with changed_constants(dask_executor, CONNECT_TIMEOUT_SECONDS=300): ... for a while
    set_constants(postgres, RECONNECT_SECONDS=600.0)                          for good
    servers.start(url, set=constants_json(connections, HEADER_SECONDS=0.5))   in another process

A constant that the module does not have is an error: a renamed limit would be lowered in vain.
"""

import re
from contextlib import contextmanager

CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")


def check_constants(module, names):
    """Refuse names that are no constants of the module."""
    for name in names:
        if not (CONSTANT.fullmatch(name) and hasattr(module, name)):
            raise AttributeError(f"{module.__name__} has no constant {name}")


def set_constants(module, **values):
    """Change constants for good."""
    check_constants(module, values)
    for name, value in values.items():
        setattr(module, name, value)


@contextmanager
def changed_constants(module, **values):
    """Change constants for a while."""
    check_constants(module, values)
    before = {name: getattr(module, name) for name in values}
    set_constants(module, **values)
    try:
        yield
    finally:
        set_constants(module, **before)


def constants_json(module, **values):
    """Constants of a module for another process, as JSON can hold them."""
    check_constants(module, values)
    return {module.__name__: values}
