"""R1, R2 and R5 for whole campaigns: whoever is killed loses nothing that was acknowledged."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest

from campaign.lab import campaign, number, truth
from weal.campaign.exporting import export
from weal.campaign.opening import open_campaign

_fork = multiprocessing.get_context("fork")
LABELS = [f"r{n}" for n in range(30)]


def tell_the_rest(url, told):
    """Tell what is missing, in order, and say so after each."""
    with open_campaign("lab", url) as one:
        for name in LABELS:
            if name not in one.ledger.labels:
                one.tell(name, truth(number(name)))
                told.send(name)


def killed_after(seconds, url):
    """What a process acknowledged before it was killed."""
    ours, theirs = _fork.Pipe(duplex=False)
    worker = _fork.Process(target=tell_the_rest, args=(url, theirs))
    worker.start()
    theirs.close()
    time.sleep(seconds)
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    heard = []
    try:
        while ours.poll():
            heard.append(ours.recv())
    except EOFError:
        pass
    return heard


def test_killed_again_and_again_it_asks_what_the_unbroken_campaign_asks(sqlite_url):
    campaign(sqlite_url).close()
    rng, heard = np.random.default_rng(5), set()
    for _ in range(40):
        heard |= set(killed_after(float(rng.uniform(0.0, 0.08)), sqlite_url))
        with open_campaign("lab", sqlite_url) as one:
            there = list(one.ledger.labels)
        assert heard <= set(there)
        assert there == LABELS[: len(there)]
        heard = set(there)  # at most one more was written than we heard of
    ours, theirs = _fork.Pipe(duplex=False)
    tell_the_rest(sqlite_url, theirs)
    ours.close()
    with campaign() as calm, open_campaign("lab", sqlite_url) as one:
        for name in LABELS:
            calm.tell(name, truth(number(name)))
        assert [told.y for told in one.ledger.told()] == [told.y for told in calm.ledger.told()]
        assert one.ask(5) == calm.ask(5)


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("where", ["os.fsync", "pathlib.Path.replace"])
def test_a_kill_during_an_export_leaves_the_old_file(where, sqlite_url, tmp_path, monkeypatch):
    file = tmp_path / "labels.csv"
    with campaign(sqlite_url) as one:
        one.tell("r1", 0.5)
        export(one, "labels", file)
        old = file.read_bytes()
        one.tell("r2", 0.5)
        monkeypatch.setattr(where, die)
        again = {"args": (one, "labels", file), "kwargs": {"force": True}}
        worker = _fork.Process(target=export, **again)
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        monkeypatch.undo()
        assert file.read_bytes() == old
        assert export(one, "labels", file, force=True) == 2


def test_a_kill_during_a_checkpoint_loses_nothing_but_the_checkpoint(sqlite_url, monkeypatch):
    with campaign(sqlite_url) as one:
        for name in one.ask(8):
            one.tell(name, truth(number(name)))
        monkeypatch.setattr("weal.campaign.checkpoint.write", die)
        worker = _fork.Process(target=one.ask)
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        monkeypatch.undo()
        with open_campaign("lab", sqlite_url) as again:
            assert again.ledger.n_labels == 8
            assert len(again.ledger.leases) == 1  # asked before the checkpoint
            assert again.ask() not in again.ledger.labels


def test_no_room_for_an_export_is_said_and_the_old_file_stays(sqlite_url, tmp_path, monkeypatch):
    file = tmp_path / "labels.csv"
    with campaign(sqlite_url) as one:
        one.tell("r1", 0.5)
        export(one, "labels", file)
        old = file.read_bytes()

        def full(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left.*labels\.csv"):
            export(one, "labels", file, force=True)
        monkeypatch.undo()
        assert file.read_bytes() == old
        assert [path.name for path in tmp_path.iterdir() if "draft" in path.name] == []
        one.tell("r2", 0.5)
