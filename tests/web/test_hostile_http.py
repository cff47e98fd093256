"""Clients that mean harm, or are broken, over real sockets. The server lets go of each and serves the others."""

import json
import signal
import socket
import time
from contextlib import suppress

import pytest

from conftest import TOKEN, Process, everything, split

POST = "POST /v1/search HTTP/1.1"
PATIENCE = 1.0  # seconds, of the server in `serving.py`


@pytest.fixture(autouse=True)
def still_well(process):
    """After each of these tests the server answers, and keeps no connection of it."""
    yield
    assert process.get("/healthz")[0] == 200
    deadline = time.monotonic() + 5 * PATIENCE
    while process.connections() > 8 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.connections() <= 8  # of its own: the listening one and those of the event loop


def closed_within(connection, seconds):
    """What came before the server closed the connection; fails where it did not."""
    began = time.monotonic()
    connection.settimeout(seconds)
    answer = everything(connection)
    assert time.monotonic() - began < seconds
    return answer


def head(process, line="GET /healthz HTTP/1.1", *more):
    return "\r\n".join([line, f"Host: {process.host}", *more, "", ""]).encode()


def test_many_stalled_clients_are_cut_while_others_are_served(process):
    stalled = [process.connect() for _ in range(60)]
    for place, connection in enumerate(stalled):
        begin = (b"", b"GET /healthz HT", head(process)[:-4], head(process, POST))[place % 3]
        connection.sendall(begin)
    began = time.monotonic()
    assert process.get("/v1/search?q=red")[0] == 200
    assert time.monotonic() - began < PATIENCE
    for connection in stalled:
        closed_within(connection, 6 * PATIENCE)
        connection.close()


def test_a_head_that_comes_byte_by_byte_is_cut(process):
    with process.connect() as connection:
        began = time.monotonic()
        try:
            for byte in head(process, "GET / HTTP/1.1", "X-Slow: " + "x" * 1000):
                connection.send(bytes([byte]))
                time.sleep(0.05)
        except ConnectionError:
            pass
        assert time.monotonic() - began < 5 * PATIENCE
        answer = everything(connection)
        assert not answer or split(answer)[0] == 408


def test_a_second_head_is_not_waited_for_either(process):
    with process.connect() as connection:
        connection.sendall(head(process))
        assert b"200 OK" in connection.recv(65536)
        connection.sendall(b"\r\n")  # some servers count this as a sign of life
        connection.sendall(b"GET /healthz HTT")
        closed_within(connection, 4 * PATIENCE)


@pytest.mark.parametrize("pace", [None, 0.2], ids=["stopped", "drop by drop"])
def test_a_slow_body_is_cut(process, pace):
    with process.connect() as connection:
        connection.sendall(head(process, POST, "Content-Type: image/png", "Content-Length: 100000"))
        connection.sendall(b"x")
        began = time.monotonic()
        try:
            while pace and time.monotonic() - began < 8 * PATIENCE:
                connection.send(b"x")
                time.sleep(pace)
        except ConnectionError:
            pass
        answer = closed_within(connection, 5 * PATIENCE)
        assert time.monotonic() - began < 8 * PATIENCE
        assert not answer or split(answer)[0] == 408


def test_a_client_that_does_not_read_is_cut(process):
    requests = head(process, "GET /style.css HTTP/1.1") * 2000  # more than the system's buffers hold
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20 * PATIENCE)
        connection.connect(("127.0.0.1", process.port))
        with suppress(ConnectionError):
            connection.sendall(requests)
            time.sleep(6 * PATIENCE)
        assert everything(connection).count(b"200 OK") < 1000


def test_a_body_that_says_it_is_too_long_is_refused_at_once(process):
    with process.connect() as connection:
        connection.sendall(head(process, POST, "Content-Type: image/png", f"Content-Length: {2**30}"))
        assert split(closed_within(connection, 2 * PATIENCE))[0] == 413


def test_a_body_without_end_takes_no_memory(process):
    process.get("/readyz")
    before = process.memory()
    sent = 0
    with process.connect() as connection:
        kind = ("Content-Type: image/png", "Transfer-Encoding: chunked")
        connection.sendall(head(process, POST, *kind))
        part = b"100000\r\n" + bytes(2**20) + b"\r\n"
        try:
            while sent < 2**30:
                connection.sendall(part)
                sent += 2**20
        except ConnectionError:
            pass
    assert sent < 2**28
    assert process.memory() - before < 100 * 2**20  # at most two bodies of the largest size


def test_a_head_without_end_is_cut(process):
    with process.connect() as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\n")
            for number in range(100_000):
                connection.sendall(f"X-{number}: {'x' * 100}\r\n".encode())
        except ConnectionError:
            return
        pytest.fail("a head of ten megabytes was taken")


@pytest.mark.parametrize(
    ("request_", "statuses"),
    [
        (b"\x00\x01\x02\x03\r\n\r\n", (400,)),
        (b"GET / HTTP/9.9\r\n\r\n", (400, 421)),
        (b"GET /\r\n\r\n", (400, 421)),
        (b"GET / HTTP/1.1\r\n\r\n", (421, 400)),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n\r\n", (421, 400)),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n", (421, 400)),
        (b"GET http://evil.example/v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", (421, 400)),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", (404, 400)),
        (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", (404, 400)),
        (b"GET /app.js%00.html HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", (404, 400)),
        (b"GET //etc/passwd HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", (404, 400)),
        (b"GET /v1/items/\xff\xfe HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", (404, 400)),
        (b"CONNECT evil.example:80 HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", (400, 404, 405, 500)),
        (b"BREW /coffee HTTP/1.1\r\nHost: HOST\r\n\r\n", (400, 404, 405)),
        (
            b"POST /v1/search HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            (400,),
        ),
        (
            b"POST /v1/search HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n",
            (400,),
        ),
        (
            b"POST /v1/search HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            (400,),
        ),
        (
            b"GET /v1/status HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            (200,),
        ),
    ],
)
def test_malformed_requests_are_refused(process, request_, statuses):
    with process.connect() as connection:
        connection.sendall(request_.replace(b"HOST", process.host.encode()))
        answer = closed_within(connection, 6 * PATIENCE)
        assert (split(answer)[0] if answer else 0) in (*statuses, 0)
        assert b"root:" not in answer


def test_a_client_that_goes_away_leaves_nothing_behind(process):
    body = b"x" * 50_000
    request = head(process, POST, "Content-Type: image/png", f"Content-Length: {len(body)}") + body
    for number in range(40):
        with process.connect() as connection:
            connection.sendall(request[: 200 + number * 1250])
    deadline = time.monotonic() + 10
    in_flight = ""
    while "requests_in_flight 1\n" not in in_flight and time.monotonic() < deadline:  # the question itself
        in_flight = process.get("/metrics")[1].decode()
    assert "requests_in_flight 1\n" in in_flight
    assert "searches_waiting 1\n" in in_flight or "searches_waiting 0\n" in in_flight


def test_bad_tokens_are_refused_over_the_wire(process):
    for token in (b"", b"Bearer ", b"Bearer \xff\xfe", b"Basic " + b"A" * 20_000, b"Bearer " + TOKEN.encode() + b" x"):
        with process.connect() as connection:
            connection.sendall(
                b"DELETE /v1/items/x HTTP/1.1\r\nHost: " + process.host.encode() + b"\r\nConnection: close\r\n"
                b"Authorization: " + token + b"\r\n\r\n"
            )
            assert split(everything(connection))[0] in (401, 400)


def test_a_request_that_was_begun_is_answered_before_the_server_ends(library):
    process = Process(library.root)
    try:
        body = json.dumps({"text": "red"}).encode()
        with process.connect() as connection:
            connection.sendall(
                head(
                    process,
                    POST,
                    "Content-Type: application/json",
                    f"Content-Length: {len(body)}",
                )
            )
            time.sleep(0.3)
            process.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            connection.sendall(body)
            assert split(everything(connection))[0] == 200
        output, problems = process.process.communicate(timeout=20)
        assert (process.process.returncode, output) == (0, "ended\n"), problems
    finally:
        process.process.kill()
        process.process.communicate()
