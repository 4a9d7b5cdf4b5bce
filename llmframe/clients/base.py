"""The client port: it sends one request once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from llmframe.core.ratelimits import RateLimits
from llmframe.core.reply import Reply
from llmframe.core.template import Message
from llmframe.errors import ErrorKind

Mode = Literal["json_schema", "tools", "json", "score", "text"]
"""How an answer's shape is asked for; `"text"`: there is no schema, `"score"`: labels are scored, not written."""

Logprobs = Literal["no", "asked", "tried"]
"""Whether replies are to tell their tokens' log-probabilities: never, or else the run ends, or where it's possible."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server was found to accept; it may change once a run, by the server's own answer.

    Parameters
    ----------
    mode
        How the shape is asked for.
    max_tokens_name
        Under which name the cap on output goes out.
    asks_usage
        Whether a streamed answer is asked for its usage (`stream_options`), which not every server knows.
    top_logprobs
        For how many alternatives of each token it is asked; `None` when no log-probabilities are.
    ends_run
        Whether an answer in this dialect shows that the run can't have what it is about, and ends it.
    """

    mode: Mode
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    asks_usage: bool = False
    top_logprobs: int | None = None
    ends_run: bool = False

    @property
    def logprobs(self) -> bool:
        """Whether answers in it come with log-probabilities."""
        return self.top_logprobs is not None

    @property
    def form(self) -> str:
        """How it's told in a ledger, beside `max_tokens_name`: the mode, and what is asked about log-probabilities."""
        return f"{self.mode}+{self.top_logprobs}" if self.logprobs else self.mode

    @classmethod
    def of_form(cls, form: str, max_tokens_name: str) -> Dialect:
        """The dialect of a `form` of ours."""
        mode, _, top = form.partition("+")
        return cls(mode, max_tokens_name, top_logprobs=int(top) if top else None)  # pyright: ignore[reportArgumentType] - our own words

    @property
    def body(self) -> dict[str, object]:
        """What it adds to a request about log-probabilities."""
        return {"logprobs": True, "top_logprobs": self.top_logprobs} if self.logprobs else {}

    def with_mode(self, mode: Mode) -> Dialect:
        """The same dialect with another mode."""
        return replace(self, mode=mode)


class RequestError(Exception):
    """One request failed in transport or was refused by the server; the engine decides what follows.

    Attributes
    ----------
    kind
        One of `errors.ERROR_KINDS`.
    detail
        What happened: status, code, message. No key, header or prompt.
    status, code, param
        The HTTP status and the error body's words, where there were any.
    retry_after
        Seconds that the server asked to wait; `None` when it said nothing usable.
    limits
        What the answer said about the account's limits; `None` when nothing.
    """

    def __init__(  # noqa: PLR0913 - one argument a fact of the answer
        self,
        kind: ErrorKind,
        detail: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        limits: RateLimits | None = None,
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: ErrorKind = kind
        self.detail = detail
        self.status = status
        self.code = code
        self.param = param
        self.retry_after = retry_after
        self.limits = limits

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the attributes: an exception's own way calls the class with its message alone."""
        return (RequestError, (self.kind, self.detail), self.__dict__)


class Client(Protocol):
    """A provider as the engine sees it: built for one map, started in the loop that uses it.

    Attributes
    ----------
    identity
        Part of the fingerprint: the normalised base URL, the provider's name, or the hash of embedded weights.
    account
        Digest of the key, so that limits are shared by endpoint, key and model; never the key.
    model
        The model's name as it is sent.
    provider
        The provider's name for prices (`"openai"`), or `None` when unknown.
    dialects
        The dialects to try, the preferred one first; one entry when the user chose by `output_mode`.
    streams
        Whether answers come in pieces (`params={"stream": True}`). The client then bounds the silence between two
        pieces itself, and nobody bounds the whole answer.
    """

    identity: str
    account: str
    model: str
    provider: str | None
    dialects: tuple[Dialect, ...]
    streams: bool

    async def start(self) -> None:
        """Open what belongs to the running loop (connections, an embedded server)."""
        ...

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        """One HTTP attempt without a retry; raises `RequestError`. Time limits are the engine's unless it `streams`."""
        ...

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        """The messages that show the model its invalid reply and what was wrong with it."""
        ...

    async def close(self) -> None:
        """Close what `start` opened; a second call does nothing."""
        ...
