"""Rate limits: a token bucket for each sender of requests.

A bucket holds up to `burst` requests and is refilled with `rate` of them each second. A sender with
an empty bucket waits. The defaults let a robot send a whole plate of results at once and ask every
second, and stop a script that sends requests in an endless loop within seconds:

    requests         20 each second, 1000 at once   of a token, or of a browser's session
    failed logins    1 in 3 seconds, 20 at once     of an address

A bucket that is full need not be kept, so that memory is bounded: the least recently used buckets
are dropped beyond `most`. Of IPv6, the first 64 bits are an address: a machine has all of the rest.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

REQUESTS_PER_SECOND = 20.0
BURST_SECONDS = 50.0  # of requests that may come at once
FAILED_LOGINS_PER_SECOND = 1 / 3
FAILED_LOGINS_BURST = 20.0
MAX_BUCKETS = 10_000
MAX_KNOWN_TOKENS = 1000


class RateLimit:
    """The buckets of all senders; a rate of 0 means no limit."""

    def __init__(
        self,
        rate: float,
        burst: float,
        most: int = MAX_BUCKETS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # content, and when

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, sender: str) -> float:
        """Take one request from the bucket: 0, or the seconds to wait if it is empty.

        >>> limit = RateLimit(rate=0.5, burst=2, clock=lambda: 0.0)
        >>> [limit.take("robot-1") for _ in range(3)]
        [0.0, 0.0, 2.0]
        """
        if not self._rate:
            return 0.0
        with self._lock:
            content = self._content(sender)
            if content < 1.0:
                return (1.0 - content) / self._rate
            self._buckets[sender] = content - 1.0, self._clock()
            self._buckets.move_to_end(sender)
            while len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return 0.0

    def wait(self, sender: str) -> float:
        """The seconds to wait before the next request, without taking one."""
        if not self._rate:
            return 0.0
        return max(0.0, (1.0 - self._content(sender)) / self._rate)

    def _content(self, sender: str) -> float:
        content, since = self._buckets.get(sender, (self._burst, self._clock()))
        return min(self._burst, content + self._rate * max(0.0, self._clock() - since))


def request_limit(rate: float = REQUESTS_PER_SECOND) -> RateLimit:
    """The limit of requests with this rate."""
    return RateLimit(rate, rate * BURST_SECONDS)


def login_limit() -> RateLimit:
    """The limit of failed logins."""
    return RateLimit(FAILED_LOGINS_PER_SECOND, FAILED_LOGINS_BURST)


def address_key(address: str) -> str:
    """The address of a client as one sender: of IPv6, the network.

    >>> address_key("192.0.2.7"), address_key("2001:db8::1"), address_key("2001:db8::2:1")
    ('192.0.2.7', '2001:db8::/64', '2001:db8::/64')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(found, IPv6Address):
        network = int(found) >> 64 << 64
        return f"{IPv6Address(network)}/64"
    return str(found)


class LoginLimit:
    """The failed logins of every address, and the tokens that were valid lately.

    After many failures of an address, further tokens from it are refused unread for a while, unless
    the token was valid lately: one script with a wrong token does not stop the robots beside it.
    """

    def __init__(self, failures: RateLimit | None = None) -> None:
        self._failures = failures or login_limit()
        self._known: OrderedDict[str, None] = OrderedDict()  # digests
        self._lock = threading.Lock()

    def wait(self, address: str, digest: str = "") -> float:
        """The seconds to wait before this token is looked at; 0: none."""
        return 0.0 if digest in self._known else self._failures.wait(address_key(address))

    def note_failure(self, address: str) -> None:
        """Count a token that is not valid."""
        self._failures.take(address_key(address))

    def note_success(self, digest: str) -> None:
        """Remember a valid token."""
        with self._lock:
            self._known[digest] = None
            self._known.move_to_end(digest)
            while len(self._known) > MAX_KNOWN_TOKENS:
                self._known.popitem(last=False)
