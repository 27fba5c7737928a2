"""Servers made quickly: a process that has imported everything forks one for each line it reads.

    {"url": ..., "port": 0, "state": folder, "worker": "here", "dies": ["before the answer", 2]}

and answers with the address and the process id of a real server, on a real port. `dies` makes the
server kill itself (SIGKILL) when that point of the store is passed for the n-th time. `worker` is
true for a process of its own, "here" for one in the server's, which starts at once; without it
nothing is ever found. `set` changes constants (`constants_json`), `files` is how many files the
server may open, `breaks` makes every page of a campaign fail. Servers end when this process is told
to, or ends.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from constants import set_constants
from weal.errors import WealError
from weal.store import sqlite_file
from weal.store.protocol import open_store
from weal.web import access, jobs, request, server  # noqa: F401
from weal.web.job_runners import InProcessRunner
from weal.web.server import Address, Server


class Idle:
    """A worker that finds nothing, for tests without a model."""

    def __init__(self, *_):
        self.ended = threading.Event()

    def __call__(self, kind, given, progress):
        self.ended = threading.Event()
        self.ended.wait()
        raise WealError("stopped")

    def stop(self):
        self.ended.set()

    def close(self):
        pass


def here(url, folder, read_only):
    """A worker in the server's own process, which has imported all that it needs."""
    return InProcessRunner(open_store(url), folder)


def broken(*_):
    raise RuntimeError("a detail that nobody is to see")


def change(given):
    """Make the server another than it is."""
    for module, values in given.get("set", {}).items():
        set_constants(import_module(module), **values)
    if given.get("files"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (given["files"], given["files"]))
    if given.get("breaks"):
        request.LedgerCache.ledger = broken
    if given.get("dies"):
        deadly(*given["dies"])


def deadly(point, times):
    """Die when this point is passed for the n-th time."""
    left = [times]

    def trace(here):
        left[0] -= here == point
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sqlite_file.trace = trace


def serve(given, out):
    """Be a server."""
    os.environ["XDG_STATE_HOME"] = given["state"]
    os.environ.pop("WEAL_STORE", None)
    worker = given.get("worker")
    if worker == "here":
        server.ChildProcessRunner = here
    elif not worker:
        server.ChildProcessRunner = Idle
        set_constants(request, JOB_WAIT_SECONDS=0.0)
    change(given)
    tls = {name: given.get(name) for name in ("certfile", "keyfile")}
    address = Address(
        port=given.get("port", 0),
        allowed=tuple(given.get("allowed", ())),
        root_path=given.get("root_path", ""),
        proxies=tuple(given.get("proxies", ())),
        rate=given.get("rate", 0.0),  # crowds of tests are faster than people
        named_only=given.get("named_only", False),
        **tls,
    )
    for left in reversed(range(100)):  # the port of a server that was just killed
        try:
            kind = {name: given.get(name, False) for name in ("read_only", "new_token")}
            made = Server(given["url"], address, **kind)
            break
        except ValueError:
            if not left:
                raise
            time.sleep(0.05)
    said = {"url": made.url, "port": made.address.port, "pid": os.getpid()}
    said["once"] = made.one_time_url()
    os.write(out, json.dumps(said).encode() + b"\n")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    made.run()


def _end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            sys.stdin.close()
            try:
                serve(json.loads(line), 1)
            except BaseException as error:
                os.write(1, json.dumps({"error": repr(error)}).encode() + b"\n")
                raise
            finally:
                os._exit(0)


if __name__ == "__main__":
    main()
