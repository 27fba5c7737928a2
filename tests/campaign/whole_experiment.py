"""Runs with a yield, a purity, whether they crystallised, a phase, and failures, for the tests."""

import numpy as np
import pandas as pd

from weal.campaign.campaign import open_campaign
from weal.quantities.classes import Classes
from weal.quantities.number import Number
from weal.quantities.pass_fail import PassFail

ROWS = 60
YIELD = Number("yield", "%", "yield [%]", 0.0, 100.0)
PURITY = Number("purity", "%", "purity [%]", 0.0, 100.0)
CRYSTALLISED = PassFail("crystallised", "crystallised")
PHASE = Classes("phase", "phase", ("alpha", "beta", "gamma"))


def runs(rows=ROWS):
    """The candidates: id, temperature, time and solvent."""
    X = np.random.default_rng(4).uniform(size=(rows, 2))
    solvent = [("water", "THF", "DMF")[n % 3] for n in range(rows)]
    return pd.DataFrame(
        {
            "run": [f"R-{n}" for n in range(rows)],
            "temp [C]": 20.0 + np.round(100.0 * X[:, 0], 1),
            "time [h]": 1.0 + np.round(11.0 * X[:, 1], 2),
            "solvent": solvent,
        }
    )


def result(name):
    """The labels of a row by quantity; None where its run fails."""
    row = runs().set_index("run").loc[name]
    temp, time = (row["temp [C]"] - 20.0) / 100.0, row["time [h]"] / 12.0
    if temp > 0.8:
        return None
    good = row["solvent"] == "THF"
    return {
        "yield": round(40.0 + 30.0 * np.sin(3.0 * temp) + 20.0 * time * good, 2),
        "purity": round(99.0 - 10.0 * temp**2 - 3.0 * time, 2),
        "crystallised": "yes" if temp + 0.3 * time < 0.6 else "no",
        "phase": "alpha" if temp < 0.3 else "beta" if good else "gamma",
    }


def measured(*quantities, store="memory:", **settings):
    """A campaign that measures these quantities."""
    table = runs().assign(**{one.column: None for one in quantities})
    words = {PassFail: "pass", Classes: "classes:alpha,beta,gamma"}
    kinds = {one.column: words[type(one)] for one in quantities if type(one) in words}
    own = {"id_column": "run", "target": [one.column for one in quantities], "types": kinds}
    return open_campaign(
        "runs", store, pool=table, **{**own, "by": "ann", "n_start": 6, **settings}
    )


def teach(campaign, rows, quantities=None):
    """Tell the results of these rows, failures included."""
    names = quantities or list(campaign.read_quantities())
    for name in rows:
        found = result(name)
        if found is None:
            campaign.fail(name)
        else:
            campaign.tell(name, {one: found[one] for one in names if one in found})


def ids(start, stop):
    """Ids of some rows."""
    return [f"R-{n}" for n in range(start, stop)]
