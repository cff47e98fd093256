"""A Milvus server, or a file that the embedded Milvus keeps: its address, the way to it, its errors in our words."""

import logging
import re
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import grpc
from pymilvus import MilvusClient, MilvusException
from pymilvus.exceptions import ConnectError, ConnectionConfigException, ErrorCode

from deepbinaries.errors import DataError, Error, IndexBusyError, MissingExtraError, UsageError
from deepbinaries.index.base import ServerLostError

T = TypeVar("T")

DEFAULT_NAME = "deepbinaries"
DEADLINE = 120.0  # seconds after which a call that a server works on is given up

_PORT = 19530
_PAUSE = 0.2  # seconds between two looks for a server that went away
_FILE_NAME = re.compile(r"[A-Za-z0-9._-]{1,33}\.db", re.ASCII)  # what the embedded Milvus takes
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}", re.ASCII)
_OF_ITS_OWN = {"grpc.use_local_subchannel_pool": 1}  # what others met at an address says nothing of now
_LOST = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
_CONNECTING_FAILED = 2  # the code of the client's own error
_STARTING = "has not been init"  # what the embedded Milvus says that listens already, but is not all there yet

_opened: Counter[Path] = Counter()  # how often each file is open in this process, which has one server for it
_opening = threading.Lock()


class _StartingError(ServerLostError):
    """A server that will be there in a moment."""


@dataclass(frozen=True)
class Address:
    """Where an index in Milvus is."""

    uri: str  # as the client takes it
    name: str  # of the collection
    place: str  # in words, without user and password
    token: str = ""
    database: str = ""
    file: Path | None = None  # of the embedded Milvus


def read_address(where: str, name: str | None) -> Address:
    """The parts of `milvus://user:password@host:port/collection` or of `milvus:FILE.db`.

    >>> read_address("milvus://me:secret@db.example.org/photos?secure=true", None).place
    "the collection 'photos' of Milvus at db.example.org:19530"
    >>> read_address("milvus:codes.db", None).place
    "the collection 'deepbinaries' in codes.db"
    """
    if where.startswith("milvus://"):
        return _server_address(where, name)
    if "@" in where:  # a server's address that lacks something, perhaps with a password in it
        raise _unreadable()
    file = Path(where.removeprefix("milvus:"))
    if not _FILE_NAME.fullmatch(file.name):
        raise UsageError(
            f"{file.name!r} cannot be a file of the embedded Milvus",
            next_step="give milvus:FILE.db, its name of up to 36 letters, digits, '-', '_' and '.'; "
            "a server is milvus://host:port/collection",
        )
    chosen = _checked_name(name or DEFAULT_NAME)
    return Address(str(file), chosen, f"the collection {chosen!r} in {file}", file=file.absolute())


def _server_address(where: str, name: str | None) -> Address:
    try:
        parts = urlsplit(where)
        host, port = parts.hostname, parts.port or _PORT
        settings = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise _unreadable() from None
    stray = "@" in parts.path or parts.fragment  # of a password with special characters
    if not host or stray or not settings.keys() <= {"secure", "database"} or settings.get("secure", "true") != "true":
        raise _unreadable()
    chosen = _checked_name(name or unquote(parts.path).strip("/") or DEFAULT_NAME)
    token = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    shown = f"[{host}]" if ":" in host else host
    return Address(
        uri=f"{'https' if 'secure' in settings else 'http'}://{shown}:{port}",
        name=chosen,
        place=f"the collection {chosen!r} of Milvus at {shown}:{port}",
        token=token,
        database=settings.get("database", ""),
    )


def _unreadable() -> UsageError:
    """Nothing of an address that cannot be read is repeated, since it may hold a password."""
    return UsageError(
        "the address of the Milvus server cannot be read",
        next_step="write milvus://user:password@host:port/collection, with special characters of the password as %40 "
        "for @, %2F for /; then ?secure=true for TLS, ?database=NAME for another database",
    )


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a collection cannot be called {name!r}",
            next_step="begin with a letter, and use letters, digits and underscores",
        )
    return name


class Server:
    """The way to a Milvus server; threads may share it."""

    def __init__(self, address: Address, *, patience: float):
        self.address, self._patience, self._closed = address, patience, False
        # What it logs, with traces of the stack, is raised as well.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        self._client = self._connected()

    def run(self, call: Callable[[MilvusClient], T]) -> T:
        """What a call gives back; it is repeated while the server is away, so it must be safe to repeat."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                with self._own_errors():
                    return call(self._client)
            except ServerLostError as error:
                # An embedded one does not come back by itself.
                comes_back = not self.address.file or isinstance(error, _StartingError)
                if not comes_back or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE)

    def close(self) -> None:
        """End the connection, and the embedded Milvus of a file that nobody in this process uses any more."""
        with _opening:
            if self._closed:
                return
            self._closed = True
            with suppress(MilvusException):
                self._client.close()
            if self.address.file:
                _let_go(self.address.file)

    def _connected(self) -> MilvusClient:
        address = self.address
        if not address.file:
            with self._own_errors():
                return MilvusClient(
                    address.uri,
                    token=address.token,
                    db_name=address.database,
                    timeout=self._patience,
                    dedicated=True,
                    grpc_options=_OF_ITS_OWN,
                )
        if not address.file.parent.is_dir():
            raise DataError(f"there is no folder {address.file.parent}", next_step="make it first")
        with _opening:
            _import_embedded()
            _opened[address.file] += 1
            try:
                with self._own_errors(), _quiet():
                    return MilvusClient(str(address.file), timeout=self._patience, dedicated=True)
            except BaseException:
                _let_go(address.file)
                raise

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Errors of Milvus and of the way to it as those of this package."""
        try:
            yield
        except (MilvusException, grpc.RpcError) as error:
            raise self._own_error(error) from None

    def _own_error(self, error: MilvusException | grpc.RpcError) -> Error:
        code = error.code() if isinstance(error, grpc.RpcError) else error.code
        place, said = self.address.place, self._said(error)
        if isinstance(error, ConnectionConfigException) and self.address.file:
            return IndexBusyError(
                f"{self.address.file} cannot be opened",
                next_step="see that no other process has it open, and that it is a file of Milvus Lite 2.5",
            )
        if _STARTING in said:
            return _StartingError(f"{place} is still starting ({said})", next_step="try again in a moment")
        if code in _LOST or code == _CONNECTING_FAILED or isinstance(error, ConnectError):
            return ServerLostError(
                f"{place} cannot be reached ({said})",
                next_step="check that the server runs and that address, user and password are right; "
                "what was acknowledged is safe, and whatever was cut short can be repeated by replace and remove",
            )
        if code in (ErrorCode.RATE_LIMIT, grpc.StatusCode.RESOURCE_EXHAUSTED):
            return IndexBusyError(f"{place} has too much to do ({said})", next_step="try again later")
        return Error(f"{place} refuses: {said}", next_step="see the server's log and the rights of your user")

    def _said(self, error: MilvusException | grpc.RpcError) -> str:
        """What Milvus said, on one line and without the password."""
        said = error.details() if isinstance(error, grpc.RpcError) else error.message
        text = " ".join(str(said or type(error).__name__).split())[:300]
        secret = self.address.token.partition(":")[2]
        return text.replace(secret, "…") if secret else text


def _import_embedded() -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of setuptools, about a module that it will lose
            import milvus_lite.server_manager  # noqa: F401
    except ImportError:
        raise MissingExtraError("milvus-lite", "milvus-lite") from None


def _let_go(file: Path) -> None:
    """End the embedded Milvus of a file where this was its last use; to be called by whoever holds `_opening`."""
    from milvus_lite.server_manager import server_manager_instance

    _opened[file] -= 1
    if not _opened[file]:
        del _opened[file]
        with _quiet():
            server_manager_instance.release_server(str(file))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the embedded Milvus logs in nobody's name."""

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    root = logging.getLogger()
    root.addFilter(nothing)
    try:
        yield
    finally:
        root.removeFilter(nothing)
