"""The README's Python runs as it stands there."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_s_code_runs_and_learns():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    truth = [names["measure"](x) for x in names["X_pool"]]
    error = names["learner"].model.predict(names["X_pool"]) - truth
    assert (error**2).mean() ** 0.5 < 0.1
