"""A simulated OpenAI-compatible provider on a loopback port."""

from __future__ import annotations

import asyncio
import functools
import threading
import uuid
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import NoReturn, Self

from llmframe.errors import UsageError
from llmframe.testing import steps
from llmframe.testing.batch_book import Book
from llmframe.testing.batch_desk import BatchDesk
from llmframe.testing.batches import BatchService
from llmframe.testing.closed import Opinion, Probabilities, check_probabilities
from llmframe.testing.desk import Answer, Desk
from llmframe.testing.faults import Faults
from llmframe.testing.files import Files
from llmframe.testing.http import Connection
from llmframe.testing.latency import Latency
from llmframe.testing.limits import Limits, Told
from llmframe.testing.policy import IGNORED, Policy, forms, names
from llmframe.testing.record import Record
from llmframe.testing.script import Matcher, Script
from llmframe.testing.server import LoopServer, LoopThread, Server
from llmframe.testing.tally import Tally
from llmframe.testing.telling import USUAL, Logprobs

LEAVING_ROUNDS = 5
"""Rounds of the loop in which a connection that its client has just closed is noticed: close, read, report."""

_DEAD = steps.Reset()


class Provider(Record):
    """A simulated OpenAI-compatible provider over real HTTP, for tests without a network or a key.

    It answers chat completions, streamed ones too, with an instance of the JSON schema in the request
    (`response_format`, the forced tool, or a schema quoted in the messages), derived from a hash of the messages:
    equal prompts get equal answers. Text fields named `echo` or `id` carry the first `row-<digits>` of the last user
    message back, so that a test sees which answer belongs to which row. It embeds texts as vectors of unit length that
    depend on the text alone, and takes both kinds of request in batches, too. It runs in a daemon thread and starts
    when `base_url` is first read, or in the running loop inside `serving`.

    Parameters
    ----------
    latency
        Seconds from a request to its answer, or to the first piece of a stream; or a function of the last user
        message, or of that and the number of requests in flight, this one included.
        `lambda prompt, in_flight: 0.5 * max(1, in_flight / 40)` is a server that slows down past 40 and never says
        429.
    piece_latency
        Seconds between two pieces of a stream.
    requests_per_minute, tokens_per_minute
        Limits with a burst of 1 s; a request above them gets a 429 with `retry-after`, `retry-after-ms` and
        `x-ratelimit-*` headers and isn't charged. A request costs its prompt's tokens (4 characters each) and
        its own output limit (16 tokens when it sets none).
    max_concurrency
        Requests worked on at once; one more gets a 429 without any of these headers and isn't charged.
    limit_headers
        Whether headers tell about the limits: with `"retry-after"` a 429 alone tells how long to wait, with
        `False` nothing does.
    answer
        `answer(prompt, request)` in place of the usual answer: a str (the reply's text), a step
        (`Status(500)`), `None` (the usual answer) or any other JSON value (sent in the form that was asked for).
    refuses
        Request forms answered with a 400: of `"json_schema"`, `"json_object"`, `"tools"`.
    refusal_param
        Whether that 400 names the parameter (`"response_format"`, `"tools"`) or only has a message.
    refuses_params
        Body keys answered with a 400 `unsupported_parameter`, such as `"max_tokens"`.
    ignores
        Request forms overlooked in silence: with `"tools"` the answer is JSON in plain text, with
        `"json_schema"` or `"json_object"` it is plain text unless the messages quote a schema; with `"logprobs"`
        none are told.
    faults
        Steps that come by chance, with their shares of all requests: `{Status(500): 0.05, Hang(): 0.02}`.
    seed
        Decides, with a request's messages and how often these came before, whether it draws a fault; order of
        arrival and time don't.
    check_key
        Whether any key but `api_key` gets a 401 `invalid_api_key`.
    record
        Whether prompts, bodies and headers are kept; counters and times go on without.
    dimensions
        Numbers of a vector, for requests that name no `dimensions`.
    probabilities
        How likely the model holds the values that a schema lists for a field of the answer: a mapping from values
        (`{"positive": 0.7, "negative": 0.3}`), or a function of the last user message that gives one; `None` derives
        them from the messages, with more than a half for one of them. They are told as log-probabilities to requests
        with `"logprobs": true`, and decide what is said: the likeliest, unless the model `varies`.
    varies
        Whether each request draws listed values by `probabilities`: always alike for equal messages with the same
        `seed` in the request; without one, the first, second, … request of equal messages each have a draw.
    logprobs
        How log-probabilities are told, and where they fall short: see `Logprobs`. A provider that refuses them has
        `refuses_params=("logprobs",)`.

    Attributes
    ----------
    api_key
        The key that is accepted under `check_key`.
    batches
        Files and the Batch API: how batches go on, their faults and counters. Their calls are no model calls.

    Notes
    -----
    A request passes, in this order: `down`, key, limits, `refuses`, then its step: of `script`, of the first `when`
    that matches, of `always`, of `faults`, of `answer`. A request with `"stream": true` is answered by server-sent
    events as OpenAI sends them; a server that can't stream has `refuses_params=("stream",)`. Every time is one of the
    loop that serves. Every other attribute is a counter or a record of the model calls since the start or the last
    `reset`; they may be read from any thread.

    Examples
    --------
    >>> from llmframe.testing import Provider, Status, Text
    >>> with Provider() as provider:
    ...     provider.script(Status(500), Text("better"))
    ...     provider.requests
    0
    """

    def __init__(  # noqa: PLR0913 - one argument a trait of the simulated server
        self,
        *,
        latency: Latency = 0.0,
        piece_latency: float = 0.0,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_concurrency: int | None = None,
        limit_headers: Told = True,
        answer: Answer | None = None,
        refuses: Collection[str] = (),
        refusal_param: bool = True,
        refuses_params: Collection[str] = (),
        ignores: Collection[str] = (),
        faults: Mapping[steps.Step, float] | None = None,
        seed: int = 0,
        check_key: bool = False,
        record: bool = True,
        dimensions: int = 8,
        probabilities: Probabilities | None = None,
        varies: bool = False,
        logprobs: Logprobs = USUAL,
    ) -> None:
        tally = Tally(keep=record)
        super().__init__(tally)
        self.api_key = "sk-test-4f1c"
        self.identity = f"simulated:{uuid.uuid4().hex}"
        policy = Policy(
            api_key=self.api_key if check_key else None,
            refuses=forms("refuses", refuses),
            names_param=refusal_param,
            refuses_params=names("refuses_params", refuses_params),
            ignores=forms("ignores", ignores, IGNORED),
            most_top_logprobs=logprobs.most,
        )
        check_probabilities(probabilities)
        limits = Limits(
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            max_concurrency=max_concurrency,
            told=limit_headers,
        )
        self._book = Book(Files())
        self.batches = BatchService(self._book, in_loop=self._in_loop)
        self._desk = Desk(
            tally,
            policy,
            limits,
            latency=latency,
            piece_latency=piece_latency,
            faults=Faults(faults or {}, seed=seed),
            answer=answer,
            dimensions=dimensions,
            opinion=Opinion(stated=probabilities, varies=varies),
            logprobs=logprobs,
            batches=functools.partial(BatchDesk, self.batches, self._book),
        )
        self._starting = threading.Lock()
        self._server: Server | None = None

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:<port>/v1`; reading it starts the provider."""
        return f"http://127.0.0.1:{self.start()}/v1"

    @property
    def connections(self) -> int:
        """Connections open now."""
        return len(self._desk.connections)

    def start(self) -> int:
        """Start serving in a thread unless it serves already, and return the port."""
        with self._starting:
            if self._server is None:
                self._desk.fill()
                self._server = LoopThread(lambda: Connection(self._desk))
            return self._server.port

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Self]:
        """Serve in the running loop while the block lasts.

        Latency, limits and delays then keep to that loop's `time()`: under `run_in_fake_time` an hour of them takes
        no time, and every run is the same. The `wait_…` methods would block the loop; `await asyncio.sleep(…)` there.

        Raises
        ------
        UsageError
            If it serves already.

        Examples
        --------
        >>> import asyncio, aiohttp
        >>> from llmframe.testing import Provider, run_in_fake_time
        >>> async def main() -> float:
        ...     async with Provider(latency=60).serving() as provider, aiohttp.ClientSession() as session:
        ...         question = {"model": "m", "messages": [{"role": "user", "content": "Well?"}]}
        ...         await session.post(f"{provider.base_url}/chat/completions", json=question)
        ...         return asyncio.get_running_loop().time()
        >>> run_in_fake_time(main())
        60.0
        """
        server = await LoopServer.open(lambda: Connection(self._desk))
        with self._starting:
            if self._server is not None:
                server.stop(lambda: None)
                msg = f"{self!r} serves already; enter `serving()` before its address is read"
                raise UsageError(msg)
            self._desk.fill()
            self._server = server
            self._tally.serving_here = threading.get_ident()
        try:
            yield self
        finally:
            server.turn_away()
            for _ in range(LEAVING_ROUNDS):
                await asyncio.sleep(0)
            self.close()
            await asyncio.sleep(0)  # connections that were dropped report their end

    def close(self) -> None:
        """Stop serving and drop every connection; a second call does nothing."""
        with self._starting:
            server, self._server = self._server, None
            self._tally.serving_here = None
            if server is not None:
                server.stop(self._desk.drop)

    def __enter__(self) -> Self:
        """Start serving."""
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop serving."""
        self.close()

    def __repr__(self) -> str:
        """The address and the counts; no key, no prompt."""
        server = self._server
        where = f"http://127.0.0.1:{server.port}/v1" if server is not None else "not started"
        return f"<Provider {where}: {self.requests} requests, {self.in_flight} in flight>"

    def __reduce__(self) -> NoReturn:
        """Refused: another process reaches this provider by its `base_url`."""
        msg = "a Provider can't be pickled; give the other process its base_url and api_key"
        raise TypeError(msg)

    def script(self, *to_come: steps.Step) -> None:
        """Steps for the next requests, one each in order of arrival."""
        self._desk.script.add(to_come)

    def when(self, prompt: Matcher, *to_come: steps.Step, times: int | None = None, per_prompt: bool = False) -> None:
        """Steps for the requests whose last user message matches.

        Parameters
        ----------
        prompt
            Text that the message holds, or a function of the message.
        *to_come
            The steps, in turn and over again.
        times
            How many matching requests get a step; without it all of them do.
        per_prompt
            Whether turns and `times` are counted for every distinct message apart:
            `when("row", Status(500), times=1, per_prompt=True)` fails each row once.
        """
        if not to_come:
            msg = f"when({prompt!r}) has no step; give at least one, such as `Status(500)`"
            raise UsageError(msg)
        self._desk.script.add_rule(prompt, to_come, times=times, per_prompt=per_prompt)

    def always(self, step: steps.Step | None) -> None:
        """The step of every request that `script` and `when` leave; `None` ends it."""
        self._desk.script.stand(step)

    def hold(self) -> None:
        """Withhold every answer from now on, errors included."""
        self._desk.gate.hold()

    def release(self, n: int | None = None) -> None:
        """Send the `n` longest withheld answers and go on holding; without `n` send all and end it."""
        self._in_loop(lambda: self._desk.gate.release(n))

    def down(self, step: steps.Step = _DEAD) -> None:
        """An outage from now on, until `up`: requests under way are reset, and each that comes gets `step` at once.

        Parameters
        ----------
        step
            `Reset()`, a dead server, which resets idle connections too; or for instance `Status(503)`, a gateway
            before one. Neither key nor limits are looked at meanwhile; the requests are counted as any.
        """
        self._in_loop(lambda: self._desk.fail(step))
        self._in_loop(lambda: None)  # a transport closes its socket in the loop's next round

    def up(self) -> None:
        """End the outage."""
        self._in_loop(self._desk.recover)

    def reset(self, *, script: bool = True) -> None:
        """Zero the counters, empty the records, refill the limits and let `faults` come as at the start.

        Parameters
        ----------
        script
            Whether steps told by `script`, `when` and `always` go too, and what was told of batches to come by
            methods of `batches`. Files and batches stay.
        """
        if script:
            self._desk.script = Script()
            self._book.forget()
        self._book.zero()
        self._in_loop(self._desk.renew)

    def _in_loop(self, work: Callable[[], None]) -> None:
        """Do `work` in the serving loop, or here when nothing serves."""
        server = self._server
        if server is None:
            work()
        else:
            server.call(work)
