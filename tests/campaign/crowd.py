"""Many processes at one store: run as a program of its own, as dying.py is, and for its reasons.

python crowd.py WHAT ARGUMENTS...      prints one line of JSON
"""

import json
import sys
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import wait

from campaign import dying
from constants import changed_constants, set_constants

FORK = get_context("fork")
COUNT = 8


def together(what, *arguments):
    """Start this program; what each process answered."""
    [answers] = dying.run(what, *arguments, program=__file__)
    failed = [answer["error"] for answer in answers if isinstance(answer, dict)]
    assert not failed
    return answers


def crowd(work, count=COUNT):
    """The answers of processes that do the work at the same time; work(k, barrier).

    One that fails, or dies, lets the others go: nobody waits for it, at the barrier or here.
    """
    barrier = FORK.Barrier(count)
    ends, processes = [], []
    for k in range(count):
        ours, theirs = FORK.Pipe(duplex=False)
        processes.append(FORK.Process(target=_one, args=(work, k, barrier, theirs)))
        processes[-1].start()
        theirs.close()  # ours or a later child's would keep it open when its owner is gone
        ends.append(ours)
    answers = dict.fromkeys(ends)
    while left := [end for end, answer in answers.items() if answer is None]:
        for end in wait(left):
            answers[end] = _answer(end, barrier)
    [process.join() for process in processes]
    return list(answers.values())


def import_numerics():
    """Import what asks and new campaigns need, once for all processes."""
    import narwhals  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import scipy.optimize  # noqa: F401
    import threadpoolctl  # noqa: F401

    import weal.campaign.creation
    import weal.campaign.suggestions
    import weal.model.expert_selection  # noqa: F401


def _one(work, k, barrier, answer):
    try:
        answer.send(work(k, barrier))
    except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
        barrier.abort()
        answer.send({"error": f"{type(error).__name__}: {error}"})


def _answer(end, barrier):
    try:
        return end.recv()
    except EOFError:
        barrier.abort()
        return {"error": "EOFError: it died without an answer"}


def open_or_create(url, rounds):
    """All create the same new campaign in each round, in a new file each where it is SQLite."""

    def work(k, barrier):
        made = []
        for r in range(int(rounds)):
            place = url.replace("weal.db", f"weal{r}.db")
            barrier.wait()
            store = open_store(place)
            made.append(make(store, names(20), f"round {r}"))
            tell(store, f"id{k}", float(k), f"round {r}")
            store.close()
        return made

    return crowd(work)


def upgrading(url, rounds):
    """All open the same file of an older schema in each round."""

    def work(k, barrier):
        for r in range(int(rounds)):
            place = url.replace("weal.db", f"weal{r}.db")
            if k == 0:
                store = open_store(place)
                make(store, names(20))
                store.close()
            barrier.wait()
            steps = (*statements.SQLITE, ("CREATE TABLE weal_more (a)",))
            with changed_constants(statements, SQLITE=steps):
                tell(open_store(place), f"id{k}", float(k))
        return "fine"

    return crowd(work)


def writers_and_readers(url, each, readers):
    """8 writers of labels of their own; readers that poll and count what they see."""
    store = open_store(url)
    make(store, names(COUNT * int(each)))
    store.close()

    def work(k, barrier):
        store = open_store(url)
        barrier.wait()
        if k < COUNT:
            return [tell(store, f"id{COUNT * i + k}", float(k)) for i in range(int(each))]
        seen = 0
        while seen < 2 + COUNT * int(each):
            new = store.read(NAME, since=seen)
            seen += len(new)
            time.sleep(0.05)
        return []

    return crowd(work, COUNT + int(readers))


def same_id(url, rounds):
    """All tell another value for the same id in each round; what each was answered."""
    store = open_store(url)
    make(store, names(int(rounds)))
    store.close()

    def work(k, barrier):
        store = open_store(url)
        answers = []
        for r in range(int(rounds)):
            barrier.wait()
            try:
                answers.append(tell(store, f"id{r}", float(k)))
            except AlreadyLabelled:
                answers.append(0)
        return answers

    return crowd(work)


def own_quantities(url, rounds):
    """Each tells its own quantity of the same row in each round; the numbers of the events."""
    from campaign.several import several
    from weal.campaign.campaign import open_campaign

    import_numerics()
    several(url).close()
    told = [("yield", 50.0), ("purity", 90.0), ("crystallised", "ja"), ("phase", "bcc")]

    def work(k, barrier):
        quantity, label = told[k]
        with open_campaign("lab", url) as one:
            answers = []
            for r in range(int(rounds)):
                barrier.wait()
                answers.append(one.tell(f"r{r}", {quantity: label}))
            return answers

    return crowd(work, len(told))


def one_key(url, rounds):
    """All tell another value under the same key in each round; what each was answered."""
    from weal.campaign.campaign import open_campaign
    from weal.errors import ReusedKey

    def work(k, barrier):
        answers = []
        with open_campaign("lab", url) as one:
            for r in range(int(rounds)):
                barrier.wait()
                try:
                    answers.append(one.tell(f"r{r}", float(k), repeat=True, key=f"K{r}"))
                except ReusedKey:
                    answers.append(0)
        return answers

    return crowd(work)


def one_ask_key(url):
    """All ask for the same rows with one key."""
    from weal.campaign.campaign import open_campaign

    import_numerics()

    def work(k, barrier):
        with open_campaign("lab", url, by="ann") as one:
            barrier.wait()
            return one.ask(3, key="K")

    return crowd(work)


def when_asked(url):
    """Tell as many labels as each line of stdin says; the numbers that were answered."""
    store = open_store(url)
    answers = []
    for line in sys.stdin:
        for i in range(len(answers), len(answers) + int(line)):
            answers.append(tell(store, f"id{i}", float(i)))
            print(json.dumps(i), flush=True)
    return {"answers": answers, "double": max(Counter(answers).values())}


def asking(url, asks, batch):
    """All ask many times, and bring back some of the labels."""
    from campaign.lab import number, truth
    from weal.campaign.campaign import open_campaign

    import_numerics()

    def work(k, barrier):
        asked = []
        with open_campaign("lab", url, by=f"person {k}") as one:
            barrier.wait()
            for turn in range(int(asks)):
                ids = one.ask(int(batch))
                asked += ids
                if turn == 0:
                    one.tell(ids[0], truth(number(ids[0])))
        return asked

    return crowd(work)


def counting(url, asks):
    """All ask and tell; how often each had to choose rows for so many asks."""
    from campaign.lab import number, truth
    from weal.campaign import suggestions
    from weal.campaign.campaign import open_campaign
    from weal.store import sqlite

    import_numerics()
    for module in (postgres, sqlite):  # turns are waited for however slow the machine is
        set_constants(module, LOCK_TIMEOUT_SECONDS=600.0)

    def work(k, barrier):
        chosen, offers = [], suggestions._choose
        suggestions._choose = lambda self, *rest: chosen.append(1) or offers(self, *rest)
        with open_campaign("lab", url, by=f"person {k}") as one:
            barrier.wait()
            for _ in range(int(asks)):
                name = one.ask()
                one.tell(name, truth(number(name)))
        return len(chosen)

    return crowd(work)


def making(url):
    """All make the same campaign, and tell a label of their own."""
    from campaign.lab import campaign, truth

    import_numerics()

    def work(k, barrier):
        barrier.wait()
        with campaign(url) as one:
            return one.tell(f"r{k}", truth(k))

    return crowd(work)


if __name__ == "__main__":
    from campaign.telling import NAME, make, names, tell
    from weal.errors import AlreadyLabelled
    from weal.store import postgres, sqlite_file, statements
    from weal.store.protocol import open_store

    # A machine that is busy is not a lost one.
    set_constants(postgres, RECONNECT_SECONDS=600.0)
    set_constants(sqlite_file, BUSY_TIMEOUT_SECONDS=600.0)
    what, *arguments = sys.argv[1:]
    print(json.dumps(globals()[what](*arguments)))
