"""The golden files of this folder, as weal 0.2.0 (commit 3f9a9f7) wrote them.

They are never made anew: later versions have to read what was written then, and to say the same.
The script is kept to show how they were made. It runs with that commit only:

    PYTHONPATH=tests OMP_NUM_THREADS=1 python tests/golden_0_2/make.py NEW_FOLDER

NEW_FOLDER was /tmp/weal-golden-0.2, which the paths of pools in learner-shards and shards.db have.
`expected.json` holds the answers of 0.2.0 after it had read each file back (`reading`).

    model-*          regressors of every kind of expert; their answers as loaded, after more labels,
                     and fitted anew
    encoder          of the inputs of model-encoded
    learner-*        learners: labels, history, next asks, and the same after more labels
    pool/            Parquet files of learner-shards and of the campaign in shards.db
    shards.db.pools/ the index of the ids of that pool, which 0.2 keeps beside the store
    pool.csv, pool.csv.parquet/   a CSV and the Parquet that 0.2 made of it
    campaigns.db     boards (categories, dates, grades, gaps, costs, an error goal; labels with
                     noise, notes and keys; corrections, confirmations, repeats, withdrawals, skips,
                     failed measurements), tail (warped labels, settings changed)
    worksheet.csv    of two rows of boards
    backup.db        a copy by `weal backup`: early (no model yet, removed from the list), odd
                     (unusual ids, a label that no model can take), sums (ANOVA and ARD experts)
    shards.db        shards: candidates in the files of pool/, with the snapshot of its experts

0.2 has no event for a measurement that failed: "failed" in a results file is a skip.
Leases in the stores either lapsed long ago or end in the year 2058.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import weal
from golden_0_2.make_learners import make_learners
from golden_0_2.make_models import make_models
from golden_0_2.make_pools import make_converted_case, make_pools
from golden_0_2.make_stores import make_stores


def main(folder):
    if weal.__version__ != "0.2.0":
        raise RuntimeError("these golden files are what weal 0.2.0 wrote, and no other version")
    folder.mkdir(parents=True)
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    make_pools(folder)
    expected = {
        "written by": f"weal {weal.__version__}, commit 3f9a9f7",
        "folder": str(folder),
        "models": dict(make_models(folder)),
        "learners": dict(make_learners(folder)),
        "converted": make_converted_case(folder),
    }
    with tempfile.TemporaryDirectory() as scratch:
        expected["stores"] = dict(make_stores(folder, Path(scratch)))
    (folder / "expected.json").write_text(spell(expected) + "\n", encoding="utf-8")


def spell(value, indent="", depth=5):
    """JSON with a line for each entry of the outer objects."""
    if not isinstance(value, dict) or not value or not depth:
        return json.dumps(value, allow_nan=False)
    inner = indent + " "
    lines = [
        f"{inner}{json.dumps(name)}: {spell(one, inner, depth - 1)}" for name, one in value.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
