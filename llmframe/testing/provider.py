"""A simulated OpenAI-compatible provider on a loopback port."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection
from typing import NoReturn, Self

from llmframe.errors import UsageError
from llmframe.testing import steps
from llmframe.testing.desk import Answer, Desk
from llmframe.testing.http import Connection
from llmframe.testing.policy import Policy, forms, names
from llmframe.testing.record import Record
from llmframe.testing.script import Matcher, Script
from llmframe.testing.server import LoopThread
from llmframe.testing.tally import Tally
from llmframe.testing.throttle import Throttle


class Provider(Record):
    """A simulated OpenAI-compatible provider over real HTTP, for tests without a network or a key.

    It answers chat completions with an instance of the JSON schema in the request (`response_format`, the forced
    tool, or a schema quoted in the messages), derived from a hash of the messages: equal prompts get equal answers.
    Text fields named `echo` or `id` carry the first `row-<digits>` of the last user message back, so that a test
    sees which answer belongs to which row. It runs in a daemon thread and starts when `base_url` is first read.

    Parameters
    ----------
    latency
        Seconds from a request to its answer, or a function of the last user message.
    requests_per_minute, tokens_per_minute
        Limits with a burst of 1 s; a request above them gets a 429 with `retry-after`, `retry-after-ms` and
        `x-ratelimit-*` headers and isn't charged. A request costs its prompt's tokens (4 characters each) and
        its own output limit (16 tokens when it sets none).
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
        `"json_schema"` or `"json_object"` it is plain text unless the messages quote a schema.
    check_key
        Whether any key but `api_key` gets a 401 `invalid_api_key`.
    record
        Whether prompts, bodies and headers are kept; the counters go on without.

    Attributes
    ----------
    api_key
        The key that is accepted under `check_key`.

    Notes
    -----
    A request passes, in this order: key, limits, `refuses`, then its step: of `script`, of the first `when` that
    matches, of `always`, of `answer`. Streaming isn't simulated (400). Every other attribute is a counter or a record
    of the model calls since the start or the last `reset`; they may be read from any thread.

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
        latency: float | Callable[[str], float] = 0.0,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        answer: Answer | None = None,
        refuses: Collection[str] = (),
        refusal_param: bool = True,
        refuses_params: Collection[str] = (),
        ignores: Collection[str] = (),
        check_key: bool = False,
        record: bool = True,
    ) -> None:
        tally = Tally(keep=record)
        super().__init__(tally)
        self.api_key = "sk-test-4f1c"
        self.identity = f"simulated:{uuid.uuid4().hex}"
        self._rates = (requests_per_minute, tokens_per_minute)
        policy = Policy(
            api_key=self.api_key if check_key else None,
            refuses=forms("refuses", refuses),
            names_param=refusal_param,
            refuses_params=names("refuses_params", refuses_params),
            ignores=forms("ignores", ignores),
        )
        self._desk = Desk(tally, policy, latency=latency, answer=answer)
        self._starting = threading.Lock()
        self._thread: LoopThread | None = None
        self.reset()

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:<port>/v1`; reading it starts the provider."""
        return f"http://127.0.0.1:{self.start()}/v1"

    @property
    def connections(self) -> int:
        """Connections open now."""
        return len(self._desk.connections)

    def start(self) -> int:
        """Start serving unless it serves already, and return the port."""
        with self._starting:
            if self._thread is None:
                self._thread = LoopThread(lambda: Connection(self._desk))
            return self._thread.port

    def close(self) -> None:
        """Stop serving and drop every connection; a second call does nothing."""
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.stop(self._desk.drop)

    def __enter__(self) -> Self:
        """Start serving."""
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop serving."""
        self.close()

    def __repr__(self) -> str:
        """The address and the counts; no key, no prompt."""
        thread = self._thread
        where = f"http://127.0.0.1:{thread.port}/v1" if thread is not None else "not started"
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

    def reset(self, *, script: bool = True) -> None:
        """Zero the counters, empty the records and refill the limits.

        Parameters
        ----------
        script
            Whether steps told by `script`, `when` and `always` go too.
        """
        if script:
            self._desk.script = Script()
        requests, tokens = self._rates
        throttle = Throttle(requests_per_minute=requests, tokens_per_minute=tokens)
        self._in_loop(lambda: self._desk.renew(throttle))

    def _in_loop(self, work: Callable[[], None]) -> None:
        """Do `work` in the serving thread, or here when nothing serves."""
        thread = self._thread
        if thread is None:
            work()
        else:
            thread.call(work)
