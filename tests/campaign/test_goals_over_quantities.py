"""Campaigns with constraints, two objectives and weights, in the shell and in Python."""

import json

import pytest

from campaign.whole_experiment import CRYSTALLISED, PURITY, YIELD, measured, result, runs, teach
from shell import alone_in, typed

UNDER = ["--subject-to", "purity >= 94", "--subject-to", "crystallised is yes"]
TARGETS = ["--target", "yield [%]", "--target", "purity [%]", "--target", "crystallised"]


@pytest.fixture
def campaign():
    found = measured(YIELD, PURITY, CRYSTALLISED)
    teach(found, [f"R-{n}" for n in range(20)])
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the table, 20 of its rows measured."""
    alone_in(tmp_path, monkeypatch)
    table = runs()
    names = {"yield": "yield [%]", "purity": "purity [%]", "crystallised": "crystallised"}
    for quantity, column in names.items():
        known = [result(name) for name in table["run"][:20]]
        cells = [None if one is None else one[quantity] for one in known]
        table[column] = [*cells, *[None] * (len(table) - 20)]
    table.to_csv("runs.csv", index=False)
    return tmp_path


def new(*words, code=0):
    done = typed("new", "runs", "--pool", "runs.csv", "--id", "run", *TARGETS, *words)
    assert done.code == code, done.err
    return done


def said(*words):
    done = typed(*words)
    assert done.code == 0, done.err
    return done.out


def feasible(name):
    found = result(name)
    return found is not None and found["purity"] >= 94.0 and found["crystallised"] == "yes"


def test_rows_that_meet_the_constraints_are_asked_and_listed(campaign):
    campaign.change(goal="maximise yield", subject_to=["purity >= 94", "crystallised is yes"])
    assert campaign.read_ledger().settings["goal"] == (
        "maximise yield subject to purity >= 94 and crystallised is yes"
    )
    asked = []
    for _ in range(6):
        row = campaign.ask()
        asked.append(row)
        teach(campaign, [row])
    assert sum(map(feasible, asked)) >= 3
    table = campaign.best(4)
    assert table.quantities == ("yield", "purity", "crystallised")
    assert all(feasible(row.id) for row in table.rows[:2])
    frame = table.to_frame()
    assert {"yield measured", "purity expected", "feasible", "probability"} <= set(frame.columns)
    status = campaign.status()
    known = [name for name in campaign.read_ledger().labelled() if feasible(name)]
    assert status.members.feasible == len(known)
    best = max(known, key=lambda name: result(name)["yield"])
    assert (status.members.best_id, status.members.best) == (best, result(best)["yield"])
    assert status.curve.now == status.members.best


def test_a_good_label_of_a_row_that_is_not_feasible_ends_no_search(campaign):
    infeasible = [name for name in campaign.read_ledger().labelled() if not feasible(name)]
    best = max(result(name)["yield"] for name in infeasible if result(name))
    campaign.change(goal="maximise yield", until=f"best > {best - 0.01}")
    assert campaign.status().advice.startswith("Stop: the label")
    campaign.change(subject_to=["purity >= 94", "crystallised is yes"])
    known = [result(name)["yield"] for name in campaign.read_ledger().labelled() if feasible(name)]
    assert max(known) < best
    assert not campaign.status().advice.startswith("Stop: the label")


def test_two_objectives_have_a_front_in_status_and_best(campaign):
    campaign.change(goal=["maximise yield", "maximise purity"])
    teach(campaign, [campaign.ask()])
    status, table = campaign.status(), campaign.best(30)
    labels = {name: result(name) for name in campaign.read_ledger().labelled()}
    labels = {name: (one["yield"], one["purity"]) for name, one in labels.items() if one}
    front = {
        name for name, (a, b) in labels.items()
        if not any(c >= a and d >= b and (c, d) != (a, b) for c, d in labels.values())
    }  # fmt: skip
    assert {id for id, _, _ in status.members.front} == front
    assert {row.id for row in table.rows if row.pareto} == front
    assert status.curve.now == 1.0
    assert f"Pareto rows    {len(front)} measured rows" in "\n".join(status.goal_lines)


def test_a_constraint_on_a_quantity_nobody_measured_waits_for_labels():
    campaign = measured(YIELD, PURITY, goal="maximise yield", subject_to="purity >= 94")
    teach(campaign, [f"R-{n}" for n in range(30)], ["yield"])
    assert campaign.ask()
    assert "no measured row meets all constraints yet" in campaign.status().advice
    row = campaign.best(2).rows[0].quantities["purity"]
    assert (row["measured"], row["expected"], row["sd"]) == (None, None, None)
    json.dumps(campaign.best(2).to_dict(), allow_nan=False)


def test_an_objective_nobody_measured_asks_and_says_so():
    campaign = measured(YIELD, PURITY, goal="maximise purity")
    teach(campaign, [f"R-{n}" for n in range(30)], ["yield"])
    assert campaign.ask()
    assert campaign.status().advice.startswith("Too early to say")


def test_the_shell_takes_goals_constraints_and_weights(folder):
    new("--goal", "maximise yield", *UNDER)
    text = "maximise yield subject to purity >= 94 and crystallised is yes"
    settings = json.loads(said("settings", "runs", "--json"))
    assert settings["goal"]["text"] == text
    assert settings["goal"]["subject_to"] == ["purity >= 94", "crystallised is yes"]
    asked = json.loads(said("ask", "runs", "--json"))[0]
    assert "among the 10 best feasible rows" in " ".join(asked["sentences"])
    assert "P(feasible)" in said("best", "runs", "-n", "3")
    rows = json.loads(said("best", "runs", "-n", "3", "--json"))["rows"]
    assert all(0.0 <= row["feasible"] <= 1.0 for row in rows)
    assert "subject to     purity >= 94" in said("status", "runs")
    said("settings", "runs", "--subject-to", "purity >= 90")
    assert json.loads(said("settings", "runs", "--json"))["goal"]["text"] == (
        "maximise yield subject to purity >= 90"
    )
    said("settings", "runs", "--subject-to", "none")
    assert json.loads(said("settings", "runs", "--json"))["goal"]["text"] == "maximise yield"
    said("settings", "runs", "--goal", "maximise yield", "--goal", "minimise purity")
    assert json.loads(said("settings", "runs", "--json"))["goal"]["kind"] == "pareto"
    assert "Pareto row" in said("best", "runs")
    said("settings", "runs", "--goal", "learn", "--weight", "purity=2", "--weight", "yield=0.5")
    found = json.loads(said("settings", "runs", "--json"))["goal"]
    assert found["weights"] == {"purity": 2.0, "yield": 0.5}
    said("settings", "runs", "--weight", "none")
    assert json.loads(said("settings", "runs", "--json"))["goal"]["text"] == "learn"


def test_best_and_status_take_another_goal_without_changing_the_settings(folder):
    new()
    found = json.loads(said("best", "runs", "--goal", "maximise yield", *UNDER[:2], "--json"))
    assert found["goal"]["text"] == "maximise yield subject to purity >= 94"
    front = said("status", "runs", "--goal", "maximise yield", "--goal", "maximise purity")
    assert "Goal: maximise yield and maximise purity" in front
    assert json.loads(said("settings", "runs", "--json"))["goal"]["text"] == "learn"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--goal", "maximise yeild"], "did you mean yield?"),
        (["--goal", "maximise yield", "--subject-to", "temp < 90"], "temp is an input"),
        (["--goal", "maximise yield", "--subject-to", "solvent is THF"], "solvent is an input"),
        (["--goal", "maximise yield", "--subject-to", "crystallised >= 1"], "is yes'"),
        (["--goal", "maximise yield", "--subject-to", "purity >= 120"], "no label can meet it"),
        (["--goal", "maximise yield", "--goal", "minimise yield"], "contradict each other"),
        (["--goal", "maximise yield", "--weight", "purity=2"], "weights are for the goal learn"),
        (["--weight", "prity=2"], "did you mean purity?"),
        (["--goal", "maximise yield", "--subject-to", "purity > 1", "--acquisition", "ei"],
         "leave out the acquisition"),
        (["--goal", "maximise crystallised"], "--subject-to 'crystallised is yes'"),
    ],
)  # fmt: skip
def test_a_wrong_goal_is_refused_in_one_line_and_creates_nothing(folder, words, says):
    done = new(*words, code=2)
    assert says in done.err
    assert len(done.err.strip().splitlines()[-1]) < 400
    assert "Traceback" not in done.err
    assert "no campaigns yet" in typed("list").err + typed("list").out


def test_a_wrong_change_leaves_the_settings_as_they_are(campaign):
    before = campaign.read_ledger()
    for wrong in ({"subject_to": ["prity > 3"]}, {"goal": ["maximise yield", "learn"]}):
        with pytest.raises(ValueError):  # noqa: PT011
            campaign.change(**wrong)
    assert campaign.read_ledger().seq == before.seq


def test_the_goal_goes_on_in_another_process(tmp_path):
    where = f"sqlite:///{tmp_path / 'weal.db'}"
    first = measured(YIELD, PURITY, CRYSTALLISED, store=where, goal="maximise yield",
                     subject_to=["crystallised is yes"])  # fmt: skip
    teach(first, [f"R-{n}" for n in range(15)])
    asked = first.ask(3)
    again = measured(YIELD, PURITY, CRYSTALLISED, store=where)
    assert again.read_session().state.settings.goal.requirements[0].codes == (1,)
    assert [row.id for row in again.best(5).rows] == [row.id for row in first.best(5).rows]
    assert len(set(asked)) == 3
