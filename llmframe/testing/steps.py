"""Scripted answers and faults: what a `Provider` does in place of its own answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error with OpenAI's error body.

    Parameters
    ----------
    code
        HTTP status, 400 to 599.
    error_code, message, param
        The error body's `code`, `message` and `param`. Without a message the status' phrase stands there.
    retry_after
        The `Retry-After` header as it is sent: a number of seconds, a date, or anything that isn't valid.
    headers
        Further headers.
    """

    code: int
    error_code: str | None = None
    message: str | None = None
    param: str | None = None
    retry_after: str | float | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A reply of this text, whatever form was asked for."""

    content: str
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Object:
    """A reply with this JSON value, as a tool call or as text, whichever was asked for."""

    value: object = field(hash=False)


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Tool calls `(name, arguments)`; arguments are a dict, or a str that goes out as it is (broken JSON)."""

    calls: Sequence[tuple[str, Mapping[str, object] | str]] = field(hash=False)
    finish_reason: str = "tool_calls"


@dataclass(frozen=True, slots=True)
class Truncated:
    """The usual answer cut off at the token limit: `finish_reason="length"`.

    Parameters
    ----------
    share
        How much of the text is there, 0 (nothing) to 1 (all of it, but still `"length"`).
    """

    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declines: `refusal` holds the text, `content` is null."""

    text: str = "I can't help with that."


@dataclass(frozen=True, slots=True)
class Filtered:
    """The answer was withheld by a content filter: `finish_reason="content_filter"`, no content."""


@dataclass(frozen=True, slots=True)
class Empty:
    """A well-formed answer with nothing in it: `content` is `""`."""


@dataclass(frozen=True, slots=True)
class NoChoices:
    """A 200 whose `choices` is an empty list."""


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer, ever; the connection stays open."""


@dataclass(frozen=True, slots=True)
class Drip:
    """The headers at once, then a blank (in a stream a comment) every `interval` seconds and never a whole body."""

    interval: float = 0.05


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection closes in the middle of the body, or of a stream's events.

    Parameters
    ----------
    clean
        Whether the answer ends in good HTTP form, as from a proxy that lost its server: half of the body under its
        right length, a stream that stops without `finish_reason` and `[DONE]`.
    """

    clean: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """Some pieces of a stream, then silence for ever; the connection stays open.

    Parameters
    ----------
    after
        Pieces of text or arguments that come, after the event that tells the role. An answer that isn't streamed
        stalls in the middle of its body.
    ping
        Seconds between comments (`: ping`) during the silence; `None` sends none.
    """

    after: int = 1
    ping: float | None = None


@dataclass(frozen=True, slots=True)
class StreamError:
    """Some pieces of a stream, then an error object as an event, and the end.

    Parameters
    ----------
    after
        Pieces of text or arguments before it.
    message, code
        The error's words. An answer that isn't streamed is a 200 with the error object alone.
    """

    after: int = 1
    message: str = "The server had an error while processing your request."
    code: str | int | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset before any byte of an answer."""


@dataclass(frozen=True, slots=True)
class BadBody:
    """A 200 whose body is broken JSON; in a stream one event is."""


@dataclass(frozen=True, slots=True)
class Html:
    """A page of HTML, as a proxy or a sign-in page answers."""

    code: int = 200


@dataclass(frozen=True, slots=True)
class Delay:
    """`seconds` more before the answer, or before the step `then`."""

    seconds: float
    then: Step | None = None


@dataclass(frozen=True, slots=True, init=False)
class Without:
    """The usual answer without these keys, wherever they stand: body, choice or message."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


Step = (
    Status
    | Text
    | Object
    | ToolCalls
    | Truncated
    | Refusal
    | Filtered
    | Empty
    | NoChoices
    | Hang
    | Drip
    | Cut
    | Stall
    | StreamError
    | Reset
    | BadBody
    | Html
    | Delay
    | Without
)
"""Anything that `script`, `when`, `always` and an `answer` function may give."""
