"""R13: whatever people do, in any order, crashes included, the store says what a dict would."""

from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from campaign.lab import pool
from soak import count
from weal.campaign.campaign import Campaign, open_campaign
from weal.errors import AlreadyLabelled, Exhausted, UnknownId
from weal.store.memory import open as open_memory

ROWS = 12
ids = st.integers(0, ROWS + 1).map(lambda n: f"r{n}")
values = st.sampled_from([0.5, -1.25, 3.0, 1e6])
pytestmark = pytest.mark.filterwarnings("ignore:r.* is far (from|outside):UserWarning")


class Machine(RuleBasedStateMachine):
    """A campaign beside a dict of labels, a set of rows that are out, and one of skipped rows."""

    def __init__(self):
        super().__init__()
        self.labels, self.out, self.skipped, self.rows = {}, {}, set(), ROWS
        self.store = open_memory("memory:")

    @initialize()
    def create(self):
        table = pool(0, ROWS)
        self.one = open_campaign("lab", self.store, pool=table, id_column="name", n_start=4)

    def known(self, name):
        return int(name[1:]) < self.rows

    @property
    def free(self):
        every = {f"r{n}" for n in range(self.rows)}
        return every - set(self.labels) - set(self.out) - self.skipped

    @rule(n=st.integers(1, 3), who=st.sampled_from(["ann", "bob"]), check=st.booleans())
    def ask(self, n, who, check):
        if n > len(self.free):
            with pytest.raises(Exhausted):
                self.one.ask(n, by=who, check=check)
            return
        found = self.one.ask(n, by=who, check=check)
        assert len(set(found)) == n
        assert set(found) <= self.free
        self.out |= dict.fromkeys(found, who)

    @rule(name=ids, y=values, how=st.sampled_from(["", "replace", "repeat"]))
    def tell(self, name, y, how):
        words = {how: True} if how else {}
        before = self.labels.get(name, [])
        if not self.known(name):
            with pytest.raises(UnknownId):
                self.one.tell(name, y, **words)
            return
        if before and not how and y not in before:
            with pytest.raises(AlreadyLabelled):
                self.one.tell(name, y)
            return
        self.one.tell(name, y, **words)
        if not before or how == "repeat":
            self.labels[name] = [*before, y]
        elif how == "replace" and before != [y]:
            self.labels[name] = [y]
        self.out.pop(name, None)
        self.skipped.discard(name)

    @rule(name=ids)
    def skip(self, name):
        if not self.known(name) or name in self.labels:
            with pytest.raises((UnknownId, AlreadyLabelled)):
                self.one.skip(name)
            return
        self.one.skip(name)
        self.skipped.add(name)
        self.out.pop(name, None)

    @rule(name=ids)
    def unskip(self, name):
        if self.known(name):
            self.one.unskip(name)
            self.skipped.discard(name)

    @rule(name=ids)
    def withdraw(self, name):
        if name not in self.labels and name not in self.out:
            with pytest.raises((UnknownId, ValueError)):
                self.one.withdraw(name)
            return
        self.one.withdraw(name)
        self.labels.pop(name, None)
        self.out.pop(name, None)

    @precondition(lambda self: self.rows < 2 * ROWS)
    @rule()
    def add(self):
        self.one.add(pool(self.rows, self.rows + 2))
        self.rows += 2

    @rule()
    def reopen(self):
        self.one = Campaign("lab", self.store, "ann")

    @rule(name=ids, y=values)
    def crash_before_the_write(self, name, y):
        """The process dies in the middle of a transaction: nothing was written."""

        def dies(book):
            raise SystemExit

        with pytest.raises(SystemExit):
            self.store.transact("lab", dies)
        self.one = Campaign("lab", self.store, "ann")

    @invariant()
    def equal(self):
        if not hasattr(self, "one"):
            return
        ledger = self.one.read_ledger()
        assert {
            name: [t.y for t in told] for name, told in ledger.quantity().labels.items()
        } == self.labels
        assert {name: lease.who for name, lease in ledger.leases.items()} == self.out
        assert set(ledger.skipped) == self.skipped
        assert ledger.rows == self.rows


class OnDisk(Machine):
    """The same in a SQLite file that is closed and opened."""

    def __init__(self):
        from tempfile import TemporaryDirectory

        from weal.store.protocol import open_store

        super().__init__()
        self.folder = TemporaryDirectory()
        self.store = open_store(f"sqlite:///{self.folder.name}/lab.db")

    @rule()
    def close(self):
        self.store.close()

    def teardown(self):
        self.store.close()
        self.folder.cleanup()


_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
SIZES = SimpleNamespace(memory=count(40, long=120), disk=count(25, long=80), steps=50)
TestMemory = Machine.TestCase
TestMemory.settings = settings(
    max_examples=SIZES.memory, stateful_step_count=SIZES.steps, deadline=None,
    suppress_health_check=_SLOW,
)  # fmt: skip
TestOnDisk = OnDisk.TestCase
TestOnDisk.settings = settings(
    max_examples=SIZES.disk, stateful_step_count=SIZES.steps, deadline=None,
    suppress_health_check=_SLOW,
)  # fmt: skip
