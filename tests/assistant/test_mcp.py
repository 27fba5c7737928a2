"""`weal mcp`: tools of an assistant, called by the client of the official SDK."""

import asyncio
import json
import sys

import pandas as pd
import pytest

import weal
from shell import typed
from weal.store.actors import Actor, parse_permissions
from weal.store.protocol import open_store

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

from weal.assistant.server import make_server  # noqa: E402
from weal.assistant.tools import TOOLS, CampaignTools  # noqa: E402

ROWS = 30


@pytest.fixture
def store(tmp_path):
    """A store with two campaigns; alloys has a model."""
    url = f"sqlite:///{tmp_path / 'weal.db'}"
    ids = [f"A-{k}" for k in range(ROWS)]
    pool = pd.DataFrame({"temp": range(ROWS), "time": [k % 7 for k in range(ROWS)]}, index=ids)
    with weal.open_campaign("alloys", url, pool=pool, by="ann", n_start=5) as campaign:
        campaign.tell({f"A-{k}": 100.0 + 3.0 * k for k in range(0, 20, 2)})
    with weal.open_campaign("steels", url, pool=pool, by="ann"):
        pass
    return url


def call_all(store, calls, may="measure", campaigns=None):
    """The results of tool calls, in turn, and the names of the tools."""
    actor = Actor("helper", parse_permissions(may), campaigns)

    async def work():
        async with mcp.Client(make_server(CampaignTools(open_store(store), actor))) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return [await client.call_tool(name, given) for name, given in calls], names

    return asyncio.run(work())


def answer(result):
    """The JSON of a result."""
    assert not result.is_error, result.content
    found = result.structured_content
    return found["result"] if set(found) == {"result"} else found


def error(result):
    assert result.is_error
    return result.content[0].text.partition(": ")[2]  # after the name of the tool


def test_an_assistant_asks_tells_and_explains(store):
    ask = ("ask_for_rows", {"campaign": "alloys", "n": 2, "key": "monday"})
    (first, again), _ = call_all(store, [ask, ask])
    rows = answer(first)
    assert answer(again) == rows
    assert [set(row) >= {"id", "row", "mean", "low", "high", "why"} for row in rows] == [True] * 2
    name = rows[0]["id"]
    told = {"campaign": "alloys", "id": name, "value": rows[0]["mean"], "note": "by voice"}
    results, _ = call_all(
        store,
        [
            ("tell_label", told),
            ("explain_row", {"campaign": "alloys", "id": name}),
            ("get_status", {"campaign": "alloys"}),
            ("list_campaigns", {}),
            ("describe_campaign", {"campaign": "alloys"}),
            ("get_asked_rows", {"campaign": "alloys"}),
            ("predict", {"campaign": "alloys", "rows": [{"temp": 12.5, "time": 3}]}),
        ],
    )
    saved, card, status, listed, described, asked, predicted = map(answer, results)
    assert saved["labels"] == 1
    assert card["labels"][0]["y"] == pytest.approx(rows[0]["mean"])
    assert status["labels"] == 11
    assert [one["name"] for one in listed] == ["alloys", "steels"]
    assert described["candidates"] == ROWS
    assert [row["id"] for row in asked] == [rows[1]["id"]]
    assert predicted["predictions"][0]["low"] < 137.5 < predicted["predictions"][0]["high"]
    with weal.open_campaign("alloys", store) as campaign:
        last = campaign.to_frame().iloc[-1]
    assert (last["id"], last["by"], last["note"]) == (name, "helper", "by voice")


def test_a_label_far_from_what_is_expected_needs_a_person(store):
    told = {"campaign": "alloys", "id": "A-5", "value": 11500.0}
    (refused, kept), _ = call_all(
        store, [("tell_label", told), ("tell_label", {**told, "checked": True})]
    )
    assert error(refused).startswith("implausible_label: ")
    assert error(refused).endswith("ask the person, then call the tool again with checked")
    assert answer(kept)["labels"] == 1


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("get_status", {"campaign": "alloy"}, "unknown_campaign: there is no campaign 'alloy'"),
        ("tell_label", {"campaign": "alloys", "id": "Z-9", "value": 120.0}, "unknown_id: "),
        ("tell_label", {"campaign": "alloys", "id": "A-2", "value": 107.0}, "already_labelled: "),
        ("tell_label", {"campaign": "alloys", "id": "A-5", "value": "12,5,5"}, "invalid_value: "),
        ("ask_for_rows", {"campaign": "alloys", "n": 0}, "invalid_value: n is 0"),
        ("ask_for_rows", {"campaign": "alloys", "n": 40}, "exhausted: "),
        ("predict", {"campaign": "steels", "rows": [{"temp": 1, "time": 2}]}, "no_model: "),
        ("predict", {"campaign": "alloys", "rows": []}, "invalid_value: n is 0"),
        ("predict", {"campaign": "alloys", "rows": [{}]}, "invalid_value: the table"),
        ("predict", {"campaign": "alloys", "rows": [{"time": "a\0b"}]}, "invalid_table: "),
        ("ask_for_rows", {"campaign": "alloys", "same": "tmp"}, "invalid_value: same: no column"),
        ("get_best_rows", {"campaign": "alloys"}, "invalid_value: "),
    ],
)
def test_errors_reach_the_assistant_with_their_code_and_the_way_out(store, name, given, said):
    (result,), _ = call_all(store, [(name, given)])
    assert error(result).startswith(said)
    assert "/tmp" not in error(result)


def test_a_batch_has_the_options_of_the_api(store):
    calls = [
        ("ask_for_rows", {"campaign": "alloys", "n": 2, "same": "time", "where": "temp > 3"}),
        ("ask_for_rows", {"campaign": "alloys", "rows": ["A-1", "A-3"]}),
        ("ask_for_rows", {"campaign": "alloys", "instead_of": ["A-1", "A-3"]}),
        ("get_asked_rows", {"campaign": "alloys"}),
    ]
    results, _ = call_all(store, calls)
    plate, by_hand, others, out = map(answer, results)
    assert len({row["row"]["time"] for row in plate}) == 1
    assert all(row["row"]["temp"] > 3 for row in plate)
    assert [row["id"] for row in by_hand] == ["A-1", "A-3"]
    assert {row["id"] for row in out} == {row["id"] for row in plate + others}


def test_rows_are_released_skipped_and_withdrawn(store):
    (asked,), _ = call_all(store, [("ask_for_rows", {"campaign": "alloys", "n": 3})])
    one, two, three = (row["id"] for row in answer(asked))
    results, _ = call_all(
        store,
        [
            ("release_rows", {"campaign": "alloys", "ids": [one]}),
            ("skip_rows", {"campaign": "alloys", "ids": [two], "note": "cracked"}),
            ("skip_rows", {"campaign": "alloys", "ids": [two], "undo": True}),
            ("withdraw_labels", {"campaign": "alloys", "ids": ["A-2"], "note": "mixed up"}),
            ("get_asked_rows", {"campaign": "alloys"}),
        ],
    )
    released, skipped, back, withdrawn, out = map(answer, results)
    assert (released, skipped, back) == ({"released": [one]}, {"skipped": [two]}, {"back": [two]})
    assert withdrawn == {"withdrawn": ["A-2"]}
    assert [row["id"] for row in out] == [three]


def test_a_tool_that_is_not_permitted_is_not_there(store):
    reads = [name for name, _ in TOOLS["read"]]
    (result,), names = call_all(store, [("tell_label", {"campaign": "alloys"})], may="read")
    assert names == reads
    assert result.is_error
    _, names = call_all(store, [], may="ask,tell")
    assert names == ["ask_for_rows", "release_rows", "tell_label", "withdraw_labels"]


def test_another_campaign_is_not_there(store):
    calls = [("list_campaigns", {}), ("get_status", {"campaign": "steels"})]
    (listed, status), _ = call_all(store, calls, campaigns=frozenset({"alloys"}))
    assert [one["name"] for one in answer(listed)] == ["alloys"]
    assert "steels" not in error(status).removeprefix(
        "unknown_campaign: there is no campaign 'steels'"
    )


def test_the_command_speaks_the_protocol_on_stdin_and_stdout(store, tmp_path):
    words = "from weal.cli.main import main; main()"
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-c", words, "mcp", "--store", store, "--by", "helper", "--campaign", "alloys"],
        cwd=str(tmp_path),
    )

    async def work():
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            asked = await client.call_tool("ask_for_rows", {"campaign": "alloys"})
            [row] = answer(asked)
            told = {"campaign": "alloys", "id": row["id"], "value": row["mean"]}
            return tools, answer(await client.call_tool("tell_label", told))

    tools, told = asyncio.run(work())
    assert told["labels"] == 1
    assert {tool.name for tool in tools if tool.annotations.read_only_hint} == {
        name for name, _ in TOOLS["read"]
    }
    assert all(tool.description and tool.input_schema for tool in tools)
    assert "NaN" not in json.dumps([tool.input_schema for tool in tools])


@pytest.mark.parametrize("may", ["manage-all", ""])
def test_a_wrong_permission_is_refused(may):
    done = typed("mcp", "--may", may)
    assert done.code == 2
    assert "permission" in done.err
