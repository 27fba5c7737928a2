"""The recipe for those who have a simulator runs as it stands in the docs, and learns."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
RECIPE = Path(__file__).parents[1] / "docs" / "guide" / "simulator.md"


@pytest.mark.long  # the page itself runs with the documentation
def test_the_recipe_runs_and_learns(capsys):
    blocks = re.findall(r"```{code-cell} ipython3\n(.*?)```", RECIPE.read_text(), re.DOTALL)
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(compile(block, str(RECIPE), "exec"), names)
    weal, learner, conversion, safe = (
        names[name] for name in ("weal", "learner", "conversion", "safe")
    )
    assert capsys.readouterr().out.splitlines()[1] == "budget 30 ()"
    assert len(learner.labels) == 82
    assert len(learner.candidates) == 800
    assert all(safe(learner.candidates.row(name)) for name in learner.candidates.ids)
    test = weal.box(names["inputs"], n=500, constraint=safe, seed=99)
    truth = np.array([conversion(row) for row in test.to_dict("records")])
    error = float(np.sqrt(((learner.predict(test) - truth) ** 2).mean()))
    assert error < 0.35 * truth.std()
    assert names["effect"].get_ylabel() == "conversion [%]"
    spent = [
        sum(names["minutes"](one.candidates.row(label.name)) for label in list(one.labels)[10:30])
        for one in (learner, names["thrifty"])
    ]
    assert spent[1] < spent[0]
