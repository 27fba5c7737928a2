"""Names of Dask schedulers: what can be none is refused at once, by commands and in Python."""

import pytest

import weal
from shell import typed
from weal.shards.executors import check_scheduler


@pytest.mark.parametrize(
    "name",
    ["nonsense", "local:many", "local:0", "http://host:8786", "tcp://host", "host:0", "host:99999",
     "", "tcp://", "tcp:// :8786", "threads", "LOCAL", 4],
)  # fmt: skip
def test_what_names_no_scheduler_is_refused_before_anything_is_read(name, tmp_path, monkeypatch):
    refused = pytest.raises(ValueError, match=r"scheduler is .*tcp://host:8786")
    monkeypatch.setattr("socket.getaddrinfo", None)
    with refused:
        weal.ActiveLearner([[0.0], [1.0]], scheduler=name)
    with refused:
        weal.open_campaign("lab", f"sqlite:///{tmp_path}/weal.db", pool="no.csv", scheduler=name)
    assert list(tmp_path.iterdir()) == []
    for words in (["ask", "lab"], ["bench", "quick"], ["export", "lab", "--to", "-"]):
        done = typed(*words, "--scheduler", name)
        assert done.code == 2
        assert "scheduler is '" in done.complaint
        assert "; write " in done.complaint


@pytest.mark.parametrize(
    "name",
    ["local", "local:4", "tcp://127.0.0.1:8786", "host:8786", "tls://[::1]:8786", "inproc://1/2/3",
     "ucx://a.b:1", "wss://host:443/"],
)  # fmt: skip
def test_what_may_name_a_scheduler_is_taken(name):
    check_scheduler(name)
