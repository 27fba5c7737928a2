"""Whatever a program sends, no answer is a 5xx, and answers are those that OpenAPI describes."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import weal
from shell import events
from soak import count
from weal.web.api.openapi import document
from web.visiting import PATIENCE, token_of

CASES = count(200, long=1300)  # single requests
STEPS = 12  # of a sequence of requests
SEQUENCES = count(10, long=70)
WAIT_SECONDS = 0.05  # the longest wait for events: a random one is half a minute
QUICK = settings(
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    deadline=None,
    derandomize=True,
)


def checks():
    """Imported here, as it takes a second that other workers of pytest do without."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    return (
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    )


@pytest.fixture
def schema(servers, steel):
    """The description of a server, whose campaign has a model."""
    import schemathesis

    with weal.open_campaign("steel", steel, by="ann") as campaign:
        campaign.tell({f"A-{n}": 300.0 + n % 17 - 2.0 * (n % 5) for n in range(14)})
    server = servers.start(steel, worker="here")
    found = schemathesis.openapi.from_dict(json.loads(document()))
    found.config.update(base_url=f"http://127.0.0.1:{server['port']}/api/v1")
    return found, {"Authorization": f"Bearer {token_of(server)}"}


def tame(case, n):
    """The n-th case: three of four on a campaign that is there, half on rows that are there."""
    if n % 4 and "name" in (case.path_parameters or {}):
        case.path_parameters["name"] = "steel"
    if case.query and case.query.get("wait"):
        case.query["wait"] = WAIT_SECONDS
    if n % 2:
        return
    own = f"A-{n % 40}"
    if case.query and "id" in case.query:
        case.query["id"] = own
    if case.query and "goal" in case.query:
        case.query["goal"] = [("maximise", "above 7.5", "learn")[n % 3]]
    if isinstance(case.body, dict):
        case.body |= {"id": own} if "id" in case.body else {}
        case.body |= {"ids": [own]} if "ids" in case.body else {}


def test_no_request_breaks_the_server(schema, steel):
    found, headers = schema
    operations = [one.ok() for one in found.get_all_operations()]
    each = -(-CASES * 11 // (10 * len(operations)))  # some have fewer cases than these
    sent, wanted = 0, checks()

    def run(operation):
        @settings(QUICK, max_examples=each)
        @given(case=operation.as_strategy())
        def attempt(case):
            nonlocal sent
            sent += 1
            tame(case, sent)
            answer = case.call(headers=headers, timeout=PATIENCE)
            case.validate_response(answer, checks=wanted)

        attempt()

    for operation in operations:
        run(operation)
    assert sent >= CASES * 0.9
    assert events("steel", steel)[0]


def test_no_sequence_of_requests_breaks_the_server(schema, steel):
    found, headers = schema
    sent, wanted = 0, checks()

    class Workflow(found.as_state_machine()):
        """Requests that use the answers before them: rows that were asked, new campaigns."""

        def before_call(self, case):
            nonlocal sent
            sent += 1
            tame(case, sent)

        def get_call_kwargs(self, case):
            return {"headers": headers, "timeout": PATIENCE}

        def validate_response(self, response, case, **_):
            case.validate_response(response, checks=wanted)

    Workflow.run(settings=settings(QUICK, max_examples=SEQUENCES, stateful_step_count=STEPS))
    assert sent >= SEQUENCES * STEPS * 0.6
    assert events("steel", steel)[0]
