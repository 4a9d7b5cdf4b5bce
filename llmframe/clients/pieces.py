"""An answer that comes in pieces, put together as the chat completion that it would have been in one."""

from __future__ import annotations

from typing import Any, cast

from llmframe.clients.chat import parse
from llmframe.clients.faults import failure_inside

_DONE = b"[DONE]"
_DATA, _EVENT = b"data:", b"event:"


class Pieces:
    """Reads server-sent events with `chat.completion.chunk` objects in them.

    Of several values of one thing the last counts, but these grow: content, refusal, the arguments of calls,
    log-probabilities. Other choices than the first aren't asked for and left out.

    Attributes
    ----------
    count
        Pieces so far; comments that only keep the connection alive are none.
    done
        Whether the server said that nothing follows (`[DONE]`).
    failure
        The error that came in place of a piece, in the words of its body; `None` while all is well.
    """

    def __init__(self) -> None:
        self.count = 0
        self.done = False
        self.failure: dict[str, Any] | None = None
        self._rest = b""
        self._event = b""
        self._data = b""
        self._head: dict[str, Any] = {}
        self._content: list[object] = []
        self._refusal: list[str] = []
        self._calls: list[tuple[object, dict[str, Any]]] = []
        self._old_call: dict[str, Any] = {}
        self._whole: dict[str, Any] | None = None
        self._logprobs: dict[str, Any] = {}
        self._finish_reason: object = None

    @property
    def finished(self) -> bool:
        """Whether the server said why the answer ended."""
        return self._finish_reason is not None

    def feed(self, data: bytes) -> bool:
        """Read `data`, wherever it is cut; whether there was news in it.

        Raises
        ------
        ValueError
            If an event isn't a JSON object.
        """
        before = self.count
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line.rstrip(b"\r"))
        return self.count > before

    def end(self) -> bool:
        """Read what is left when the connection ended; whether nothing was left half."""
        try:
            self.feed(b"\n\n")
        except ValueError:
            return False
        return True

    def completion(self) -> dict[str, Any]:
        """The body of the same answer in one piece, or of the error."""
        if self.failure is not None:
            return {"error": self.failure}
        message: dict[str, Any] = self._whole or {
            "role": "assistant",
            "content": self._text(),
            "refusal": "".join(self._refusal) or None,
            "tool_calls": [{"type": "function", "function": function} for _, function in self._calls],
            "function_call": self._old_call or None,
        }
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason}
        told = {"logprobs": self._logprobs} if self._logprobs else {}
        return {**self._head, "choices": [{**choice, **told}]}

    def _line(self, line: bytes) -> None:
        if line.startswith(_DATA):
            self._data += line[len(_DATA) :].strip()
            self._try_event(last=False)
        elif line.startswith(_EVENT):
            self._event = line[len(_EVENT) :].strip()
        elif not line:
            self._try_event(last=True)
            self._event = b""

    def _try_event(self, *, last: bool) -> None:
        """An event ends with a blank line; not all servers write it between two, so whole JSON is enough."""
        if not self._data:
            return
        if self._data == _DONE:
            self.done, self._data = True, b""
            return
        try:
            chunk = parse(self._data)
        except ValueError:
            if last:
                raise
            return
        self._data = b""
        if not isinstance(chunk, dict):
            raise ValueError("a piece that isn't an object")  # noqa: TRY004 - the same as one that isn't JSON
        self.count += 1
        self._add(cast("dict[str, Any]", chunk))

    def _add(self, chunk: dict[str, Any]) -> None:
        failure = failure_inside(chunk) or (chunk if self._event == b"error" else None)
        if failure is not None:
            self.failure = failure
            return
        for key in ("model", "usage"):
            if chunk.get(key):
                self._head[key] = chunk[key]
        choices = chunk.get("choices")
        for choice in cast("list[Any]", choices) if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):  # pyright: ignore[reportUnknownMemberType]
                self._choose(cast("dict[str, Any]", choice))

    def _choose(self, choice: dict[str, Any]) -> None:
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        if isinstance(choice.get("logprobs"), dict):
            _append(self._logprobs, choice["logprobs"])
        delta: Any = choice.get("delta")
        if not isinstance(delta, dict):
            if isinstance(choice.get("message"), dict):  # a server that sends the whole in one event
                self._whole = choice["message"]
            return
        said = cast("dict[str, Any]", delta)
        content, refusal, old_call = said.get("content"), said.get("refusal"), said.get("function_call")
        if content:
            self._content.extend(cast("list[object]", content) if isinstance(content, list) else [content])
        if isinstance(refusal, str):
            self._refusal.append(refusal)
        if isinstance(old_call, dict):
            _grow(self._old_call, cast("dict[str, Any]", old_call))
        calls = said.get("tool_calls")
        for call in cast("list[Any]", calls) if isinstance(calls, list) else []:
            if isinstance(call, dict):
                self._call(cast("dict[str, Any]", call))

    def _call(self, call: dict[str, Any]) -> None:
        """A piece of a call goes to the one with its index; servers that give all index 0 tell them apart by id."""
        place, name = call.get("index"), call.get("id")
        known = [function for at, function in self._calls if at == place]
        function = known[-1] if known else None
        if function is None or (name and function["id"] and name != function["id"]):
            function = {"id": name, "name": None, "arguments": ""}
            self._calls.append((place, function))
        piece: Any = call.get("function")
        if isinstance(piece, dict):
            _grow(function, cast("dict[str, Any]", piece))

    def _text(self) -> object:
        """Texts joined; a server that sends parts gets its list back, with bare texts as parts."""
        if all(isinstance(piece, str) for piece in self._content):
            return "".join(cast("list[str]", self._content))
        return [{"type": "text", "text": piece} if isinstance(piece, str) else piece for piece in self._content]


def _append(logprobs: dict[str, Any], piece: dict[str, Any]) -> None:
    """Lists of a piece, one entry a token, go to the end of those that came before."""
    for name, entries in piece.items():
        if isinstance(entries, list):
            logprobs.setdefault(name, []).extend(entries)


def _grow(function: dict[str, Any], piece: dict[str, Any]) -> None:
    function["name"] = function.get("name") or piece.get("name")
    arguments, before = piece.get("arguments"), function.get("arguments") or ""
    if isinstance(arguments, str) and isinstance(before, str):
        function["arguments"] = before + arguments
    elif arguments is not None:
        function["arguments"] = arguments
