"""What every request passes before anything else looks at it, and what every answer carries."""

import base64
import binascii
import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from deepbinaries.web.hosts import is_allowed
from deepbinaries.web.metrics import Metrics
from deepbinaries.web.refusals import JSON, RefusedError, body_of
from deepbinaries.web.settings import Settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    b"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
OPEN_TO_ALL = frozenset(("/healthz", "/readyz"))  # they say nothing but whether the server is up
ASKS_FOR_TOKEN = (("www-authenticate", 'Basic realm="deepbinaries", charset="UTF-8"'),)


class Guard:
    """An ASGI application in front of another: host, token and origin are proven, every answer is counted."""

    def __init__(self, app: App, settings: Settings, metrics: Metrics):
        self._app, self._settings, self._metrics = app, settings, metrics
        self._names, self._local = frozenset(name.lower() for name in settings.names), settings.is_local
        self._known_hosts: set[bytes] = set()  # of earlier requests; few, since only allowed ones are kept

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        counted = False

        async def guarded_send(message: Message) -> None:
            nonlocal counted
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
                counted = True
                self._metrics.count(_route(scope), message["status"], time.perf_counter() - began)
            await send(message)

        self._metrics.in_flight += 1
        try:
            self._admit(scope)
            await self._app(scope, receive, guarded_send)
        except RefusedError as refused:
            if counted:
                raise
            await _answer(refused, guarded_send)
        finally:
            self._metrics.in_flight -= 1

    def _admit(self, scope: MutableMapping[str, Any]) -> None:
        """Raise unless the request may be answered."""
        headers = dict(scope["headers"])
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise RefusedError(
                421,
                "this server is not called so",
                next_step="use the address that it printed, or start it with --name",
                headers=(("connection", "close"),),
            )
        path, method = scope["path"], scope["method"]
        # A page of another site may send requests, though it cannot read the answers: nothing is done for it.
        if path.startswith("/v1/") and not _from_here(headers, hosts[0]):
            raise RefusedError(403, "another site asks for this", next_step="open the page of this server")
        changes = path.startswith("/v1/items") and method not in ("GET", "HEAD", "OPTIONS")
        if (changes or not self._local) and path not in OPEN_TO_ALL:
            self._check_token(headers.get(b"authorization", b""))

    def _is_own(self, host: bytes) -> bool:
        if host in self._known_hosts:
            return True
        if is_allowed(host.decode("latin-1"), self._settings.port, local=self._local, names=self._names):
            if len(self._known_hosts) < 100:
                self._known_hosts.add(host)
            return True
        return False

    def _check_token(self, authorization: bytes) -> None:
        token = self._settings.token
        if token is None:
            raise RefusedError(
                403, "this server was started without a token", next_step="start it with --token-file to change items"
            )
        if not hmac.compare_digest(given_token(authorization), token.encode()):
            raise RefusedError(
                401, "the token is missing or wrong", next_step="send it as a bearer token", headers=ASKS_FOR_TOKEN
            )


def given_token(authorization: bytes) -> bytes:
    """The token of an Authorization header: as a bearer token, or as the password that a browser asks for.

    >>> given_token(b"Bearer abc"), given_token(b"Basic bWU6YWJj"), given_token(b"Basic %")
    (b'abc', b'abc', b'')
    """
    scheme, _, rest = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(rest, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""


def _from_here(headers: dict[bytes, bytes], host: bytes) -> bool:
    """Whether a request comes from our own page, or from no page at all."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is None or origin in (b"http://" + host, b"https://" + host)


def _route(scope: MutableMapping[str, Any]) -> str:
    """The name of what answers a request, not its address: what is counted must not grow with what is asked."""
    return str(getattr(scope.get("endpoint"), "__name__", "other"))


async def _answer(refused: RefusedError, send: Send) -> None:
    body = body_of(refused.problem, refused.next_step)
    headers = [*JSON, (b"content-length", str(len(body)).encode())]
    headers += [(name.encode(), value.encode()) for name, value in refused.headers]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
