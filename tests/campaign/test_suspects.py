"""Labels that look wrong are said to: when they come, and by the model of all labels."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import weal
from shell import typed

pytestmark = [
    pytest.mark.usefixtures("in_a_folder"),
    pytest.mark.filterwarnings("ignore:.* is far from its prediction"),
]


def table(n=60):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    frame = pd.DataFrame({"id": [f"P-{k:04d}" for k in range(n)], "a": X[:, 0], "b": X[:, 1]})
    return frame, 60.0 + 20.0 * np.sin(2.0 * X[:, 0]) + 10.0 * X[:, 1]


@pytest.fixture
def begun():
    frame, y = table()
    y = dict(zip(frame["id"], y, strict=True))
    frame["y"] = [y[name] if k < 15 else None for k, name in enumerate(frame["id"])]
    with weal.open_campaign("y 1", "weal.db", pool=frame, id_column="id", target="y") as one:
        yield one, y


def test_a_label_far_outside_what_was_expected_is_kept_and_said_to_be(begun):
    one, y = begun
    name = one.ask()
    done = typed("tell", "y 1", name, 100 * y[name])
    assert done.code == 0
    assert re.search(
        rf"{name}: [\d.]+ is far from its prediction \([\d.]+ \+- [\d.]+\)\. A typo, or "
        rf"another unit\? `weal tell --replace 'y 1' {name} VALUE` corrects it; --sure confirms",
        done.err,
    )
    assert one.read_ledger().quantity().labels[name][0].y == pytest.approx(100 * y[name])
    done = typed("tell", "y 1", name, 100 * y[name], "--sure", "--json")
    assert json.loads(done.out)["doubts"] == []
    done = typed("tell", "y 1", name, y[name], "--replace")
    assert "far from" not in done.err
    found = json.loads(typed("tell", "y 1", one.ask(), "5555", "--json").out)
    assert "far from" in found["doubts"][0]


def test_the_lines_of_a_file_are_looked_at_alike(begun):
    one, y = begun
    ids = one.ask(3)
    values = [y[ids[0]], 10 * y[ids[1]], y[ids[2]]]
    frame = pd.DataFrame({"id": ids, "y": values})
    assert ["far from" in row.message for row in one.preview(frame).rows] == [False, True, False]
    assert not any(row.message for row in one.preview(frame, sure=True).rows)


def test_suspects_name_a_factor_and_status_says_what_to_do(begun):
    one, y = begun
    ids = one.ask(8)
    wrong = ids[2]
    one.tell(ids, [y[name] * (10 if name == wrong else 1) for name in ids])
    [found] = one.suspects()
    assert (found.id, found.factor, found.swap) == (wrong, 10.0, None)
    assert found.expected == pytest.approx(y[wrong], abs=5 * found.sd)
    assert found.surprise > 5
    assert wrong not in [near.id for near in found.near]
    said = typed("status", "y 1").out
    assert f"  {wrong}: " in said
    assert "10 times too large?" in said
    assert f"`weal tell --replace 'y 1' {wrong} VALUE` corrects one" in said
    plain = json.loads(typed("status", "y 1", "--json").out)
    assert [row["id"] for row in plain["suspects"]] == [wrong]
    one.tell(wrong, y[wrong], replace=True)
    assert one.suspects() == []
    assert "Labels to check" not in "\n".join(one.status().lines())


def test_sure_ends_the_doubt(begun):
    one, y = begun
    ids = one.ask(6)
    one.tell(ids, [y[name] * (10 if name == ids[0] else 1) for name in ids])
    assert [found.id for found in one.suspects()] == [ids[0]]
    one.tell(ids[0], 10 * y[ids[0]], sure=True)
    assert one.suspects() == []


def test_a_file_in_another_unit_is_named_as_such(begun):
    one, y = begun
    one.tell(list(y)[15:40], [y[name] for name in list(y)[15:40]])
    ids = list(y)[40:45]
    one.tell_file(pd.DataFrame({"id": ids, "y": [145.0 * y[name] for name in ids]}))
    status = one.status()
    assert {found.id for found in status.suspects} == set(ids)
    [unit] = status.other_units
    assert unit.factor == pytest.approx(145.0, rel=0.05)
    assert "5 labels told " in unit.words


def test_status_says_what_guessing_the_mean_gives(begun):
    one, y = begun
    first = np.array([y[name] for name in list(y)[:15]])
    left_out = [label - np.delete(first, n).mean() for n, label in enumerate(first)]
    found = one.status()
    assert found.beliefs.baseline == pytest.approx(np.sqrt(np.mean(np.square(left_out))))
    explained = 1 - (found.beliefs.left_out.now / found.beliefs.baseline) ** 2
    assert found.beliefs.explained == pytest.approx(explained)
    text = "\n".join(found.lines())
    assert re.search(r"guessing the mean gives [\d.]+: \d+ % of the variance explained", text)
    assert "picked" not in text
    assert "rows chosen by" not in text
    assert found.beliefs.random is None


def test_where_nothing_is_learnt_the_advice_says_so():
    frame, _ = table(80)
    frame["y"] = np.random.default_rng(0).normal(size=80)
    frame.loc[60:, "y"] = None
    with weal.open_campaign("noise", "memory:", pool=frame, id_column="id", target="y") as one:
        advice = one.status().advice
    assert "gain little" not in advice


def test_too_few_candidates_for_a_model_are_said_to_be():
    frame, _ = table(6)
    with weal.open_campaign("few", "memory:", pool=frame, id_column="id", n_start=10) as one:
        assert "6 candidates, and 10 more labels are needed" in one.status().advice


def test_two_labels_of_a_batch_that_were_exchanged_are_named(begun):
    one, y = begun
    one.tell(first := one.ask(8), [y[name] for name in first])
    ids = one.ask(5)
    a, b = min(ids, key=y.__getitem__), max(ids, key=y.__getitem__)
    one.tell(ids, [y[{a: b, b: a}.get(name, name)] for name in ids])
    assert {found.id: found.swap for found in one.suspects()} == {a: b, b: a}
    said = typed("status", "y 1").out
    assert f"swapped with {b}?" in said
    plain = json.loads(typed("status", "y 1", "--json").out)["suspects"]
    assert {row["id"]: row["swap"] for row in plain} == {a: b, b: a}
    assert all(row["words"].startswith(row["id"]) for row in plain)
    one.tell([a, b], [y[a], y[b]], replace=True)
    assert one.suspects() == []


def test_labels_that_are_sure_were_not_exchanged(begun):
    one, y = begun
    one.tell(first := one.ask(8), [y[name] for name in first])
    ids = one.ask(5)
    a, b = min(ids, key=y.__getitem__), max(ids, key=y.__getitem__)
    one.tell(ids, [y[{a: b, b: a}.get(name, name)] for name in ids], sure=True)
    assert one.suspects() == []
