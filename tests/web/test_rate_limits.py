"""Rate limits: a robot does not notice them, a runaway script does; failed logins are slowed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.web.rate_limits import (
    BURST_SECONDS,
    FAILED_LOGINS_BURST,
    REQUESTS_PER_SECOND,
    LoginLimit,
    RateLimit,
    address_key,
    request_limit,
)
from web.test_tokens import Person, token
from web.visiting import Visitor, client_of, token_of


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


@given(st.floats(0.1, 100.0), st.floats(1.0, 50.0), st.lists(st.floats(0.0, 3.0), max_size=200))
def test_a_bucket_passes_what_the_definition_says(rate, burst, pauses):
    """Against the definition: in every window of T seconds at most burst + rate T requests."""
    clock, passed = Clock(), []
    limit = RateLimit(rate, burst, clock=clock)
    for pause in pauses:
        clock.now += pause
        if not limit.take("x"):
            passed.append(clock.now)
    for i, start in enumerate(passed):
        for n, end in enumerate(passed[i:], start=1):
            assert n <= burst + rate * (end - start) + 1e-6


@given(st.floats(0.05, 100.0), st.floats(1.0, 50.0))
def test_after_the_wait_that_is_named_the_next_request_passes(rate, burst):
    clock = Clock()
    limit = RateLimit(rate, burst, clock=clock)
    for _ in range(math.ceil(burst) + 1):
        wait = limit.take("x")
    assert wait > 0.0
    assert limit.wait("x") == pytest.approx(wait)
    clock.now += wait * 0.9
    assert limit.take("x") > 0.0
    clock.now += wait * 0.1 + 1e-6
    assert limit.take("x") == 0.0


def test_a_clock_that_goes_back_gives_nothing_away():
    clock = Clock()
    limit = RateLimit(1.0, 2.0, clock=clock)
    assert [limit.take("x") for _ in range(2)] == [0.0, 0.0]
    clock.now = -100.0
    assert limit.take("x") > 0.0


def test_memory_is_bounded_and_the_busy_ones_stay():
    clock = Clock()
    limit = RateLimit(1.0, 3.0, most=100, clock=clock)
    for n in range(100_000):
        limit.take(f"address {n}")
        if n % 50 == 0 and n < 200:
            limit.take("busy")
    assert len(limit) == 100
    for _ in range(3):
        limit.take("busy")
    for n in range(99):
        limit.take(f"another {n}")
    assert limit.take("busy") > 0.0


def test_a_robot_with_a_plate_does_not_notice_the_default_and_a_runaway_script_does():
    clock = Clock()
    limit = RateLimit(REQUESTS_PER_SECOND, REQUESTS_PER_SECOND * BURST_SECONDS, clock=clock)
    for _ in range(48):  # a plate of 96 results, told one by one at once, every half hour
        for _ in range(3 * 96):
            assert limit.take("robot") == 0.0
        clock.now += 1800.0
    for _ in range(3600):  # a program that asks and tells every second
        assert limit.take("robot") == limit.take("robot") == 0.0
        clock.now += 1.0
    clock.now += 3600.0
    passed = 0
    for _ in range(100 * 60):  # 100 requests a second for a minute
        passed += limit.take("robot") == 0.0
        clock.now += 0.01
    expected = REQUESTS_PER_SECOND * (BURST_SECONDS + 60)
    assert passed == pytest.approx(expected, rel=0.01)
    assert passed < 100 * 60 / 2


def test_no_limit_is_none():
    limit = request_limit(0.0)
    assert not any(limit.take("x") for _ in range(10_000))
    assert len(limit) == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "192.0.2.2", False),
    ],
)
def test_of_a_network_of_ipv6_there_is_one_bucket(one, other, same):
    assert (address_key(one) == address_key(other)) == same


def test_a_runaway_script_is_answered_with_429_and_the_others_are_not(servers, steel):
    server = servers.start(steel, rate=0.2)  # 10 at once
    wild, calm = (token(steel, name, "read") for name in ("wild", "calm"))
    with (
        Person(server, wild, by_form=False) as script,
        Person(server, calm, by_form=False) as other,
    ):
        answers = [script.get("/") for _ in range(14)]
        assert [one.status_code for one in answers[:10]] == [200] * 10
        assert answers[-1].status_code == 429
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 5
        assert "try again in" in answers[-1].text
        problem = script.get("/api/v1/campaigns")
        assert problem.status_code == 429
        assert problem.headers["content-type"] == "application/problem+json"
        assert problem.json()["code"] == "too_many_requests"
        assert int(problem.headers["Retry-After"]) >= 1
        assert script.get("/static/weal.css").status_code == 200
        assert script.get("/healthz").status_code == 200
        assert other.get("/").status_code == 200
    with Visitor(server) as ann, Visitor(server, who="bo") as bo:  # each browser has its own
        assert {ann.get("/work").status_code for _ in range(30)} == {200, 429}
        assert bo.get("/").status_code == 200


def test_failed_logins_are_slowed_down_and_robots_beside_them_are_not(servers, steel):
    server, good = servers.start(steel), token(steel, "robot-1", "read")
    fresh = token(steel, "robot-2", "read")
    with client_of(server) as client:

        def status(secret):
            return client.get("/", headers={"Authorization": f"Bearer {secret}"}).status_code

        assert status(good) == 200
        tried = [status(f"weal_{'x' * 40}{n}") for n in range(30)]
        assert tried[: int(FAILED_LOGINS_BURST)] == [401] * int(FAILED_LOGINS_BURST)
        assert tried[-1] == 429
        assert status(good) == 200  # known: it was valid lately
        refused = client.get("/", headers={"Authorization": f"Bearer {fresh}"})
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) >= 1
        origin = {"Origin": str(client.base_url)}
        assert client.post("/login", data={"token": fresh}, headers=origin).status_code == 429
        assert client.get("/", params={"token": token_of(server)}).status_code == 429
        assert client.get("/healthz").status_code == 200


def test_the_valid_tokens_that_are_remembered_are_bounded():
    limit = LoginLimit()
    for n in range(5000):
        limit.note_success(f"digest {n}")
    for _ in range(100):
        limit.note_failure("192.0.2.1")
    assert limit.wait("192.0.2.1", "digest 4999") == 0.0
    assert limit.wait("192.0.2.1", "digest 0") > 0.0
    assert limit.wait("192.0.2.2", "digest 0") == 0.0


def test_a_login_form_that_is_large_or_slow_or_odd_is_refused(servers, steel):
    server = servers.start(steel)
    with client_of(server) as client:
        headers = {
            "Origin": str(client.base_url), "Content-Type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        for content in (b"", b"token", b"token=" + b"x" * 20_000, b"\xff\xfe=%ff", b"&" * 200):
            answer = client.post("/login", content=content, headers=headers)
            assert answer.status_code == 401, content[:20]
            assert "set-cookie" not in answer.headers
