"""What one run is: its parts, its stop and its end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from llmframe.core.outcome import Failure
from llmframe.engine.gate import Gate
from llmframe.engine.progress import Progress
from llmframe.engine.run import CANCELLED, TICK_SECONDS
from llmframe.options import SendOptions
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import new_run, plan_of

AUTH = Failure("auth", "401")


def now() -> float:
    return asyncio.get_running_loop().time()


def nap(seconds: float) -> asyncio.Task[None]:
    async def sleep() -> None:
        await asyncio.sleep(seconds)

    return asyncio.create_task(sleep())


def test_a_part_runs_to_its_end_and_the_report_has_its_time():
    async def main() -> None:
        run = new_run()
        await asyncio.sleep(1)
        working = asyncio.create_task(run.execute(plan_of([], identity="x"), lambda: nap(5)))
        await asyncio.sleep(2)
        assert run.active
        assert (run.report().state, run.report().seconds) == ("running", pytest.approx(3.0))
        await working
        await asyncio.sleep(100)
        assert not run.active
        assert (run.report().state, run.report().seconds) == ("done", pytest.approx(6.0))

    run_in_fake_time(main())


def test_a_failure_of_the_work_itself_is_raised():
    async def fail() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        run = new_run()
        with pytest.raises(ZeroDivisionError):
            await run.execute(plan_of([], identity="x"), lambda: asyncio.create_task(fail()))
        assert not run.active

    run_in_fake_time(main())


def test_cancelling_ends_all_parts_at_once_and_raises_nothing():
    async def main() -> None:
        run = new_run()
        parts = [run.execute(plan_of([], identity="x"), lambda: nap(100)) for _ in range(3)]
        asyncio.get_running_loop().call_later(2, run.cancel)
        await asyncio.gather(*parts)
        assert now() == pytest.approx(2.0)
        assert run.report().state == "interrupted"
        assert run.missing == CANCELLED

    run_in_fake_time(main())


def test_a_run_may_be_cancelled_from_another_thread():
    async def main() -> None:
        run = new_run()
        working = asyncio.create_task(run.execute(plan_of([], identity="x"), lambda: nap(1e9)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        thread = threading.Thread(target=run.cancel)
        thread.start()
        thread.join()
        await working

    asyncio.run(main())


def test_a_part_of_a_cancelled_run_ends_before_it_begins():
    async def main() -> float:
        run = new_run()
        run.cancel()
        await run.execute(plan_of([], identity="x"), lambda: nap(100))
        return now()

    assert run_in_fake_time(main()) == 0.0


def test_work_that_is_cancelled_by_somebody_else_is_no_end_of_the_run():
    async def main() -> None:
        run = new_run()

        def cancelled() -> asyncio.Task[None]:
            task = nap(100)
            asyncio.get_running_loop().call_later(1, task.cancel)
            return task

        with pytest.raises(asyncio.CancelledError):
            await run.execute(plan_of([], identity="x"), cancelled)

    run_in_fake_time(main())


def test_the_first_stop_counts_and_tells_everybody_who_waits():
    async def main() -> None:
        run, told = new_run(), []
        run.stopping.add(lambda: told.append(run.stop))
        run.halt(AUTH)
        run.halt(Failure("cancelled", "later"))
        assert (run.stop, run.missing, told) == (AUTH, AUTH, [AUTH])
        assert run.report().state == "stopped"

    run_in_fake_time(main())


def test_an_interrupt_keeps_the_reason_of_an_earlier_stop():
    async def main() -> None:
        run = new_run()
        run.halt(AUTH)
        run.cancel()
        assert run.missing == AUTH
        assert run.report().state == "interrupted"

    run_in_fake_time(main())


def test_the_parts_have_one_lane_at_a_gate_in_common():
    async def main() -> None:
        run = new_run()
        working = asyncio.create_task(run.execute(plan_of([], identity="x"), lambda: nap(5)))
        await asyncio.sleep(1)
        gate = Gate(run.clock)
        assert run.lane(gate, SendOptions()) is run.lane(gate, SendOptions())
        await working

    run_in_fake_time(main())


def test_progress_is_told_ten_times_a_second_and_at_the_end():
    async def main() -> list[Progress]:
        run, seen = new_run(rows=3), []
        plan = plan_of(["a", "b", None], identity="x")
        list(plan.draw())
        await run.execute(plan, lambda: nap(10 * TICK_SECONDS), listener=seen.append)
        return seen

    seen = run_in_fake_time(main())
    assert 10 <= len(seen) <= 13
    assert seen[-1] == Progress(rows=3, done=1, cached=0, failed=0, in_flight=0, usd=None)


def test_progress_counts_the_rows_of_ended_parts_and_of_those_that_go_on():
    async def main() -> int:
        run = new_run()
        ended = plan_of(["c", "d", "d"], identity="x")
        list(ended.draw())
        ended.finish(1)  # interrupted before the first
        await run.execute(ended, lambda: nap(1))
        plan = plan_of(["a", "a", "b"], identity="x")
        list(plan.draw())
        plan.finish(0)
        working = asyncio.create_task(run.execute(plan, lambda: nap(5)))
        await asyncio.sleep(1)
        done = run.progress().done
        await working
        return done

    assert run_in_fake_time(main()) == 2 + 2


def test_a_part_that_ends_leaves_the_telling_to_those_that_go_on():
    async def main() -> list[int]:
        run, first, second = new_run(), [], []
        going = asyncio.create_task(
            run.execute(plan_of([], identity="x"), lambda: nap(9 * TICK_SECONDS), listener=first.append)
        )
        await asyncio.sleep(0)
        await run.execute(plan_of([], identity="x"), lambda: nap(4.5 * TICK_SECONDS), listener=second.append)
        told = len(first), len(second)
        await going
        return [len(first) - told[0], len(second) - told[1]]

    more_of_the_first, more_of_the_second = run_in_fake_time(main())
    assert more_of_the_first >= 4
    assert more_of_the_second == 0


def test_a_listener_that_raises_leaves_no_part_running():
    def broken(progress: Progress) -> None:
        raise ValueError(progress.done)

    async def main() -> tuple[bool, str]:
        run = new_run(1)
        with pytest.raises(ValueError, match="0"):
            await run.execute(plan_of(["a"], identity="x"), lambda: nap(1), listener=broken)
        await run.execute(plan_of(["a"], identity="x"), lambda: nap(1))  # and nobody tells it of the next one
        return run.active, run.report().state

    assert run_in_fake_time(main()) == (False, "done")


def test_a_budget_of_seconds_runs_from_when_the_first_part_is_ready_to_send():
    """SDKs load for 5 s, and then there are 10 s; a second part that is ready later has what is left of them."""

    async def main() -> tuple[float, Failure | None]:
        run = new_run(budget={"seconds": 10})
        run.lane(Gate(run.clock), SendOptions())
        stopped: list[float] = []
        run.stopping.add(lambda: stopped.append(now()))

        async def part(ready: float) -> None:
            await asyncio.sleep(ready)
            run.send()
            await asyncio.sleep(30)

        plans = [plan_of([], identity="x"), plan_of([], identity="y")]
        works = [lambda ready=ready: asyncio.create_task(part(ready)) for ready in (5.0, 9.0)]
        await asyncio.gather(*(run.execute(plan, work) for plan, work in zip(plans, works, strict=True)))
        return stopped[0], run.stop

    stopped, stop = run_in_fake_time(main())
    assert stopped == pytest.approx(15.0)
    assert str(stop) == "budget: not answered within the 10 s of the run's budget"
