"""Campaigns whose process dies: a program of its own, as dying.py is, which loads the numerics too.

python dying_campaigns.py WHAT ARGUMENTS...      prints one line of JSON
"""

import json
import os
import random
import signal
import sys
from pydoc import locate

from campaign.lab import N, campaign, number, truth
from campaign.several import several
from interrupting import Interrupt
from weal.campaign.campaign import open_campaign
from weal.campaign.export import export


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def killed_tellers(url, count):
    """Kill tellers of a campaign at some call of ours; what was acknowledged is there, in order."""
    rng, there = random.Random(5), []
    opening, telling = _calls(url.replace("weal.db", "rehearsal.db"))
    for turn in range(int(count)):
        since, calls = ("open_campaign", opening) if turn % 4 == 0 else ("tell", 2 * telling)
        heard = _killed_teller(url, Interrupt(rng.randrange(1, calls), since, die))
        with open_campaign("lab", url) as one:
            now = list(one.read_ledger().quantity().labels)
        assert now[: len(there) + len(heard)] == there + heard, "an acknowledged label is lost"
        assert len(now) - len(there) - len(heard) in (0, 1), "more than one was not acknowledged"
        there = now
    return there


def _calls(url):
    """Calls of ours to open a campaign, and to tell a label, all that is needed being imported."""
    campaign(url).close()
    for n in range(2):
        opening, telling = Interrupt(-1, "open_campaign"), Interrupt(-1, "tell")
        opening.during(lambda: open_campaign("lab", url).close())
        with open_campaign("lab", url) as one:
            telling.during(lambda: one.tell(f"r{n}", truth(n)))  # noqa: B023
    return opening.calls, telling.calls


def _killed_teller(url, hook):
    """Ids that a teller of all that is missing has acknowledged before the hook killed it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        hook.during(
            lambda: tell_the_rest(url, lambda name: os.write(writing, f"{name}\n".encode()))
        )
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as acknowledgements:
        heard = acknowledgements.read().split()
    os.waitpid(child, 0)
    return heard


def tell_the_rest(url, said=lambda name: None):
    """Tell what is missing, in order, and say so after each."""
    with open_campaign("lab", url) as one:
        for name in map("r{}".format, range(N)):
            if name not in one.read_ledger().quantity().labels:
                one.tell(name, truth(number(name)))
                said(name)


WHOLE = {"yield": 50.0, "purity": 90.0, "crystallised": "ja", "phase": "bcc", "grade": "low"}


def killed_tellers_of_several(url, count):
    """Kill tellers of five labels at a time; the rows of which some were acknowledged have all."""
    rng, there = random.Random(6), []
    calls = Interrupt(-1, "tell")
    with several(url.replace("weal.db", "rehearsal.db")) as one:
        one.tell("r0", WHOLE)
        calls.during(lambda: one.tell("r1", WHOLE))
    for _ in range(int(count)):
        heard = _killed_child(Interrupt(rng.randrange(1, 2 * calls.calls), "tell", die), url)
        with open_campaign("lab", url) as one:
            ledger = one.read_ledger()
        rows = [set(own.labels) for own in ledger.quantities.values()]
        assert all(some == rows[0] for some in rows), "a row has some of its labels"
        now = list(ledger.quantity("yield").labels)
        assert now[: len(there) + len(heard)] == there + heard, "an acknowledged label is lost"
        there = now
    return there


def _killed_child(hook, url):
    """Rows that a teller of five labels has acknowledged before the hook killed it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        hook.during(lambda: _tell_several(url, writing))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as acknowledgements:
        heard = acknowledgements.read().split()
    os.waitpid(child, 0)
    return heard


def _tell_several(url, writing):
    with open_campaign("lab", url) as one:
        for name in map("r{}".format, range(N)):
            if not one.read_ledger().is_labelled(name):
                one.tell(name, WHOLE)
                os.write(writing, f"{name}\n".encode())


def in_a_campaign(url, where, deed, *arguments):
    """Die where this function is called for the first time, while doing the deed."""
    owner, name = where.rsplit(".", 1)
    with open_campaign("lab", url) as one:
        setattr(locate(owner), name, die)
        deeds = {
            "ask": one.ask,
            "ask_monday": lambda: one.ask(3, key="monday"),
            "export": lambda file: export(one, "labels", file, force=True),
        }
        deeds[deed](*arguments)
    return "survived"


def holding(url, n, lease):
    """Ask for rows for so many seconds, say which they are, and die with them."""
    with open_campaign("lab", url, by="holder") as one:
        print(json.dumps(one.ask(int(n), lease=float(lease))), flush=True)
        die()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    print(json.dumps(globals()[what](*arguments)))
