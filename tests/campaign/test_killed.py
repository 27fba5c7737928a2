"""R1, R2 and R5 for whole campaigns: whoever is killed loses nothing that was acknowledged."""

import os

import pytest

from campaign import dying, dying_campaigns
from campaign.lab import N, campaign, number, truth
from weal.campaign.campaign import open_campaign
from weal.campaign.export import export

LABELS = [f"r{n}" for n in range(N)]


def killed(*words):
    """Do this in a process that dies of it, and says nothing more."""
    assert dying.run(*words, killed=True, program=dying_campaigns.__file__) == []


def test_killed_again_and_again_it_asks_what_the_unbroken_campaign_asks(quick_sqlite_url):
    url, some = quick_sqlite_url, LABELS[:-8]
    campaign(url).close()
    [there] = dying.run("killed_tellers", url, 30, program=dying_campaigns.__file__)
    assert 10 < len(there) < len(some)
    with campaign() as calm, open_campaign("lab", url) as one:
        for name in some:
            if name not in there:
                one.tell(name, truth(number(name)))
            calm.tell(name, truth(number(name)))
        assert [told.y for told in one.read_ledger().quantity().told()] == [
            told.y for told in calm.read_ledger().quantity().told()
        ]
        assert one.ask(5) == calm.ask(5)


@pytest.mark.parametrize("where", ["os.fsync", "pathlib.Path.replace"])
def test_a_kill_during_an_export_leaves_the_old_file(where, quick_sqlite_url, tmp_path):
    file = tmp_path / "labels.csv"
    with campaign(quick_sqlite_url) as one:
        one.tell("r1", 0.5)
        export(one, "labels", file)
        old = file.read_bytes()
        one.tell("r2", 0.5)
        killed("in_a_campaign", quick_sqlite_url, where, "export", file)
        assert file.read_bytes() == old
        assert export(one, "labels", file, force=True) == 2


def test_a_kill_during_a_checkpoint_loses_nothing_but_the_checkpoint(sqlite_url):
    with campaign(sqlite_url) as one:
        for name in one.ask(8):
            one.tell(name, truth(number(name)))
    killed("in_a_campaign", sqlite_url, "weal.campaign.session.pack_experts_snapshot", "ask")
    with open_campaign("lab", sqlite_url) as again:
        assert again.read_ledger().n_labels == 8
        assert len(again.read_ledger().leases) == 1  # asked before the checkpoint
        assert again.ask() not in again.read_ledger().quantity().labels


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
