from __future__ import annotations

import socket

import pytest

from llmframe.testing.http import phrase, response

BODY = b'{"messages": [{"role": "user", "content": "x"}]}'


@pytest.fixture
def wire(make_provider):
    """A raw connection to a provider."""
    provider = make_provider()
    with socket.create_connection(("127.0.0.1", provider.start()), timeout=60) as sock:
        yield sock, sock.makefile("rb"), provider


def post(body: bytes = BODY, *headers: bytes) -> bytes:
    lines = [b"POST /v1/chat/completions HTTP/1.1", b"Host: x", *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def read_answer(file) -> tuple[bytes, bytes]:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = file.readline()
        if not line:
            return head, b""
        head += line
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
    return head, file.read(length)


def test_a_connection_stays_open_for_the_next_request(wire):
    sock, file, provider = wire
    for _ in range(3):
        sock.sendall(post())
        assert read_answer(file)[0].startswith(b"HTTP/1.1 200 OK")
    assert (provider.requests, provider.connections) == (3, 1)


def test_a_request_may_come_in_pieces(wire):
    sock, file, provider = wire
    data = post()
    for start in range(0, len(data), 7):
        sock.sendall(data[start : start + 7])
    assert read_answer(file)[0].startswith(b"HTTP/1.1 200 OK")
    assert provider.prompts == ["x"]


def test_two_requests_in_one_piece_are_answered_in_order(wire):
    sock, file, provider = wire
    sock.sendall(post() + post(BODY.replace(b"x", b"y")))
    read_answer(file)
    read_answer(file)
    assert provider.prompts == ["x", "y"]


def test_a_chunked_body_is_read(wire):
    sock, file, provider = wire
    head = b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    sock.sendall(head + b"5\r\n" + BODY[:5] + b"\r\n%x;ext=1\r\n" % len(BODY[5:]) + BODY[5:])
    sock.sendall(b"\r\n0\r\n\r\n")
    assert read_answer(file)[0].startswith(b"HTTP/1.1 200 OK")
    assert provider.prompts == ["x"]


def test_who_expects_continue_is_told_to(wire):
    sock, file, _ = wire
    data = post(BODY, b"Expect: 100-continue")
    sock.sendall(data[: -len(BODY)])
    assert file.readline() == b"HTTP/1.1 100 Continue\r\n"
    file.readline()
    sock.sendall(BODY)
    assert read_answer(file)[0].startswith(b"HTTP/1.1 200 OK")


def test_connection_close_is_kept(wire):
    sock, file, _ = wire
    sock.sendall(post(BODY, b"Connection: close"))
    read_answer(file)
    assert file.read() == b""


def test_what_is_no_http_gets_a_400_and_the_end(wire):
    sock, file, provider = wire
    sock.sendall(b"nonsense\r\n\r\n")
    assert read_answer(file)[0].startswith(b"HTTP/1.1 400 ")
    assert file.read() == b""
    assert provider.requests == 0


def test_the_bytes_of_an_answer():
    assert response(503, b"ab", content_type="text/plain", headers={"x-a": "1"}) == (
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nx-a: 1\r\n\r\nab"
    )
    assert phrase(599) == "Unknown"
