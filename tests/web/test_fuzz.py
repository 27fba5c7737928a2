"""W9: whatever is sent, no answer is a 5xx, and answers are those that the description promises."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from shell import events
from soak import count
from weal.store.protocol import open_store
from weal.web.access import Access, AccessPolicy
from weal.web.app import create_app
from web.visiting import token_of

CASES = count(300, long=1000)


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


def described(folder):
    """The description of the app, with a campaign that is there in place of any name."""
    app = create_app(open_store("memory:"), policy=AccessPolicy(Access(folder), 80), folder=folder)
    return app.openapi()


@pytest.fixture
def schema(servers, steel, tmp_path):
    import schemathesis

    server = servers.start(steel)
    found = schemathesis.openapi.from_dict(described(tmp_path))
    found.config.update(base_url=f"http://127.0.0.1:{server['port']}")
    return found, {"Authorization": f"Bearer {token_of(server)}", "Cookie": "weal-who=fuzz"}


def test_no_request_breaks_the_server(schema, steel):
    found, headers = schema
    operations = [one.ok() for one in found.get_all_operations()]
    each = -(-CASES * 5 // (4 * len(operations)))  # pages without parameters take one case each
    sent, wanted = 0, checks()

    def run(operation):
        quick = settings(
            max_examples=each,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
            deadline=None,
            derandomize=True,
        )

        @quick
        @given(case=operation.as_strategy())
        def attempt(case):
            nonlocal sent
            sent += 1
            if "name" in (case.path_parameters or {}) and sent % 2:
                case.path_parameters["name"] = "steel"
            answer = case.call(headers=headers, allow_redirects=False)
            case.validate_response(answer, checks=wanted)

        attempt()

    for operation in operations:
        run(operation)
    assert sent >= CASES * 0.9
    assert events("steel", steel)[0]


def test_the_description_names_every_page(tmp_path):
    paths = described(tmp_path)["paths"]
    assert {"/", "/c/{name}/bench", "/c/{name}/tell", "/c/{name}/watch"} <= set(paths)
