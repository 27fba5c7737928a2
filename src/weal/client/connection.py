"""A connection to the API of a server: requests, retries, and errors by their codes.

A request that fails is sent again for up to `patience` seconds. That is safe: reads change nothing,
and every write has an idempotency key, so a write that reached the server is not repeated. A
problem of the server (RFC 9457) becomes the exception that a local campaign raises, found by its
`code`. This module needs only the standard library.
"""

import http.client
import json
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

from weal import __version__, errors
from weal.errors import Unreachable, WealError

API_PATH = "/api/v1"
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts
BUSY = (429, 502, 503, 504)  # answers of a server, or of its proxy, that ask for another attempt
Json = object


class Reply(NamedTuple):
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    content: bytes

    def json(self) -> Json:
        """The content as JSON."""
        return json.loads(self.content) if self.content else None


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the path that it is served under."""

    scheme: str
    host: str
    port: int | None
    root: str

    @classmethod
    def parse(cls, url: str) -> tuple["Address", str | None]:
        """The address in a URL, and the campaign, if the URL names one.

        >>> Address.parse("https://lab.example/weal/campaigns/alloys")
        (Address(scheme='https', host='lab.example', port=None, root='/weal'), 'alloys')
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ValueError(f"{url!r} is not the address of a server; write http://HOST:PORT")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("the address has a token or a user in it; give the token as `token`")
        path, campaign = parts.path.removesuffix("/"), None
        for part in (f"{API_PATH}/campaigns/", "/campaigns/"):
            if part in f"{path}/":
                path, _, rest = path.partition(part)
                campaign = unquote(rest.partition("/")[0]) or None
                break
        return cls(parts.scheme, parts.hostname, port, path.removesuffix(API_PATH)), campaign

    def open(self, timeout: float) -> http.client.HTTPConnection:
        """A new connection, with TLS for https."""
        if self.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                self.host, self.port, timeout=timeout, context=context
            )
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)


@dataclass(slots=True)
class Connection:
    """A connection that is opened again when it breaks; threads take turns."""

    address: Address
    token: str = field(repr=False)
    timeout: float = 120.0  # seconds that an answer may take
    patience: float = 60.0  # seconds for which a request that fails is sent again
    sleep: Callable[[float], None] = time.sleep
    _open: http.client.HTTPConnection | None = None
    _lock: Lock = field(default_factory=Lock)

    def get(self, path: str, **query: object) -> Reply:
        """Read from a path below /api/v1."""
        return self._request("GET", path, query, None, {})

    def send(self, path: str, body: Mapping[str, object], method: str = "POST") -> Reply:
        """Send JSON; a random idempotency key is added if there is no `key`."""
        key = str(body.get("key") or uuid.uuid4())
        given = {name: one for name, one in body.items() if one is not None and name != "key"}
        try:
            text = json.dumps(given, allow_nan=False).encode()
        except ValueError as error:
            raise ValueError("a number is NaN or infinite; skip the row, or tell failed") from error
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self._request(method, path, {}, text, headers)

    def upload(self, path: str, content: bytes, name: str, options: Mapping[str, object]) -> Reply:
        """Send a table in a file, and options as JSON."""
        key = str(options.get("key") or uuid.uuid4())
        given = {name: one for name, one in options.items() if one is not None and name != "key"}
        body, boundary = _multipart(content, name, json.dumps(given, allow_nan=False))
        kind = f"multipart/form-data; boundary={boundary}"
        headers = {"Content-Type": kind, "Idempotency-Key": key}
        return self._request("POST", path, {}, body, headers)

    def lines(self, path: str, **query: object) -> Iterator[Json]:
        """The lines of streamed NDJSON, each as soon as it arrives, on a separate connection."""
        connection = self.address.open(self.timeout)
        try:
            connection.request(
                "GET",
                self._target(path, query),
                headers={**self._headers(), "Accept": "application/x-ndjson"},
            )
            reply = connection.getresponse()
            if reply.status >= 400:
                raise error_of(_reply(reply))
            for line in reply:
                yield json.loads(line)
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        with self._lock:
            self._drop()

    def _headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json",
            "User-Agent": f"weal/{__version__}",
        }

    def _target(self, path: str, query: Mapping[str, object]) -> str:
        given = {name: one for name, one in query.items() if one is not None}
        words = {
            name: str(one).lower() if isinstance(one, bool) else one for name, one in given.items()
        }
        text = urlencode(words, doseq=True)
        return f"{self.address.root}{API_PATH}{path}" + (f"?{text}" if text else "")

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, object],
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> Reply:
        target, sent = self._target(path, query), {**self._headers(), **headers}
        end, pause = time.monotonic() + self.patience, FIRST_PAUSE
        while True:
            try:
                reply = self._once(method, target, content, sent)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, ssl.SSLCertVerificationError) or time.monotonic() >= end:
                    raise self._unreachable(error) from error
            else:
                if reply.status not in BUSY or time.monotonic() >= end:
                    return _checked(reply)
                pause = max(pause, _retry_after(reply))
            self.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _once(
        self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        """Send a request once."""
        with self._lock:
            if self._open is None:
                self._open = self.address.open(self.timeout)
            try:
                self._open.request(method, target, body=content, headers=dict(headers))
                return _reply(self._open.getresponse())
            except BaseException:  # also Ctrl-C: the answer to come belongs to nobody
                self._drop()
                raise

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _unreachable(self, error: Exception) -> Unreachable:
        port = "" if self.address.port is None else f":{self.address.port}"
        place = f"{self.address.scheme}://{self.address.host}{port}{self.address.root}"
        return Unreachable(
            f"{place} gave no answer ({type(error).__name__}: {error}); check that `weal serve` "
            "runs there and that the address is right, then call this again: what was saved is "
            "not saved twice"
        )


def _multipart(content: bytes, name: str, options: str) -> tuple[bytes, str]:
    """A form with a file `table` and the text `options`, and the boundary of its parts."""
    boundary = uuid.uuid4().hex
    safe = "".join("_" if one in '"\\\r\n' else one for one in name)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="options"\r\n\r\n{options}\r\n',
        f'--{boundary}\r\nContent-Disposition: form-data; name="table"; filename="{safe}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n",
    ]
    return "".join(parts).encode() + content + f"\r\n--{boundary}--\r\n".encode(), boundary


def _reply(found: http.client.HTTPResponse) -> Reply:
    headers = {name.lower(): value for name, value in found.getheaders()}
    return Reply(found.status, headers, found.read())


def _retry_after(reply: Reply) -> float:
    """Seconds that the server asks for."""
    text = reply.headers.get("retry-after", "")
    return min(float(text), LONGEST_PAUSE) if text.isdigit() else 0.0


def _checked(reply: Reply) -> Reply:
    """The answer, if it is one of the API; an error of the server is raised."""
    if reply.status >= 400:
        raise error_of(reply)
    if reply.status >= 300 and reply.status != 304:
        raise WealError(
            f"the server sends elsewhere ({reply.headers.get('location', 'no address')}); give "
            "that address, with its path, as `url`"
        )
    return reply


def error_of(reply: Reply) -> Exception:
    """The exception for a problem of the server: the class of its code, with its message."""
    try:
        problem = reply.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or "detail" not in problem:
        return WealError(
            f"the answer ({reply.status}) is not from the API of weal; check the address, with the "
            "path that weal is served under"
        )
    code, detail = str(problem.get("code", "failed")), str(problem["detail"])
    kind = next((one for one in _error_kinds() if one.code == code), None)
    found: Exception = (kind or WealError)(detail)
    if code == "invalid_value":
        found = ValueError(detail)
    found.__dict__.update(code=code, request_id=problem.get("request_id"))
    return found


def _error_kinds() -> list[type[WealError]]:
    found = [one for one in vars(errors).values() if isinstance(one, type)]
    return [one for one in found if issubclass(one, WealError)]
