"""The head of a request: method, address and headers, read once for all checks.

A header that must be given once is ignored if it comes twice. A server behind a proxy has a root
path (`--root-path /weal`): the app sees addresses without it, also where the proxy has removed it
already.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from weal.web.problems import API, VERSION, is_api
from weal.web.request_body import Message

ONCE = ("authorization", "content-type", "host", "origin")  # ignored if they come twice
MAX_COOKIES = 50  # of one name
_PREDICTION = re.compile(rf"{API}/{VERSION}/campaigns/[^/]+/predictions")
_HOST_HEADER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Head:
    """The method, address and headers of a request."""

    method: str
    scheme: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    client: str = ""  # its address

    @property
    def hostname(self) -> str:
        """The name in the Host header without its port; empty if it is malformed."""
        return hostname(self.headers.get("host", ""))

    @property
    def bearer(self) -> str:
        """The token in the header Authorization; empty without one."""
        kind, _, given = self.headers.get("authorization", "").partition(" ")
        return given.strip() if kind.lower() == "bearer" else ""

    @property
    def content_type(self) -> str:
        """The type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_open(self) -> bool:
        """Whether the address is public."""
        return self.is_read and (self.path == "/healthz" or self.path.startswith("/static/"))

    @property
    def is_part(self) -> bool:
        """Whether htmx asks for a part of a page."""
        return "hx-request" in self.headers

    @property
    def is_api(self) -> bool:
        """Whether the address answers programs."""
        return is_api(self.path)

    @property
    def is_read(self) -> bool:
        """Whether the method writes nothing."""
        return self.method in ("GET", "HEAD")

    @property
    def is_prediction(self) -> bool:
        """Whether a program sends rows to predict: a POST that writes nothing."""
        return self.method == "POST" and _PREDICTION.fullmatch(self.path) is not None

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether a browser says that another site, or another port, sends the request."""
        return self.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")

    def cookies(self, name: str) -> list[str]:
        """The values of all cookies with this name; those of other servers may be malformed."""
        pairs = (one.strip().partition("=") for one in self.headers.get("cookie", "").split(";"))
        return [value.strip('"') for key, _, value in pairs if key == name][:MAX_COOKIES]


def read_head(scope: Message) -> Head:
    """The head of a request."""
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name, text = key.decode("latin-1"), value.decode("latin-1")
        if name in headers and name in ONCE:
            text = ""  # given twice: ignored
        elif name in headers:
            text = f"{headers[name]}{'; ' if name == 'cookie' else ', '}{text}"
        headers[name] = text
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    client = (scope.get("client") or ("",))[0]
    return Head(scope["method"], scope.get("scheme", "http"), scope["path"], query, headers, client)


def without_root(scope: Message, root: str) -> Message:
    """The request as the app sees it, without the root path."""
    path: str = scope["path"]
    if root and (path == root or path.startswith(f"{root}/")):
        path = path.removeprefix(root) or "/"
    return {**scope, "path": path, "root_path": ""}


def hostname(host: str) -> str:
    """The name in a Host header without its port; empty if it is malformed.

    >>> hostname("LAB-PC.example.org:8765"), hostname("[::1]:80"), hostname("evil@127.0.0.1")
    ('lab-pc.example.org', '::1', '')
    """
    found = _HOST_HEADER.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""
