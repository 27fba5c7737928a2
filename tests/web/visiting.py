"""A person with a browser, without one: forms are read from the page and sent back as they are."""

import http.client
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote, urlsplit

import httpx

PATIENCE = 300.0  # seconds: only what hangs meets it


class Forms(HTMLParser):
    """The forms of a page: where each goes, and its fields as they are."""

    def __init__(self):
        super().__init__()
        self.forms = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self.forms.append((found.get("action"), {}))
        elif tag == "input" and self.forms and found.get("name") and _counts(found):
            self.forms[-1][1][found["name"]] = found.get("value") or ""


def _counts(field):
    return field.get("type") not in ("checkbox", "radio") or "checked" in field


def client_of(server):
    """A client that waits however slow the machine is, and hangs up before the server does.

    The server ends a line that was idle for 5 seconds. A browser sends again what crosses that;
    this client would not.
    """
    return httpx.Client(
        base_url=f"http://127.0.0.1:{server['port']}",
        timeout=PATIENCE,
        limits=httpx.Limits(keepalive_expiry=1.0),
        trust_env=False,
        verify=False,
    )


class Visitor:
    """Somebody who has the token, and a name."""

    def __init__(self, server, who="ann"):
        self.base = f"http://127.0.0.1:{server['port']}"
        self.client = client_of(server)
        self.client.get("/", params={"token": token_of(server)})
        if who:
            self.client.cookies.set("weal-who", quote(who, safe=""))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def get(self, path, **more):
        return self.client.get(path, **more)

    def raw(self, path):
        """Status and text of a path that no client has tidied up; 400 where it cannot be sent."""
        cookies = "; ".join(f"{one.name}={one.value}" for one in self.client.cookies.jar)
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers={"Cookie": cookies})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except http.client.InvalidURL:
            return 400, ""
        finally:
            connection.close()

    def form(self, page, action):
        """The fields of the form of a page that goes there."""
        found = Forms()
        found.feed(self.get(page).text)
        return next(fields for place, fields in found.forms if place == action)

    def post(self, path, data, **headers):
        return self.client.post(path, data=data, headers={"Origin": self.base, **headers})

    def session(self):
        """The cookie with the session, as a header has it."""
        name = f"weal-{urlsplit(self.base).port}"
        return f"{name}={self.client.cookies[name]}"

    def secret(self):
        """The hidden field that makes a form one of this server's."""
        return re.search(r'name="form" value="([0-9a-f]+)"', self.get("/new").text)[1]

    def tell(self, name, id_, value, form, key, **more):
        return self.post(
            f"/c/{quote(name, safe='')}/tell",
            {"form": form, "key": key, "id": id_, "value": value, **more},
        )


def token_of(server):
    return urlsplit(server["url"]).query.removeprefix("token=")


def plain(page):
    """What a page says, without its tags."""
    return unescape(re.sub(r"<[^>]+>", " ", page))
