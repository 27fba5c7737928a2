"""Any mixture of calls against a plain dict: labels, what waits, what is skipped, the belief."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numpy.testing import assert_allclose

from learning import POOL, SCALING, model, outlook, points, told
from soak import count
from weal import ActiveLearner, AlreadyLabelled, Exhausted, UnknownId
from weal.core.paper import ensemble

EXTRA = points(30, seed=8)
positions = st.integers(0, 200)
values = st.sampled_from([1700.0, 1950.0, 2100.0, 2400.0])


class Campaign(RuleBasedStateMachine):
    """What the learner should know, in the simplest form there is."""

    @initialize(
        kind=st.sampled_from(["features", "exact"]),
        acquisition=st.sampled_from(["gpm-var", "multi", "ivr", "random"]),
        n_start=st.integers(1, 5),
    )
    def begin(self, kind, acquisition, n_start):
        self.plain = model(kind, scaling=SCALING, n_frequencies=12)
        self.learner = ActiveLearner(POOL[:14], self.plain, acquisition, n_start=n_start)
        self.x = dict(enumerate(POOL[:14]))
        self.labels = {}  # id -> labels
        self.pending, self.skipped, self.removed, self.batch = [], set(), set(), []
        self.fitted = False

    def an_id(self, n):
        return list(self.x)[n % len(self.x)]

    def free(self):
        return set(self.x) - set(self.labels) - set(self.pending) - self.skipped - self.removed

    def taken(self, name):
        """A new label of this id was told."""
        self.pending = [other for other in self.pending if other != name]
        self.skipped.discard(name)
        self.batch = []

    @rule(n=st.sampled_from([None, 1, 2, 4]), more=st.booleans())
    def ask(self, n, more):
        batch = [] if more else self.batch
        wanted, free = n or 1, self.free()
        if wanted - len(batch) > len(free):
            with pytest.raises(Exhausted):
                self.learner.ask(n, more=more)
            return
        answer = self.learner.ask(n, more=more)
        names = [answer] if n is None else answer
        assert len(names) == wanted == len(set(names))
        assert names[: len(batch)] == batch[:wanted]
        new = names[len(batch) :]
        assert set(new) <= free
        self.pending += new
        self.batch = batch + new

    @rule(n=positions, y=values, noise=st.sampled_from([None, 30.0]))
    def tell(self, n, y, noise):
        name = self.an_id(n)
        old = self.labels.get(name)
        if old is None:
            self.learner.tell(name, y, noise=noise)
            self.labels[name] = [(y, noise or 0.0)]
            self.taken(name)
        elif (y, noise or 0.0) in old:
            self.learner.tell(name, y, noise=noise)
        else:
            with pytest.raises(AlreadyLabelled):
                self.learner.tell(name, y, noise=noise)

    @rule(n=positions, k=positions, y=values)
    def tell_two(self, n, k, y):
        names = [self.an_id(n), self.an_id(k)]
        if names[0] == names[1] or set(names) & set(self.labels):
            return
        self.learner.tell(names, [y, y + 10.0])
        for name, label in zip(names, (y, y + 10.0), strict=True):
            self.labels[name] = [(label, 0.0)]
            self.taken(name)

    @rule(n=positions, bad=st.sampled_from([np.nan, np.inf, "12", None]))
    def tell_wrong(self, n, bad):
        fresh = [name for name in self.x if name not in self.labels][:1]
        for names in ([*fresh, self.an_id(n)], [*fresh, "nobody"]):
            with pytest.raises((ValueError, UnknownId)):
                self.learner.tell(names, [1.0] * len(fresh) + [bad])

    @rule(n=positions, y=values)
    def replace(self, n, y):
        name = self.an_id(n)
        self.learner.tell(name, y, replace=True)
        if self.labels.get(name) != [(y, 0.0)]:
            self.taken(name)
        # a corrected label comes after all others
        self.labels = {k: v for k, v in self.labels.items() if k != name} | {name: [(y, 0.0)]}

    @rule(n=positions, y=values)
    def repeat(self, n, y):
        name = self.an_id(n)
        self.learner.tell(name, y, repeat=True)
        self.labels.setdefault(name, []).append((y, 0.0))
        self.taken(name)

    @precondition(lambda self: self.labels)
    @rule(n=positions)
    def forget(self, n):
        name = list(self.labels)[n % len(self.labels)]
        self.learner.forget(name)
        del self.labels[name]
        self.batch = []

    @rule(n=positions)
    def skip(self, n):
        name = self.an_id(n)
        self.learner.skip(name)
        self.skipped.add(name)
        self.pending = [other for other in self.pending if other != name]
        self.batch = []

    @precondition(lambda self: self.skipped)
    @rule(n=positions)
    def unskip(self, n):
        name = sorted(self.skipped)[n % len(self.skipped)]
        self.learner.unskip(name)
        self.skipped.discard(name)
        self.batch = []

    @precondition(lambda self: len(self.x) < 40)
    @rule(n=st.integers(1, 3))
    def add(self, n):
        before = len(self.x)
        rows = EXTRA[before - 14 : before - 14 + n]
        self.learner.add(rows)
        self.x |= {before + i: row for i, row in enumerate(rows)}
        self.batch = []

    @rule(n=positions)
    def remove(self, n):
        name = self.an_id(n)
        self.learner.remove([name])
        self.removed.add(name)
        self.pending = [other for other in self.pending if other != name]
        self.batch = []

    @rule()
    def close_and_open(self):
        with tempfile.TemporaryDirectory() as folder:
            self.learner.save(Path(folder) / "learner.weal")
            self.learner = ActiveLearner.load(Path(folder) / "learner.weal")

    @invariant()
    def labels_are_those_told(self):
        expected = [(name, *label) for name, all_of in self.labels.items() for label in all_of]
        assert sorted(told(self.learner)) == sorted(expected)
        assert list(self.learner.pending) == self.pending
        assert self.learner.skipped == self.skipped
        assert not set(self.pending) & (set(self.labels) | self.skipped)

    @invariant()
    def the_belief_is_that_of_a_model_made_from_scratch(self):
        learner, rows = self.learner, told(self.learner)
        self.fitted = self.fitted or len(rows) >= learner.n_start
        assert learner.fitted == self.fitted
        if not self.fitted:
            return
        assert learner.model.n_labels_ == len(rows)
        everywhere = np.array(list(self.x.values()))
        got = learner.model.predict(everywhere, return_std=True)
        if rows:
            X, y, noise = (np.array([self.x[name] for name, _, _ in rows]), *np.array(rows).T[1:])
            scratch = self.plain.fit(X, y, sample_noise=noise)
            assert_allclose(got, scratch.predict(everywhere, return_std=True), rtol=1e-7)
        pool, ens = outlook(learner).pool, learner.model.ensemble_
        mu, var = ensemble.predict(ens, learner.model.points(everywhere))
        assert_allclose(pool.mu[pool.members], mu[pool.members], rtol=1e-7, atol=1e-8)
        kept = (ens.magnitude[:, None] * pool.v)[pool.members]
        assert_allclose(kept, var[pool.members], rtol=1e-7, atol=1e-9)


def test_any_mixture_of_calls_leaves_what_a_dict_would():
    modest = settings(
        max_examples=count(10, long=25),
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(Campaign, settings=modest)
