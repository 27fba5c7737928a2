"""Logins: the visit of a request, and the ways by which a browser gets a session.

    GET  /login           the form; a page that needs a login shows it too
    POST /login           303 with a new session, 401 for a token that is not valid
    GET  /...?token=      the address that `weal serve` printed: 303 to the same without the token
    GET  /...?code=       the same once, within a minute

The form is taken from pages of this server only, by its Origin: another site cannot log a browser
in under a name that is not its user's. Tokens with a name are taken from this form and from the
header Authorization, never from an address: addresses are logged by proxies, kept in histories, and
sent by others. A login begins a new session and ends the previous one of the browser.

Tokens of the store are looked up in a thread, since the store may wait for others.
"""

import asyncio
from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from weal.errors import WealError
from weal.store.tokens import PREFIX, digest_of
from weal.web.access import AccessPolicy, Visit, cookie_name
from weal.web.rate_limits import address_key
from weal.web.refusals import RequestRefused, too_many
from weal.web.request_body import Body
from weal.web.request_head import Head
from weal.web.sessions import SESSION_SECONDS

LOGIN = "/login"
LOGIN_BYTES = 8192  # of the form
MAX_BACK_LETTERS = LOGIN_BYTES // 4  # of the page that a login leads to: its % are quoted again
LOGIN_SECONDS = 10.0  # for the form to arrive
FORM_CONTENT_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
Moved = list[tuple[str, str]]  # headers of a redirect
_FORM = (
    '<form class="card stack" method="post" action="{root}/login">'
    '<input type="hidden" name="back" value="{back}">'
    '<label class="field"><span>Token</span><input class="wide" type="password" name="token" '
    'required maxlength="200" autocomplete="current-password" autofocus></label>'
    '<div class="line end"><button class="primary">Log in</button></div></form>'
    '<p class="soft small">weal token add NAME --may measure makes a token with your name.</p>'
)
_NO_LOGIN = "Not logged in. Open the address that weal serve printed, or enter a token."
_NO_TOKEN = "Not logged in: send the header `Authorization: Bearer TOKEN` with a valid token."
_NO_STORE = "The store cannot be read, so nobody can log in: see `weal doctor`."


class Logins:
    """The logins of a server."""

    def __init__(self, policy: AccessPolicy) -> None:
        self.policy, self._access, self._limit = policy, policy.access, policy.logins

    async def find_visit(self, head: Head) -> Visit | None:
        """The visit of a request; None without a valid token or session."""
        ids = head.cookies(cookie_name(self.policy.port))
        if head.is_api and (not head.is_read or head.is_from_elsewhere):
            ids = []  # programs write with a token, never with the cookie of a browser
        if not self._access.needs_store(head.bearer, ids):
            return self._visit(head, ids)
        try:
            return await asyncio.to_thread(self._visit, head, ids)
        except WealError as error:
            raise RequestRefused(503, _NO_STORE, "failed") from error

    def _visit(self, head: Head, ids: list[str]) -> Visit | None:
        token, found = head.bearer, None
        wait = self._limit.wait(head.client, digest_of(token)) if token else 0.0
        if token and not wait:
            found = self._access.visit_by_token(token)
            self._note(head, None if found is None else found.token)
        found = found or self._access.visit_by_session(ids)
        if found is None and wait:
            raise too_many("Too many invalid tokens", wait)
        return found

    def check_rate(self, head: Head, visit: Visit | None) -> None:
        """429 for too many requests of a token, a session or an address."""
        if head.is_open:
            return
        if visit is None:
            sender = f"address {address_key(head.client)}"
        elif visit.is_bearer:
            sender = f"token {visit.token}"
        else:
            sender = f"session {digest_of(visit.secret)}"
        if wait := self.policy.requests.take(sender):
            raise too_many("Too many requests", wait)

    async def log_in(self, head: Head, visit: Visit | None, body: Body) -> Moved:
        """Headers of a login: the cookie and a redirect to an address without secrets; or none."""
        if head.path == LOGIN:
            return await self._by_form(head, visit, body)
        given = {key: value for key, value in head.query if key in ("token", "code")}
        if not given or head.method != "GET" or head.is_open or head.is_api:
            return []
        rest = [pair for pair in head.query if pair[0] not in given]
        path = quote("/" + head.path.lstrip("/\\"))  # never //another.host
        moved = [
            ("location", self.policy.root_path + path + (f"?{urlencode(rest)}" if rest else ""))
        ]
        token = self._check_address(head, given)
        if visit is not None and (token is None or token == visit.token):
            return moved  # logged in already: a reload
        if token is None:
            raise self._refused(head, _login_error(given))
        return [*moved, ("set-cookie", self._new_cookie(head, token))]

    def _check_address(self, head: Head, given: dict[str, str]) -> str | None:
        """The digest of the token of the folder, or of the code, in the address."""
        if wait := self._limit.wait(head.client, digest_of(given.get("token", ""))):
            raise too_many("Too many failed logins", wait)
        found = self._access.tokens.find(given["token"]) if "token" in given else None
        if found is None and "code" in given:
            found = self._access.check_code(given["code"])
        self._note(head, found)
        return found

    async def _by_form(self, head: Head, visit: Visit | None, body: Body) -> Moved:
        """Headers of a login by the form; its token may be one of the store."""
        if head.is_read:
            form = login_form(self.policy.root_path, "/")
            raise RequestRefused(200, "Log in with a token.", "not_authenticated", form=form)
        check_origin(head, head.headers.get("origin"))
        check_form_type(head)
        given = await read_login(body)
        token, back = given.get("token", "").strip(), given.get("back", "/")
        if wait := self._limit.wait(head.client, digest_of(token)):
            raise too_many("Too many failed logins", wait)
        try:
            digest = await asyncio.to_thread(self._access.check_token, token)
        except WealError as error:
            raise RequestRefused(503, _NO_STORE, "failed") from error
        self._note(head, digest)
        if digest is None:
            raise self._refused(head, _login_error({"token": token}))
        cookie = self._new_cookie(head, digest)
        if visit is not None and visit.session is not None:
            self._access.sessions.end(visit.secret)
        place = quote(back, safe="/?=&%+") if is_local(back) else "/"
        return [("location", self.policy.root_path + place), ("set-cookie", cookie)]

    def _note(self, head: Head, digest: str | None) -> None:
        if digest is None:
            self._limit.note_failure(head.client)
        else:
            self._limit.note_success(digest)

    def no_login(self, head: Head) -> RequestRefused:
        """401 for a request without a valid token or session."""
        return self._refused(head, _NO_TOKEN if head.is_api else _NO_LOGIN)

    def _refused(self, head: Head, words: str) -> RequestRefused:
        """401, on a page with the login form."""
        back = _way_back(head) if head.is_read and head.path != LOGIN else "/"
        form = login_form(self.policy.root_path, back)
        return RequestRefused(401, words, "not_authenticated", form=form)

    def _new_cookie(self, head: Head, token: str) -> str:
        try:
            id_ = self._access.sessions.begin(token)
        except OSError as error:
            words = f"The server cannot store a session: {error.strerror}."
            raise RequestRefused(503, words, "failed") from error
        secure = "; Secure" if self.policy.secure or head.scheme == "https" else ""
        name, path = cookie_name(self.policy.port), self.policy.cookie_path
        age = f"Max-Age={SESSION_SECONDS}"
        return f"{name}={id_}; Path={path}; {age}; HttpOnly; SameSite=Strict{secure}"


def check_origin(head: Head, origin: str | None) -> None:
    """403 unless the Origin is this server: the same scheme, host and port."""
    if not origin:
        raise RequestRefused(403, "This form has no Origin header.", "cross_site")
    host = head.headers.get("host", "").lower()
    if origin.lower() == f"{head.scheme}://{host}":
        return
    if origin.lower() == f"https://{host}":
        raise RequestRefused(
            403,
            "This page was loaded by https, but the proxy in front of this server does not say so: "
            "make it send the header X-Forwarded-Proto, and name its address with weal serve "
            "--proxy.",
            "cross_site",
        )
    words = (
        "This form comes from another site: open the page of this server, and send it from there."
    )
    if head.is_api:
        words = (
            "This request comes from a page of another site: send it from a program, without the "
            "header Origin, or from a page of this server."
        )
    raise RequestRefused(403, words, "cross_site")


def check_form_type(head: Head) -> None:
    """403 unless the body is a form."""
    if head.content_type not in FORM_CONTENT_TYPES:
        raise RequestRefused(403, "This address takes only forms.", "not_permitted")


def _way_back(head: Head) -> str:
    """The address of a page with its query, such as the row that it shows, without secrets."""
    rest = [pair for pair in head.query if pair[0] not in ("token", "code")]
    found = quote(head.path) + (f"?{urlencode(rest)}" if rest else "")
    return found if len(found) <= MAX_BACK_LETTERS else quote(head.path)


def login_form(root: str, back: str) -> str:
    """The form, which leads back to that address."""
    return _FORM.format(root=escape(root), back=escape(back))


def is_local(address: str) -> bool:
    """Whether an address is one of this server: a path, and no other host.

    >>> is_local("/c/steel/bench"), is_local("//evil.example"), is_local("https://evil.example")
    (True, False, False)
    """
    return address.startswith("/") and address[1:2] not in ("/", "\\") and address.isprintable()


async def read_login(body: Body) -> dict[str, str]:
    """The fields of the form; a body that is too long or slow has none."""
    content, more = b"", body.has_body
    try:
        async with asyncio.timeout(LOGIN_SECONDS):
            while more and len(content) <= LOGIN_BYTES:
                message = await body.receive()
                content += message.get("body", b"")
                more = message.get("more_body", False)
        if len(content) > LOGIN_BYTES:
            return {}
        return dict(parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=10))
    except (TimeoutError, ValueError):
        return {}


def _login_error(given: dict[str, str]) -> str:
    if "code" in given:
        return (
            "This link works only once, within a minute of weal serve --open. Open the address "
            "that weal serve printed."
        )
    if given["token"].startswith(PREFIX):
        return (
            "This token is not valid: it was revoked, has expired, was mistyped, or is in an "
            "address, from which only the token that weal serve printed is taken."
        )
    return "This token is not valid. Open the address that weal serve printed."
