"""A display without a browser: it sends messages, and has what a notebook would draw."""

import json
from itertools import count

import numpy as np

import weal
from weal.campaign.notebook_bench import CampaignBench
from weal.widget.learner_bench import LearnerBench
from weal.widget.widget import DisplayedBench

X = np.random.default_rng(3).uniform(0.0, 1.0, (40, 3))
X.flags.writeable = False
Y = 10.0 + X.sum(axis=1)


class Display:
    """What a display does, as methods; its view and report are JSON, as they travel."""

    def __init__(self, bench):
        self.shown, self.answers, self._keys = {}, [], count(1)
        self.bench = DisplayedBench(bench, self.show, self.answers.append)
        self.bench.refresh()

    def show(self, name, value):
        self.shown[name] = json.loads(json.dumps(value, allow_nan=False))

    @property
    def view(self):
        return self.shown["view"]

    @property
    def ids(self):
        return [row["id"] for row in self.view["rows"]]

    def token(self, id_):
        return next(row["row"] for row in self.view["rows"] if row["id"] == str(id_))

    def send(self, action, key=None, **given):
        key = key or f"key-{next(self._keys)}"
        self.bench.receive({"action": action, "key": key, **given})
        answer = json.loads(json.dumps(self.answers[-1], allow_nan=False))
        assert answer["to"] == key
        return answer

    def ask(self, n, **given):
        return self.send("ask", n=n, **given)

    def tell(self, id_, *values, **given):
        return self.send("tell", row=self.token(id_), values=list(values), **given)

    def undo(self, **given):
        return self.send("undo", number=self.view["undo"]["number"], **given)

    def report(self):
        self.bench.receive({"action": "report"})
        return self.shown["report"]


def learner_bench(learner):
    def restore(state):
        learner._state = state

    return LearnerBench(learner, learner._beliefs, restore)


class LearnerCase:
    """A learner with its display, and its labels by id."""

    def __init__(self, target="yield [g]", **how):
        self.owner = weal.ActiveLearner(X, ids=[f"r{n}" for n in range(40)], target=target, **how)
        self.display = Display(learner_bench(self.owner))

    def labels(self):
        measured = self.owner.state.measured
        return {
            (label.name, one.name): one.format(label.y, 8)
            for one in measured
            for label in self.owner.labels_of(one.name)
        }

    def skipped(self):
        return set(self.owner.skipped)

    def failed(self):
        return {one for one in self.owner.state.labelled if self.owner.state.has_failed(one)}

    def tell_elsewhere(self, id_, value):
        self.owner.tell(id_, value)


class CampaignCase:
    """The same of a campaign in memory, with colleagues."""

    def __init__(self, target="yield [g]", **how):
        import pandas as pd

        pool = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{n}" for n in range(40)])
        self.owner = weal.open_campaign(
            "demo", "memory:", pool=pool, target=target, by="ann", **how
        )
        self.display = Display(CampaignBench(self.owner))

    def labels(self):
        ledger = self.owner.read_ledger()
        return {
            (id_, name): own.quantity.format(told.y, 8)
            for name, own in ledger.quantities.items()
            for id_, several in own.labels.items()
            for told in several
        }

    def skipped(self):
        return set(self.owner.read_ledger().skipped)

    def failed(self):
        return set(self.owner.read_ledger().failures.labels)

    def tell_elsewhere(self, id_, value):
        self.owner.tell(id_, value, by="bo")
