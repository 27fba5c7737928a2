"""The next step follows from the ledger: rows of mine, rows left, skipped rows, the goal."""

from datetime import timedelta

import pandas as pd
import pytest

import weal
from weal.campaign.next_step import GoalReached, free_rows, next_step
from weal.campaign.row_rules import fail_rows
from weal.store.protocol import open_store


def campaign(rows=6, targets=("y",), **settings):
    table = {"id": [f"r{k}" for k in range(rows)], "x": [float(k**1.5) for k in range(rows)]}
    table |= dict.fromkeys(targets)
    return weal.open_campaign(
        "runs", open_store("memory:"), pool=pd.DataFrame(table), id_column="id",
        target=list(targets), **settings,
    )  # fmt: skip


def step(one, who="ann", reached=None, later=timedelta()):
    ledger = one.read_ledger()
    return next_step(ledger, ledger.begun + later, who, reached)


def test_a_batch_is_measured_and_the_next_one_is_asked_for():
    with campaign() as one:
        assert step(one).kind == "ask"
        assert step(one).text == "6 rows are left to ask for."
        assert step(one).ask_text == "Ask for the 6 that are left"
        ids = one.ask(2, by="ann")
        assert (step(one).kind, step(one).text) == (
            "measure",
            "You have 2 rows left to measure.",
        )
        assert step(one, "bob").text == "4 rows are left to ask for."
        one.tell(ids[0], 1.0, by="ann")
        assert step(one).text == "You have 1 row left to measure."
        one.tell(ids[1], 2.0, by="ann")
        assert (step(one).kind, step(one).free) == ("ask", 4)


def test_rows_run_out():
    with campaign() as one:
        one.tell(["r0", "r1", "r2"], [1.0, 2.0, 3.0])
        one.ask(1, by="bob")
        left = [f"r{k}" for k in range(3, 6) if f"r{k}" not in one.read_ledger().leases]
        one.skip(left[0])
        assert step(one).ask_text == "Ask for the last row"
        one.skip(left[1])
        assert (step(one).kind, step(one).ask_rows) == ("wait", 0)
        assert step(one).text == "No row is free: 1 row is reserved for others."
        [out] = one.read_ledger().leases
        one.tell(out, 4.0)
        assert (step(one).kind, step(one).text) == (
            "restore",
            "No row is left: 2 rows were skipped.",
        )
        one.tell(left, [5.0, 6.0])
        assert (step(one).kind, step(one).text) == ("add", "All 6 candidates have a label.")


def test_a_lapsed_lease_and_a_partly_measured_row_count_as_the_campaign_counts_them():
    with campaign(targets=("y", "z")) as one:
        one.ask(6, by="ann")
        assert free_rows(one.read_ledger(), one.read_ledger().begun) == 0
        assert step(one, later=timedelta(days=400)).free == 6
        one.tell("r0", {"y": 1.0})
        assert step(one, later=timedelta(days=400)).free == 5
        fail_rows(one, ["r1"], "ann", None, False, False, None)
        assert step(one, later=timedelta(days=400)).free == 4
        with pytest.raises(weal.Exhausted, match="and 0 candidates are left"):
            one.ask(1)


@pytest.mark.parametrize(
    ("until", "labels"), [("labels = 3", 3), ("best > 2.5", 3), ("best < 1.5", 1)]
)
def test_a_goal_is_reached_at_its_number_of_labels(until, labels):
    with campaign(goal="maximise", until=until) as one:
        assert step(one).reached is None
        one.tell([f"r{k}" for k in range(5)], [1.0, 2.0, 3.0, 0.5, 4.0])
        found = step(one)
        assert (found.kind, found.reached) == ("stop", GoalReached(labels, until))
        plural = "label" if labels == 1 else "labels"
        assert found.text == (
            f"The goal is reached at {labels} {plural} ({until}). 1 row is left to ask for."
        )
        one.ask(1, by="ann")
        assert step(one).kind == "measure"
        assert step(one).text.startswith("The goal is reached")


def test_an_error_is_reached_when_the_model_says_so():
    with campaign(until="error < 2") as one:
        one.tell(["r0", "r1"], [1.0, 2.0])
        assert step(one).kind == "ask"
        assert step(one, reached=GoalReached(2, "error < 2")).kind == "stop"
