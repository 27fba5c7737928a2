"""Oracles at the top of a module, which can be sent to a process: slow, broken, ending."""

import os
import subprocess
import sys
import time
from pathlib import Path


class Odd(Exception):
    """An error that cannot be pickled and come back."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def plain(row):
    return float(row[0] ** 2 + row[1])


def process_id(row):
    return float(os.getpid())


def sleeps(row):
    if row[0] > 0.7:
        time.sleep(600)
    return plain(row)


def crashes(row):
    if row[0] > 0.7:
        os._exit(7)
    return plain(row)


def raises(row):
    if row[0] > 0.7:
        raise Odd(1, 2)
    return plain(row)


def exits(row):
    if row[0] > 0.7:
        sys.exit("diverged")
    return plain(row)


def not_a_number(row):
    return float("nan") if row[0] > 0.7 else plain(row)


def returns_a_lambda(row):
    return lambda: row


def begins_a_solver(row):
    """A solver of its own process, whose id is left in a file."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(os.environ["SOLVER_PID"]).write_text(str(child.pid))
    child.wait()
    return 0.0
