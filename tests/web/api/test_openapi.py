"""The OpenAPI document: valid, complete, and every example in it works as it says."""

import json
from importlib.resources import files

import httpx
import jsonschema
import pytest
from referencing import Registry, Resource

import weal
from weal.samples import path
from weal.web.api.openapi import all_operations, document
from weal.web.api.operations import Example
from web.visiting import token_of

DOCUMENT = json.loads(document())


@pytest.fixture
def alloys(servers, tmp_path):
    """A server on the sample, with a model: its examples run in one order."""
    url = f"sqlite:///{tmp_path}/alloys.db"
    weal.open_campaign(
        "alloys", url, pool=path("alloys.csv"), id_column="sample", target="hardness", by="ann"
    ).close()
    server = servers.start(url, worker="here")
    with httpx.Client(
        base_url=f"http://127.0.0.1:{server['port']}/api/v1",
        headers={"Authorization": f"Bearer {token_of(server)}"},
        timeout=300,
        trust_env=False,
    ) as client:
        yield client


def validator(schema):
    whole = Resource.from_contents(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **DOCUMENT}
    )
    registry = Registry().with_resource("api", whole)
    absolute = json.loads(json.dumps(schema).replace('"#/components', '"api#/components'))
    return jsonschema.Draft202012Validator(absolute, registry=registry)


def send(client, operation, example: Example):
    address = operation.path.format(**example.path)
    if example.media != "application/json":
        more = {"content": example.body, "headers": {"Content-Type": example.media}}
    else:
        more = {} if example.body is None else {"json": example.body}
    return client.request(operation.method, address, params=dict(example.query), **more)


def test_every_example_gives_the_answer_that_is_described(alloys):
    for operation in all_operations():
        described = DOCUMENT["paths"][operation.path][operation.method.lower()]
        assert operation.examples, operation.id
        for example in operation.examples:
            answer = send(alloys, operation, example)
            assert answer.status_code == example.status, (operation.id, example.name, answer.text)
            kind = answer.headers["content-type"].partition(";")[0]
            content = described["responses"][str(operation.status)]["content"]
            assert kind in content, operation.id
            if kind == "application/json" and content[kind].get("schema"):
                validator(content[kind]["schema"]).validate(answer.json())


def test_every_schema_is_valid_and_every_reference_is_there():
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert name
    text = json.dumps(DOCUMENT)
    for part in text.split('"$ref": "')[1:]:
        place = part.partition('"')[0]
        found = DOCUMENT
        for key in place.removeprefix("#/").split("/"):
            found = found[key]


def test_bodies_and_examples_agree():
    for operation in all_operations():
        for example in operation.examples:
            if operation.body is not None and example.media == "application/json":
                body = {} if example.body is None else example.body
                jsonschema.Draft202012Validator(operation.body).validate(body)


def test_schemas_of_the_shell_are_used_by_name():
    shell = {one.name.removesuffix(".json") for one in (files("weal.cli") / "schemas").iterdir()}
    named = {one.answer for one in all_operations() if isinstance(one.answer, str)}
    assert named <= shell
    assert {"tell", "skip", "withdraw", "status", "best", "new", "settings"} <= named


def test_the_document_is_served_to_a_token_alone(server):
    base = f"http://127.0.0.1:{server['port']}/api/v1/openapi.json"
    assert httpx.get(base, trust_env=False).status_code == 401
    found = httpx.get(
        base, headers={"Authorization": f"Bearer {token_of(server)}"}, trust_env=False
    )
    assert found.json() == DOCUMENT
    assert found.headers["content-type"] == "application/json"
