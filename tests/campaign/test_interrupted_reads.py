"""A read of new events that was interrupted is made up for by the next one; nothing is left out."""

import pytest

from campaign.lab import N, campaign, number, pool, truth
from weal.campaign import session as sessions
from weal.campaign.campaign import Campaign


class Stopping(list):
    """A list of events that Ctrl-C interrupts once, when it grows."""

    stopped = False

    def _stop(self):
        if not self.stopped:
            self.stopped = True
            raise KeyboardInterrupt

    def __iadd__(self, more):
        self._stop()
        return super().__iadd__(more)

    def __setitem__(self, at, more):
        self._stop()
        super().__setitem__(at, more)


def two(rows=N):
    """The same campaign, opened twice."""
    one = campaign(rows=rows)
    return one, Campaign("lab", one.store, "bob")


def test_labels_that_came_with_an_interrupted_read_count():
    one, other = two()
    one.read_session()
    other.tell({f"r{n}": truth(n) for n in range(6)})
    one._events = Stopping(one._events)
    with pytest.raises(KeyboardInterrupt):
        one.read_ledger()
    session = one.read_session()
    assert session.ledger.n_labels == len(session.view().labels) == 6
    assert one._events == other.events()


def test_candidates_that_came_with_an_interrupted_read_are_there(monkeypatch):
    one, other = two(rows=20)
    one.tell({f"r{n}": truth(n) for n in range(6)})
    one.read_session()
    other.add(pool(20, 30))
    other.tell("r25", truth(25))

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sessions, "read_pool", stop)
    with pytest.raises(KeyboardInterrupt):
        one.read_session()
    monkeypatch.undo()
    session = one.read_session()
    assert session.pool.rows == len(session.state.candidates) == 30
    assert len(session.view().labels) == 7
    assert max(map(number, one.ask(20))) >= 20


def test_an_error_of_reading_a_row_is_no_reason_to_leave_its_label_out(monkeypatch):
    one, other = two()
    candidates = type(one.read_session().state.candidates)
    other.tell("r3", truth(3))

    def unreadable(*_):
        raise ValueError("not a number")

    monkeypatch.setattr(candidates, "x", unreadable)
    with pytest.raises(ValueError, match="not a number"):
        one.read_session()
    monkeypatch.undo()
    session = one.read_session()
    assert (len(session.view().labels), session.replay.unusable) == (1, {})
