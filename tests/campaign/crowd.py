"""Many processes at one store: run as a program of its own, as dying.py is, and for its reasons.

python crowd.py WHAT ARGUMENTS...      prints one line of JSON
"""

import json
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from threading import BrokenBarrierError

FORK = get_context("fork")
COUNT = 8


def crowd(work, count=COUNT):
    """The answers of processes that do the work at the same time; work(k, barrier)."""
    barrier = FORK.Barrier(count)
    ends = [FORK.Pipe(duplex=False) for _ in range(count)]

    def one(k):
        try:
            ends[k][1].send(work(k, barrier))
        except (WealError, OSError, BrokenBarrierError) as error:
            barrier.abort()
            ends[k][1].send({"error": f"{type(error).__name__}: {error}"})

    processes = [FORK.Process(target=one, args=(k,)) for k in range(count)]
    [process.start() for process in processes]
    answers = [reading.recv() for reading, _ in ends]
    [process.join() for process in processes]
    return answers


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
            before = schema.SQLITE
            schema.SQLITE = (*before, ("CREATE TABLE weal_more (a)",))
            tell(open_store(place), f"id{k}", float(k))
            schema.SQLITE = before
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


def until(url, stop):
    """Tell labels until the file `stop` is there; the numbers that were answered."""
    store = open_store(url)
    answers = []
    while not Path(stop).exists():
        i = len(answers)
        answers.append(tell(store, f"id{i}", float(i)))
        print(json.dumps(i), flush=True)
    return {"answers": answers, "double": max(Counter(answers).values())}


if __name__ == "__main__":
    from campaign.telling import NAME, make, names, tell
    from weal.errors import AlreadyLabelled, WealError
    from weal.store import schema
    from weal.store.store import open_store

    what, *arguments = sys.argv[1:]
    print(json.dumps(globals()[what](*arguments)))
