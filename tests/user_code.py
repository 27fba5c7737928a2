"""A page of code as a user writes it: mypy checks it, and says what each call returns.

`test_user_types` compares each `reveal_type` with the comment that follows it. Nothing here runs.
"""

from typing import reveal_type

import numpy as np

import weal

X = np.linspace(0.0, 6.0, 61).reshape(-1, 1)
learner = weal.ActiveLearner(X)

batch = learner.ask(3)
reveal_type(batch)  # list[Any]
reveal_type(learner.ask())  # Any
learner.tell(batch, np.sin(X[batch, 0]), noise=0.01)
learner.tell(batch[0], 0.5, replace=True)
learner.tell({4: 0.2, 5: 0.3}, sure=True)

reveal_type(learner.predict(4))  # float
reveal_type(learner.predict("P-4", return_std=True))  # tuple[float, float]
reveal_type(learner.predict([4, 5]))  # ndarray[tuple[Any, ...], dtype[float64]]
mean, sd = learner.predict(X, return_std=True)
reveal_type(sd)  # ndarray[tuple[Any, ...], dtype[float64]]
reveal_type(learner.model.predict(X))  # ndarray[tuple[Any, ...], dtype[float64]]
reveal_type(learner.run(lambda x: float(np.sin(x[0])), 10).labels)  # int

model = weal.EnsembleGPRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
reveal_type(model)  # EnsembleGPRegressor
reveal_type(model.predict(X))  # ndarray[tuple[Any, ...], dtype[float64]]
expected, uncertainty = model.predict([[2.2]], return_std=True)
reveal_type(uncertainty)  # ndarray[tuple[Any, ...], dtype[float64]]
low, high = model.predict_interval(X)
reveal_type(high)  # ndarray[tuple[Any, ...], dtype[float64]]

with weal.open_campaign("alloys", "memory:", pool="alloys.csv") as campaign:
    reveal_type(campaign)  # Campaign
    reveal_type(campaign.ask())  # str
    reveal_type(campaign.ask(4, by="mk", lease="3d"))  # list[str]
    reveal_type(campaign.tell("a", 312.5, note="batch 7"))  # int
    reveal_type(campaign.tell({"b": 320.0, "c": 340.0}))  # int
    reveal_type(campaign.status().labels)  # int

learner.tell(3)  # error: call-overload
campaign.tell("a")  # error: call-overload
learner.predict(4)[0]  # error: index
campaign.ask(3).upper()  # error: attr-defined
