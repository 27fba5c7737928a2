"""What --json gives is an interface: each command has a schema, and what it prints obeys it."""

import json
import shutil
from importlib.resources import files
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from campaign.alloys import begin_alloys, begin_bare, write_pool
from campaign.whole_experiment import (
    CRYSTALLISED,
    PHASE,
    PURITY,
    YIELD,
    ids,
    measured,
    runs,
    teach,
)
from shell import alone_in, typed
from weal.campaign.campaign import open_campaign
from weal.cli.main import weal

GOLDEN = Path(__file__).parents[1] / "golden_0_2"
SCHEMAS = {
    path.name.removesuffix(".json"): json.loads(path.read_text())
    for path in (files("weal.cli") / "schemas").iterdir()
}
REGISTRY = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
ALIKE = {"bench-paper", "bench-quick", "bench-choice", "bench-peers"}  # runs like bench-run
ODD = '=cmd|"\n\x1b[2J'


def commands(group=weal, words=()):
    """All commands, by their words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield "-".join((*words, name)), command


def with_json():
    return {
        name for name, command in commands() if any("--json" in one.opts for one in command.params)
    }


def test_every_command_with_json_has_a_schema_and_no_schema_is_left_over():
    assert with_json() == SCHEMAS.keys() - {"common"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_says_what_each_field_means(name):
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"{name}.json"
    for place, schema in _objects(SCHEMAS[name], name):
        for field, one in schema["properties"].items():
            assert one.get("description") or "$ref" in one, f"{place}.{field}"
        assert schema["additionalProperties"] is False, place


def _objects(schema, place):
    """All schemas of objects with fields that are known; not those of conditions."""
    if isinstance(schema, list):
        for n, one in enumerate(schema):
            yield from _objects(one, f"{place}[{n}]")
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            yield place, schema
        for key, one in schema.items():
            yield from _objects(one, f"{place}.{key}")


@pytest.mark.parametrize("name", sorted(ALIKE))
def test_runs_of_the_benchmark_all_give_the_same(name):
    assert SCHEMAS[name]["$ref"] == SCHEMAS["simulate"]["anyOf"][0]["$ref"] == "bench-run.json"


@pytest.fixture
def validated(tmp_path, monkeypatch):
    """Type a command with --json; what it prints must obey the schema of the command."""
    alone_in(tmp_path, monkeypatch)
    seen = set()

    def run(*words, code=0):
        name = "-".join(words[:2]) if words[0] in ("bench", "token") else words[0]
        done = typed(*words, "--json")
        assert done.code == code, done.err
        found = json.loads(done.out, parse_constant=pytest.fail)
        Draft202012Validator(SCHEMAS[name], registry=REGISTRY).validate(found)
        seen.add(name)
        return found

    run.seen = seen
    return run


def refine_box(validated):
    Path("box.toml").write_text("constraints = ['x + y <= 1']\n[inputs]\nx = [0, 1]\ny = [0, 1]\n")
    validated("new", "box", "--box", "box.toml", "--rows", "20", "--n-start", "3",
              "--budget", "3")  # fmt: skip
    for n, row in enumerate(validated("ask", "box", "-n", "4")):
        validated("tell", "box", row["id"], str(n))
    validated("refine", "box", "-n", "3")
    assert validated("status", "box")["spending"]["spent"] == 4
    validated("settings", "box", "--budget", "none")
    validated("log", "box")


def several_results(validated):
    Path("lab.csv").write_text(
        "id,T,t,yield,ok,phase\nA,1,3,50,yes,fcc\nB,2,1,60,no,bcc\nC,3,2,failed,,\nD,4,5,,,\n"
        "E,5,1,,,\nF,6,2,70,yes,fcc\nG,7,3,80,no,bcc\n"
    )
    targets = ("--target", "yield", "--target", "ok", "--target", "phase")
    validated("new", "lab", "--pool", "lab.csv", "--id", "id", *targets)
    validated("tell", "lab", "D", "yield=55", "ok=no")
    validated("tell", "lab", "E", "failed", "--note", ODD)
    validated("tell", "lab", "E", "failed", "--accident")
    again = validated("tell", "lab", "D", "yield=56", "--repeat")
    validated("withdraw", "lab", "D", "--event", str(again["event"]))
    validated("withdraw", "lab", "D", "--quantity", "ok")
    Path("r.csv").write_text("id,yield,ok,phase\nD,,yes,fcc\nE,12,n/a,\n")
    validated("tell", "lab", "--file", "r.csv", "--dry-run")
    validated("tell", "lab", "--file", "r.csv")
    validated("log", "lab")


def test_what_a_campaign_with_several_quantities_prints_obeys_the_schemas(validated):
    with measured(YIELD, PURITY, CRYSTALLISED, PHASE, store="sqlite:///weal.db") as one:
        teach(one, ids(0, 4))
    for words in (["status", "runs"], ["ask", "runs"], ["show", "runs", "R-2"]):
        validated(*words)  # without a model
    with open_campaign("runs", "sqlite:///weal.db") as one:
        teach(one, ids(4, 20))
    runs().head(3).to_csv("new.csv", index=False)
    for words in (
        ["ask", "runs", "-n", "2"], ["ask", "runs", "--check", "1"], ["ask", "runs", "--again"],
        ["status", "runs"], ["show", "runs", "R-2"], ["show", "runs", "R-0"],
        ["predict", "runs", "new.csv"], ["predict", "runs", "new.csv", "--quantity", "phase"],
        ["plot", "runs", "--to", "pictures"], ["plot", "runs", "--quantity", "purity"],
        ["list"],
        ["export", "runs", "--what", "predictions", "--to", "predictions.csv"],
    ):  # fmt: skip
        validated(*words)
    found = sorted(path.as_posix() for path in Path("pictures").rglob("predicted.png"))
    assert found == ["pictures/purity/predicted.png", "pictures/yield/predicted.png"]


def test_what_campaigns_print_obeys_the_schemas(validated):
    several_results(validated)
    begin_bare()  # without a model
    for words in (
        ["ask", "bare", "-n", "2"], ["ask", "bare", "--again"], ["show", "bare", "A-0003"],
        ["status", "bare"], ["list"], ["list", "--all"], ["settings", "bare"],
        ["tell", "bare", "A-0001", "3.5", "--noise", "0.1", "--note", ODD, "--sure"],
        ["tell", "bare", "A-0001", "3.6", "--repeat", "--key", "k"],
        ["tell", "bare", "A-0001", "3.7", "--replace"], ["withdraw", "bare", "A-0001"],
        ["skip", "bare", "A-0002", "--note", ODD], ["show", "bare", "A-0002"],
        ["skip", "bare", "A-0002", "--undo"], ["settings", "bare", "--title", "<b>=1"],
        ["archive", "bare"],
        ["copy", "bare", "other"], ["copy", "bare", "fresh", "--without-labels"], ["log", "other"],
        ["settings", "bare", "--acquisition", "igs,ivr", "--goal", "2", "--no-outliers"],
        ["settings", "bare", "--warp", "asinh"], ["settings", "bare", "--warp", "off"],
        ["log", "bare"], ["log", "bare", "--id", "nobody"], ["list"],
    ):  # fmt: skip
        validated(*words)
    begin_alloys()  # with one
    ids = [row["id"] for row in validated("ask", "alloys", "-n", "3", "--lease", "1h")]
    checked = validated("ask", "alloys", "--check", "2")[0]["id"]
    validated("settings", "alloys", "--goal", "maximise", "--until", "best > 999")
    for goal in ("best 3", "above 300", "between 290 and 310", "minimise"):
        validated("status", "alloys", "--goal", goal)
        validated("best", "alloys", "--goal", goal, "-n", "2")
    validated("settings", "alloys", "--goal", "learn")
    assert validated("ask", "alloys", "--key", "k") == validated("ask", "alloys", "--key", "k")
    validated("tell", "alloys", ids[0], "9999")
    validated("tell", "alloys", checked, "310", "--sure")
    Path("r.csv").write_text(f"sample,hardness\n{ids[1]},311\n{ids[2]},failed\nA-0030,\nA-99,1\n")
    validated("tell", "alloys", "--file", "r.csv", "--dry-run")
    Path("r.csv").write_text(f"sample,hardness\n{ids[1]},311\n{ids[2]},failed\nA-0030,\n")
    validated("tell", "alloys", "--file", "r.csv")
    status = validated("status", "alloys", "--goal", "3")
    assert status["suspects"]
    assert status["beliefs"]
    assert status["check"]
    validated("show", "alloys", ids[1])
    validated("settings", "alloys", "--lease", "2d")
    write_pool("more.csv", n=5, told=2, first=90)
    validated("add", "alloys", "more.csv")
    validated("new", "odd", "--pool", "more.csv", "--id", "sample", "--target", "hardness")
    refine_box(validated)
    kinds = {event["kind"] for event in validated("log", "alloys") + validated("log", "bare")}
    assert kinds == SCHEMAS["log"]["$defs"].keys()
    validated("export", "alloys", "--to", "labels.csv")
    validated("plot", "alloys", "--to", "pictures")
    validated("predict", "alloys", "more.csv")
    validated("predict", "alloys", "more.csv", "--to", "predicted.csv")
    validated("doctor")
    validated("doctor", "--store", "weal.db", "--rescue", "saved")
    validated("doctor", "--store", "none.db", code=1)
    validated("backup", "copy.db")
    make_tokens(validated)
    assert with_json() - validated.seen == {
        name for name in with_json() if name.startswith("bench-") or name == "simulate"
    }


def make_tokens(validated):
    validated("token", "add", "robot-1", "--may", "measure", "--campaign", "alloys")
    validated("token", "add", "ann", "--may", "manage", "--expires", "30d")
    validated("token", "limit", "ann", "--may", "read,tell", "--expires", "7d")
    validated("token", "revoke", "ann")
    assert [one["state"] for one in validated("token", "list")] == ["revoked", "valid"]


@pytest.mark.parametrize("store", ["campaigns.db", "backup.db"])
def test_stores_of_older_versions_obey_them_too(validated, store):
    shutil.copy(GOLDEN / store, "old.db")
    for row in validated("list", "--all", "--store", "old.db"):
        for command in ("log", "settings", "status"):
            validated(command, "--store", "old.db", row["name"])


def test_what_the_benchmark_prints_obeys_the_schemas(validated, monkeypatch):
    monkeypatch.setenv("WEAL_CACHE", "cache")
    monkeypatch.delenv("WEAL_DATA", raising=False)
    monkeypatch.setattr("weal.benchmark.report.write", lambda *_: None)
    tiny = ["--realisations", "2", "--queries", "2", "--jobs", "1"]
    validated("bench", "tasks")
    validated("bench", "methods")
    methods = ["--methods", "weal-random,weal-auto"]
    pools = ["--tasks", "needle,california-pool", "--methods", "weal-best,weal-auto"]
    assert validated("bench", "goals", *pools, *tiny)["skipped"]
    validated("bench", "run", "--tasks", "gramacy,malaria-standin", *methods, *tiny)
    write_pool("table.csv", n=80, told=80)
    validated("simulate", "table.csv", "--target", "hardness", *methods, *tiny)
