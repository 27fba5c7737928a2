"""The name of a Dask scheduler as users write it, checked before any work begins.

    local, local:4            a cluster on this machine, of as many processes
    tcp://host:8786           the address of a scheduler; also tls, ws, wss, ucx and inproc
    host:8786                 the same, by TCP

Standard library only: commands check what was typed before they import anything large.
"""

import re
import socket
from typing import Any

_LOCAL = re.compile(r"local(?::0*[1-9][0-9]*)?")
_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ucx|ws|wss)://)?(?P<host>\[[^\s\[\]/]+\]|[^\s\[\]/:@]+):(?P<port>[0-9]{1,5})/?"
)
_INPROC = re.compile(r"inproc://\S+")
MAX_PORT = 65_535


def check_scheduler(scheduler: Any) -> None:
    """ValueError for text that names no scheduler; clients, and None, are left alone.

    >>> check_scheduler("local:4"), check_scheduler("tcp://host:8786")
    (None, None)
    >>> check_scheduler("nonsense")
    Traceback (most recent call last):
    ValueError: scheduler is 'nonsense'; write local, local:4 for four processes, or the address of
    a Dask scheduler with its port, such as tcp://host:8786
    """
    if not isinstance(scheduler, str | int | float):
        return
    if not _LOCAL.fullmatch(str(scheduler)) and not _is_address(str(scheduler)):
        raise ValueError(
            f"scheduler is {scheduler!r}; write local, local:4 for four processes, or the address "
            "of a Dask scheduler with its port, such as tcp://host:8786"
        )


def check_address(scheduler: str | None) -> None:
    """ValueError for text that is no address of a scheduler."""
    if scheduler is not None and not _is_address(scheduler):
        raise ValueError(
            f"scheduler is {scheduler!r}; write the address of a Dask scheduler with its port, "
            "such as tcp://host:8786"
        )


def _is_address(text: str) -> bool:
    if _INPROC.fullmatch(text):
        return True
    found = _ADDRESS.fullmatch(text)
    if found is None or found["host"] == "local":
        return False
    return 0 < int(found["port"]) <= MAX_PORT


def check_host(address: str) -> None:
    """OSError where the host of an address has no such name; Dask would try for many seconds."""
    if (found := _ADDRESS.fullmatch(address)) and not _LOCAL.fullmatch(address):
        socket.getaddrinfo(found["host"].strip("[]"), int(found["port"]), type=socket.SOCK_STREAM)
