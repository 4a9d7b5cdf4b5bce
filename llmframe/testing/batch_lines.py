"""The lines of a batch: how its input is read, how its results are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from llmframe.testing.answers import Response
from llmframe.testing.calls import CHARS_PER_TOKEN, MESSAGE_TOKENS, content_text, input_texts
from llmframe.testing.shapes import as_object, as_objects, is_object

EMBEDDINGS: Final = "/v1/embeddings"
CHAT: Final = "/v1/chat/completions"
MAX_PROBLEMS: Final = 100
"""Problems that a refused batch tells of."""


@dataclass(frozen=True, slots=True)
class Line:
    """One request of a batch."""

    custom_id: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a batch, and with which line (from 1) of its input."""

    code: str
    message: str
    line: int | None = None
    param: str | None = None

    def object(self) -> dict[str, Any]:
        """As it stands in a batch's `errors.data`."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What one batch may hold."""

    lines: int
    bytes: int
    inputs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an input file says: its lines, their one model, their estimated tokens, and what is wrong with them."""

    lines: list[Line]
    model: str | None
    tokens: int
    problems: list[Problem]


def read_lines(data: bytes, *, endpoint: str, caps: Caps) -> Reading:
    """Read an input file, as the service does before it accepts a batch."""
    if len(data) > caps.bytes:
        message = (
            f"The batch input file is larger than the {caps.bytes} maximum. Please try again with a smaller batch."
        )
        return _refused(Problem(code="file_too_large", message=message))
    end = _end_of_text(data)
    if end == 0:
        return _refused(Problem(code="empty_file", message="The batch input file is empty."))
    count = data.count(b"\n", 0, end) + 1
    if count > caps.lines:
        message = f"The batch input file has {count} requests, which is more than the maximum of {caps.lines}."
        return _refused(Problem(code="too_many_tasks", message=message))
    reader = _Reader(endpoint)
    lines = [line for line in map(reader.read, _cut(data, end)) if line is not None]
    if reader.inputs > caps.inputs:
        message = f"The batch has {reader.inputs} embedding inputs, which is more than the maximum of {caps.inputs}."
        return _refused(Problem(code="too_many_inputs", message=message))
    return Reading(
        lines=[] if reader.problems else lines,
        model=reader.model,
        tokens=reader.tokens,
        problems=reader.problems[:MAX_PROBLEMS],
    )


def answered_line(number: int, custom_id: str, answer: Response) -> bytes:
    """The result of a line that has an answer: 200 for the output file, any other status for the error file."""
    # The body is put in as it is: reading and writing it again would take longer than answering.
    body = answer.body if _is_json(answer.body) else json.dumps(answer.body.decode("utf-8", "replace")).encode()
    head = f'{{"id": "batch_req_{number}", "custom_id": {json.dumps(custom_id)}, "response": {{"status_code": '
    middle = f'{answer.status}, "request_id": "req_{number}", "body": '
    return head.encode() + middle.encode() + body + b'}, "error": null}'


def unanswered_line(number: int, custom_id: str, code: str, message: str) -> bytes:
    """The result of a line that got no answer at all."""
    error = {"code": code, "message": message}
    return json.dumps({"id": f"batch_req_{number}", "custom_id": custom_id, "response": None, "error": error}).encode()


def prompts_of(body: dict[str, Any]) -> Iterator[str]:
    """What a line pays for: its last user message, or each of its texts to embed."""
    messages = as_objects(body.get("messages"))
    users = [message for message in messages if message.get("role") == "user"]
    if users:
        yield content_text(users[-1].get("content"))
    yield from input_texts(body.get("input"))


def digest(prompt: str) -> str:
    """What stands for a prompt where its text shouldn't."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _refused(problem: Problem) -> Reading:
    return Reading(lines=[], model=None, tokens=0, problems=[problem])


def _end_of_text(data: bytes) -> int:
    """Where the last line ends: blank ones after it don't count."""
    end = len(data)
    while end and data[end - 1 : end].isspace():
        end -= 1
    return end


def _cut(data: bytes, end: int) -> Iterator[bytes]:
    """Line by line: a file of 200 MB isn't held twice."""
    at = 0
    while at < end:
        next_at = data.find(b"\n", at, end)
        next_at = end if next_at < 0 else next_at
        yield data[at:next_at]
        at = next_at + 1


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


class _Reader:
    """Reads one line after the other and remembers what they have in common."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._ids: set[str] = set()
        self._number = 0
        self.model: str | None = None
        self.tokens = self.inputs = 0
        self.problems: list[Problem] = []

    def read(self, raw: bytes) -> Line | None:
        """The request of a line, unless something is wrong with it."""
        self._number += 1
        try:
            value: Any = json.loads(raw)
        except ValueError:
            value = None
        if not is_object(value):
            return self._wrong("invalid_json_line", "This line is not parseable as valid JSON.")
        custom_id, body = value.get("custom_id"), as_object(value.get("body"))
        if not isinstance(custom_id, str) or not custom_id:
            return self._wrong("missing_required_parameter", "Missing required parameter: 'custom_id'.", "custom_id")
        if custom_id in self._ids:
            message = "The custom_id for this request is a duplicate of another request in this batch."
            return self._wrong("duplicate_custom_id", message, "custom_id")
        self._ids.add(custom_id)
        if value.get("method") != "POST":
            return self._wrong("invalid_method", "The method of a request must be 'POST'.", "method")
        if value.get("url") != self._endpoint:
            message = "The URL provided for this request does not match the batch endpoint."
            return self._wrong("mismatched_endpoint", message, "url")
        model = body.get("model")
        if not isinstance(model, str):
            return self._wrong("missing_required_parameter", "Missing required parameter: 'body.model'.", "body.model")
        if self.model is not None and model != self.model:
            message = f"The provided model '{model}' does not match the model of the requests before, '{self.model}'."
            return self._wrong("mismatched_model", message, "body.model")
        self.model = model
        self._count(body)
        return Line(custom_id, body)

    def _count(self, body: dict[str, Any]) -> None:
        texts = input_texts(body.get("input"))
        contents = [content_text(message.get("content")) for message in as_objects(body.get("messages"))]
        self.inputs += len(texts)
        self.tokens += sum(-(-len(text) // CHARS_PER_TOKEN) for text in texts)
        self.tokens += sum(len(text) // CHARS_PER_TOKEN + MESSAGE_TOKENS for text in contents)

    def _wrong(self, code: str, message: str, param: str | None = None) -> None:
        self.problems.append(Problem(code=code, message=message, line=self._number, param=param))
