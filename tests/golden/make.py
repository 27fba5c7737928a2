"""The golden files of this folder, as weal 0.1.0 (commit 697472d) wrote them.

They are never made anew: later versions have to read what was written then, and to say the same.
The script is kept to show how they came to be. It runs with that commit only, in a clone of it,
with the folder above this one on the path too:

    PYTHONPATH=CLONE/src:tests OMP_NUM_THREADS=1 python tests/golden/make.py NEW_FOLDER

`expected.json` holds what 0.1.0 itself said after it had read each file back (`reading`), to the
last digit, in names and units of later versions (`renamed`): what it kept as a variance of noise
(`noise=`, `noise_bounds` and `noise_` of the regressor) is expected as a standard deviation.

    model-*       regressors, and what they say after more labels, and fitted anew
    encoder       of the inputs of model-encoded
    learner-*     learners: what they know, ask, and ask after another label
    campaigns.db  alloys (a table with ids, mixed columns and some labels; every kind of event),
                  numbers (no ids; settings that changed); with the snapshots of ask and status
    more.db       begun (no model yet), odd (unusual ids, a label that no model can take)

Leases in the stores either have lapsed long ago or end in the year 2058.
"""

import json
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import weal
from golden.make_learners import make_learners
from golden.make_models import make_models
from golden.make_stores import make_stores


def main(folder):
    if weal.__version__ != "0.1.0" or find_spec("weal.regressor") is None:
        raise RuntimeError("golden files are what weal 0.1.0 wrote, and no other version")
    folder.mkdir(parents=True)
    warnings.filterwarnings("ignore", "X does not have valid feature names")  # of frames' learners
    expected = {
        "written by": f"weal {weal.__version__}, commit 697472d",
        "models": dict(make_models(folder)),
        "learners": dict(make_learners(folder)),
    }
    with tempfile.TemporaryDirectory() as scratch:
        expected["stores"] = dict(make_stores(folder, Path(scratch)))
    (folder / "expected.json").write_text(spelled(expected) + "\n", encoding="utf-8")


def spelled(value, indent=""):
    """JSON with a line for each entry of an object, and lists in one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    inner = indent + " "
    lines = [f"{inner}{json.dumps(name)}: {spelled(one, inner)}" for name, one in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
