"""From a prepared map to outcomes: client, runner and store put together for one part of a run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from llmframe.api.batching import Stage, batching, drawn
from llmframe.api.prepared import Prepared
from llmframe.api.voting import Poll
from llmframe.clients.base import Client
from llmframe.core.outcome import Outcome
from llmframe.core.plan import Plan
from llmframe.core.request import canonical_json
from llmframe.engine.bridge import Post
from llmframe.engine.hop import OnLoop
from llmframe.engine.progress import Progress
from llmframe.engine.run import Run
from llmframe.engine.runner import Runner
from llmframe.engine.settled import Settled
from llmframe.engine.sharing import shared_here
from llmframe.errors import StoreError
from llmframe.stores.base import Store

CLOSING_SECONDS: Final = 2.0
"""Seconds that a run waits for its client to close; another call that joined its requests may need it longer."""

_closing: set[asyncio.Task[None]] = set()


async def answer(  # noqa: PLR0913 - one argument a part that is put together
    prepared: Prepared,
    run: Run,
    plan: Plan,
    outcomes: list[Outcome | None],
    *,
    store: Store,
    post: Post,
    listener: Callable[[Progress], None] | None,
    home: asyncio.AbstractEventLoop | None = None,
    settled: Settled | None = None,
) -> None:
    """Answer `plan` on the running (private) loop, into `outcomes`.

    Parameters
    ----------
    post, listener
        `listener` is called with the progress through `post`, in the caller's thread.
    home
        The caller's loop, when the client's connections belong to it.
    settled
        What batches of the run have come to before; without it, a map by batches makes its own.
    """
    client: Client = prepared.client if home is None else OnLoop(prepared.client, home)
    said = prepared.asking.arguments
    stage = stage_of(prepared, run) if settled is None else None
    if stage is not None:
        settled, store = stage.settled, stage.store
    runner = partial(_runner, prepared, run, store=store, settled=settled, fail_fast=said.on_error == "raise")
    worker: Worker = runner(client, plan, outcomes)
    if said.votes > 1:
        worker = _poll(prepared, run, plan, outcomes, client=client, runner=runner, home=home)
    await carry_out(worker, client, run, plan, outcomes, post=post, listener=listener, stage=stage)


def _runner(  # noqa: PLR0913 - as above
    prepared: Prepared,
    run: Run,
    client: Client,
    plan: Plan,
    outcomes: list[Outcome | None],
    *,
    store: Store,
    settled: Settled | None,
    fail_fast: bool,
    sample: int = 0,
) -> Runner:
    ask = prepared.asking
    return Runner(
        run,
        plan,
        client=client,
        schema=ask.schema,
        options=ask.arguments.sending,
        store=store,
        shared=shared_here(),
        outcomes=outcomes,
        # of several votes one may fail, but where tokens' probabilities are wanted first, the first sample decides
        fail_fast=fail_fast and (ask.arguments.votes == 1 or (ask.arguments.confidence == "auto" and not sample)),
        components=ask.question(client, sample=sample).components(),
        settled=None if sample else settled,
    )


def _poll(  # noqa: PLR0913 - as above
    prepared: Prepared,
    run: Run,
    plan: Plan,
    outcomes: list[Outcome | None],
    *,
    client: Client,
    runner: Callable[..., Runner],
    home: asyncio.AbstractEventLoop | None,
) -> Poll:
    """What answers a part by votes; samples whose requests are sent in another form have clients of their own."""
    ask = prepared.asking
    own: dict[str, Client] = {}
    opening = asyncio.Lock()
    plain = ask.arguments.confidence == "votes" and ask.params(1) == ask.params()

    async def asker(sample: int, plan: Plan, outcomes: list[Outcome | None]) -> Runner:
        if not sample or plain:
            return runner(client, plan, outcomes, sample=sample)
        form = canonical_json(ask.params(sample))
        async with opening:
            if form not in own:
                opened = ask.client(sample=sample)
                own[form] = opened if home is None else OnLoop(opened, home)
                await own[form].start()
        return runner(own[form], plan, outcomes, sample=sample)

    async def close() -> None:
        for each in own.values():
            await each.close()

    scoring = ask.schema.scoring
    assert scoring is not None  # noqa: S101 - votes are asked of a confidence
    return Poll(
        run,
        plan,
        outcomes,
        scoring=scoring,
        samples=ask.arguments.votes,
        plan_of=lambda sample, asked: prepared.plan(sample=sample, asked=asked),
        asker=asker,
        close=close,
        fail_fast=ask.arguments.on_error == "raise",
    )


def stage_of(prepared: Prepared, run: Run) -> Stage | None:
    """The batches that come before a run with one part; `None` in a live one."""
    by_batches = batching(prepared.asking, prepared.client)
    return None if by_batches is None else by_batches.filling(run, drawn([prepared]), rows=len(prepared.frame))


class Worker(Protocol):
    """What answers one part of a run."""

    async def work(self) -> None:
        """Deliver an outcome for every request of the plan."""
        ...

    def look(self) -> None:
        """Deliver what is kept, in place of `work`."""
        ...

    async def landed(self) -> None:
        """Wait until no attempt of this part uses the client."""
        ...

    async def kept(self) -> None:
        """Wait until all that came back is safe in the store."""
        ...


async def carry_out(  # noqa: PLR0913 - one argument a part that is put together
    worker: Worker,
    client: Client,
    run: Run,
    plan: Plan,
    outcomes: list[Outcome | None],
    *,
    post: Post,
    listener: Callable[[Progress], None] | None,
    stage: Stage | None = None,
) -> None:
    """Have `worker` answer a part of `run`, from the client's start to its end; arguments as in `answer`.

    Parameters
    ----------
    stage
        The batches that come first, within the run.
    """

    async def work() -> None:
        if stage is not None:
            await _fill(stage, worker)
        await client.start()
        await worker.work()

    tell: Callable[[Progress], None] | None = None
    if listener is not None:
        tell = lambda progress: post(lambda: listener(progress))  # noqa: E731 - a `def` loses that it isn't None
    try:
        await run.execute(plan, lambda: asyncio.create_task(work()), listener=tell)
    finally:
        # at once, so that no report falls between the part's end and its count
        run.metrics.count_rows(plan, outcomes, missing=run.missing)
        if not run.active:
            run.metrics.run_ended(run.report())
        closing = asyncio.create_task(_close(client, worker))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        await asyncio.wait({closing}, timeout=CLOSING_SECONDS)
        await worker.kept()


async def _fill(stage: Stage, worker: Worker) -> None:
    try:
        await stage.run()
    except asyncio.CancelledError:
        with contextlib.suppress(StoreError):
            worker.look()  # what has come back stands in the frame of an interrupt, too
        raise


async def _close(client: Client, worker: Worker) -> None:
    await worker.landed()
    await client.close()
