"""Every SDK exception and error body has a kind, and none shows a key."""

from __future__ import annotations

import errno
import inspect
import socket
from typing import Any, ClassVar

import aiohttp
import anthropic
import google.genai.errors
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from llmframe.clients.faults import MESSAGE_CHARS, clean, from_exception, from_response
from llmframe.clients.refusals import FOREIGN_LOOP, NOT_REACHED, dooms_run, transient
from llmframe.errors import ERROR_KINDS

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1", headers={"authorization": "Bearer sk-SECRET"})


def classes(module: Any, base: type[BaseException]) -> list[type[BaseException]]:
    found = {
        value
        for value in list(vars(module).values())
        if inspect.isclass(value) and issubclass(value, base) and value.__name__[0] != "_"
    }
    return sorted(found, key=lambda kind: kind.__name__)


def raised(kind: Any) -> BaseException:
    """An instance however it is built; the table reads attributes, and class names where there are none."""
    response = httpx2.Response(getattr(kind, "status_code", 418), request=REQUEST)
    for arguments, options in (
        (("no",), {"response": response, "body": None}),
        ((), {"response": response, "body": None}),
        ((), {"request": REQUEST}),
        (("no", REQUEST), {"body": None}),
        (("no",), {}),
        ((), {}),
    ):
        try:
            return kind(*arguments, **options)
        except (TypeError, AttributeError):
            continue
    return kind.__new__(kind)


@pytest.mark.parametrize("kind", classes(openai, openai.OpenAIError), ids=lambda kind: kind.__name__)
def test_no_exception_of_openai_is_unmapped(kind: type[BaseException]):
    fault = from_exception(raised(kind))
    assert fault.kind in ERROR_KINDS
    if kind not in {openai.OpenAIError, openai.APIError}:
        assert fault.kind != "internal", f"{kind.__name__} needs a row in the table"


@pytest.mark.parametrize("kind", classes(anthropic, anthropic.APIStatusError), ids=lambda kind: kind.__name__)
def test_no_status_exception_of_anthropic_is_unmapped(kind: type[BaseException]):
    assert from_exception(raised(kind)).kind != "internal"


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (
            400,
            {"error": {"code": "context_length_exceeded", "message": "m"}},
            "context_length",
            "context_length_exceeded",
        ),
        (
            400,
            {"error": {"code": 400, "type": "exceed_context_size_error", "message": "m", "n_ctx": 512}},
            "context_length",
            "exceed_context_size_error",
        ),
        (413, "", "context_length", None),
        (400, {"error": {"code": "content_filter", "message": "m"}}, "content_filter", "content_filter"),
        (
            400,
            {"error": {"code": "bad", "innererror": {"code": "ResponsibleAIPolicyViolation"}, "message": "m"}},
            "content_filter",
            "bad",
        ),
        (429, {"error": {"code": "insufficient_quota", "message": "m"}}, "quota", "insufficient_quota"),
        (429, {"error": {"type": "insufficient_quota", "code": None}}, "quota", "insufficient_quota"),
        (402, {"error": {"message": "m"}}, "quota", None),
        (429, {"error": {"message": "You exceeded your current quota"}}, "rate_limit", None),
        (400, {"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, "bad_request", None),
        (404, {"error": "model 'x' not found"}, "not_found", None),
        (404, {"detail": "Not Found"}, "not_found", None),
        (422, {"detail": [{"loc": ["body"], "msg": "m"}]}, "bad_request", None),
        (
            400,
            {"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}},
            "auth",
            "API_KEY_INVALID",
        ),
        (400, {"error": {"code": "json_validate_failed", "message": "m"}}, "invalid", "json_validate_failed"),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "server", "overloaded_error"),
        (502, "<html>Bad gateway</html>", "server", None),
        (418, b"\xff\xfe", "bad_request", None),
        (401, None, "auth", None),
    ],
)
def test_a_body_is_told_by_status_code_and_type(status: int, body: object, kind: str, code: str | None):
    fault = from_response(status, body)
    assert (fault.kind, fault.code, fault.status) == (kind, code, status)
    assert "<html>" not in fault.detail


def test_a_detail_has_class_status_code_and_message():
    body = {"error": {"code": "context_length_exceeded", "message": "at most 8192 tokens", "param": "messages"}}
    fault = from_response(400, body, {"retry-after": "3"})
    assert fault.detail == "BadRequestError 400 context_length_exceeded: at most 8192 tokens"
    assert (fault.param, fault.retry_after) == ("messages", 3.0)


def test_googles_wait_stands_in_its_body():
    body = {
        "error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "34.5s"}]}
    }
    assert from_response(429, body).retry_after == 34.5


def test_botocores_form_is_read():
    class ClientError(Exception):
        response: ClassVar = {
            "Error": {"Code": "ThrottlingException", "Message": "slow"},
            "ResponseMetadata": {"HTTPStatusCode": 429, "HTTPHeaders": {"retry-after": "2"}},
        }

    fault = from_exception(ClientError())
    assert (fault.kind, fault.code, fault.retry_after) == ("rate_limit", "ThrottlingException", 2.0)


def test_googles_exceptions_are_read():
    body = {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}
    fault = from_exception(google.genai.errors.ServerError(503, body))
    assert (fault.kind, fault.status) == ("server", 503)
    assert fault.detail == "InternalServerError 503 UNAVAILABLE: busy"


def test_a_connection_error_names_classes_and_the_systems_word_and_nothing_of_the_cause():
    outer = openai.APIConnectionError(request=REQUEST)
    outer.__cause__ = httpx2.ConnectError("Illegal header value b'Bearer sk-SECRET'")
    outer.__cause__.__cause__ = ConnectionRefusedError(111, "refused")
    fault = from_exception(outer, where="http://127.0.0.1:9/v1")
    told = "APIConnectionError: ConnectError (ECONNREFUSED) at http://127.0.0.1:9/v1"
    assert fault.detail == f"{told}; is the server running?"
    assert (fault.kind, fault.__cause__) == ("connection", None)


@pytest.mark.parametrize(
    ("number", "where", "ending"),
    [
        (errno.ECONNREFUSED, "http://localhost:8000/v1", "/v1; is the server running?"),
        (errno.ECONNREFUSED, "https://example.org/v1", "(ECONNREFUSED) at https://example.org/v1"),
        (errno.ECONNREFUSED, "groq", "(ECONNREFUSED) at groq"),
        (errno.ECONNRESET, "http://localhost:8000/v1", "(ECONNRESET) at http://localhost:8000/v1"),
    ],
)
def test_a_refused_connection_on_this_machine_asks_whether_the_server_is_running(number: int, where: str, ending: str):
    fault = from_exception(OSError(number, "x"), where=where)
    assert fault.kind == "connection"
    assert fault.detail.endswith(ending)


@pytest.mark.parametrize(
    ("cause", "ending"),
    [
        (OSError(errno.EMFILE, "x"), "; too many files are open: lower `max_concurrency`, or raise `ulimit -n`"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "/v1; is the host's name right, and the network there?"),
    ],
)
def test_a_fault_of_the_system_says_what_to_look_at(cause: OSError, ending: str):
    outer = openai.APIConnectionError(request=REQUEST)
    outer.__cause__ = cause
    fault = from_exception(outer, where="https://example.invalid/v1")
    assert fault.kind == "connection"
    assert fault.detail.endswith(ending)


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), NOT_REACHED),
        (socket.gaierror(socket.EAI_NONAME, "x"), NOT_REACHED),
        (httpx2.ConnectError("x"), NOT_REACHED),
        (httpx2.ReadError("x"), None),
        (ConnectionResetError(errno.ECONNRESET, "x"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_host_that_was_never_reached_is_told_apart_from_one_that_hung_up(cause: Exception, code: str | None):
    outer = openai.APIConnectionError(request=REQUEST)
    outer.__cause__ = cause
    assert from_exception(outer).code == code


def test_a_transport_of_another_loop_is_told_with_its_remedy_and_not_retried():
    outer = openai.APIConnectionError(request=REQUEST)
    outer.__cause__ = RuntimeError("<asyncio.locks.Event> is bound to a different event loop")
    for error in (outer, outer.__cause__):
        fault = from_exception(error)
        assert (fault.kind, fault.code) == ("connection", FOREIGN_LOOP)
        assert 'loop="current"' in fault.detail
        assert not transient(fault)
        assert dooms_run(fault)


def test_text_outside_utf8_is_an_encoding_error_that_shows_none_of_it():
    outer = openai.APIConnectionError(request=REQUEST)
    outer.__cause__ = UnicodeEncodeError("utf-8", "SECRET\ud800", 6, 7, "surrogates not allowed")
    fault = from_exception(outer)
    assert fault.kind == "encoding"
    assert "SECRET" not in fault.detail


def test_an_unknown_exception_is_internal_and_named():
    class OddError(Exception):
        pass

    fault = from_exception(OddError("sk-SECRET"))
    assert (fault.kind, fault.detail) == ("internal", "OddError")


@given(st.text(), st.text(alphabet="abcXYZ019-_", min_size=8, max_size=40), st.text())
def test_no_message_shows_the_key_wherever_it_stands(before: str, secret: str, after: str):
    key = f"sk-{secret}"
    shown = clean(f"{before}{key}{after}", secrets=[key])
    assert key not in shown
    assert len(shown) <= MESSAGE_CHARS


def test_a_word_in_place_of_a_key_spoils_no_message():
    said = "maximum context length is 8192 tokens of this ollama model, 1 too many"
    assert clean(said, secrets=["x", "1", "text"]) == said
    assert clean(said, secrets=["ollama"]) == said.replace("ollama", "[key]")
    assert clean("key ollama-2 of ollamas", secrets=["ollama"]) == "key [key]-2 of ollamas"


def test_what_looks_like_a_key_is_hidden_even_when_it_isnt_ours():
    assert (
        clean("Incorrect API key provided: sk-proj-abcdef0123. Find it") == "Incorrect API key provided: [key]. Find it"
    )


def test_http_that_the_session_cannot_read_is_a_fault_of_the_line_and_no_refusal():
    info = aiohttp.RequestInfo(URL("http://127.0.0.1/v1"), "POST", CIMultiDictProxy(CIMultiDict()))
    fault = from_exception(aiohttp.ClientResponseError(info, (), status=400, message="Bad status line: b'SSH-2.0'"))
    assert (fault.kind, fault.status) == ("connection", None)
    assert transient(fault)
