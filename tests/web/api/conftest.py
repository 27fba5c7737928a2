"""Clients of the API of a real server."""

import httpx
import pytest

from web.visiting import PATIENCE, token_of


class Client:
    """A program with a token: paths are below /api/v1/campaigns."""

    def __init__(self, server, token=None):
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{server['port']}",
            timeout=PATIENCE,
            headers={"Authorization": f"Bearer {token or token_of(server)}"},
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=1.0),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()

    def get(self, path="", **more):
        return self.http.get(f"/api/v1/campaigns{path}", **more)

    def post(self, path, body=None, **more):
        return self.http.post(f"/api/v1/campaigns{path}", json=body, **more)

    def patch(self, path, body, **more):
        return self.http.patch(f"/api/v1/campaigns{path}", json=body, **more)


def code_of(answer, status):
    """The code of the problem that an answer is."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["request_id"] == answer.headers["x-request-id"]
    assert found["detail"]
    return found["code"]


@pytest.fixture
def api_server(servers, steel):
    """A server whose jobs run in its own process, at once."""
    return servers.start(steel, worker="here")


@pytest.fixture
def api(api_server):
    with Client(api_server) as client:
        yield client
