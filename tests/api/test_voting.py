"""Votes: as many samples as it takes, one answer of them all, nothing paid twice."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.api.arguments import arguments
from llmframe.api.prepared import asking, prepare
from llmframe.api.runs import new_run
from llmframe.api.voting import Poll
from llmframe.core.outcome import Answer, Outcome
from llmframe.core.plan import Plan
from llmframe.errors import LlmframeWarning
from llmframe.frames import wrap
from llmframe.testing import Provider, Refusal

pytestmark = pytest.mark.filterwarnings("ignore:.* answered rows have no confidence")

Label = Literal["good", "bad", "mixed"]


class Reasoned(BaseModel):
    label: Label
    reason: str


def scripted(says: dict[str, list[Any]]) -> Callable[[str, object], object]:
    """What each text's first, second, ... request is answered."""
    asked: Counter[str] = Counter()

    def answer(prompt: str, _request: object) -> object:
        text = prompt.rsplit(maxsplit=1)[-1]
        asked[text] += 1
        said = says[text][asked[text] - 1]
        return {"response": said} if isinstance(said, str) else said

    return answer


def votes(texts: list[str], provider: Provider, **options: Any) -> Any:
    given = {"schema": Label, "client": provider, "cache": False, "progress": False, "confidence": "votes"}
    return llmframe.map(pl.DataFrame({"text": texts}), "Judge {text}", **(given | options))


def test_a_clear_case_gets_as_few_samples_as_decide_it_and_an_open_one_all():
    says = {
        "clear": ["good"] * 3,  # 3 of 5 can't be overtaken
        "close": ["good", "bad", "good", "bad", "good"],
        "open": ["good", "bad", "mixed", "bad", "mixed"],
    }
    with Provider(answer=scripted(says)) as provider:
        out = votes(["clear", "close", "open", "clear"], provider, distribution=True)
        assert Counter(prompt.split()[-1] for prompt in provider.prompts) == {"clear": 3, "close": 5, "open": 5}
    assert out["response"].to_list() == ["good", "good", None, "good"]
    assert out["confidence"].to_list() == [1.0, 0.6, None, 1.0]
    assert out["confidence_source"].to_list() == ["votes", "votes", "tie", "votes"]
    assert out["distribution"].to_list()[2] == {"good": 0.2, "bad": 0.4, "mixed": 0.4}
    assert out["error"].null_count() == 4


def test_an_invalid_sample_is_no_vote_and_tells_in_the_label_mass():
    with Provider(answer=scripted({"x": ["good", "awful", "good", "good", "bad"]})) as provider:
        out = votes(["x"], provider, distribution=True, reask=0)
        assert provider.requests == 4  # good, failed, good, good: one more could only make it 3 to 1
    assert out.row(0, named=True)["confidence"] == 1.0
    assert out.row(0, named=True)["label_mass"] == 0.75


def test_a_row_whose_samples_all_fail_has_the_first_ones_error():
    with Provider(answer=scripted({"x": ["awful"] * 5})) as provider:
        with pytest.warns(LlmframeWarning, match="1 of 1 rows failed: 1 invalid"):
            out = votes(["x"], provider, reask=0)
        assert provider.requests == 5
    assert out["response"].to_list() == [None]
    assert out["confidence"].to_list() == [None]
    assert out["error"][0].startswith("invalid")


def test_the_reason_is_one_that_was_given_for_the_label():
    said = [{"label": label, "reason": f"for {label}"} for label in ("bad", "good", "good", "good", "bad")]
    with Provider(answer=scripted({"x": said})) as provider:
        out = votes(["x"], provider, schema=Reasoned)
    assert out.row(0)[1:4] == ("good", "for good", 0.75)  # 3 of 4: the fifth can't make it even


def test_samples_are_questions_of_their_own_and_kept(tmp_path: Path):
    with Provider(varies=True) as provider:
        texts = [f"text-{number}" for number in range(30)]
        first = votes(texts, provider, cache=tmp_path / "s", meta=True)
        sent = provider.requests
        again = votes(texts, provider, cache=tmp_path / "s", meta=True)
        assert provider.requests == sent
        columns = ["response", "confidence", "confidence_source", "error"]
        assert again.select(columns).equals(first.select(columns))
        assert again["llm_meta"].struct.field("source").unique().to_list() == ["cache"]
        assert sum(first["llm_meta"].struct.field("attempts")) == sent
        report = votes(texts, provider, cache=tmp_path / "s", samples=7)
        assert report.height == 30
        # what is settled by 5 may be open by 7: no sample is asked twice
        assert provider.requests - sent <= 30 * 4


def test_a_seed_goes_out_with_the_number_of_the_sample():
    with Provider(varies=True) as provider:
        votes(["x"], provider, params={"seed": 10}, samples=3)
        first = sorted(body["seed"] for body in provider.bodies)  # samples are sent side by side
        votes(["x"], provider, params={"seed": 10}, samples=3)
        assert sorted(body["seed"] for body in provider.bodies) == sorted(first * 2)
    assert first == list(range(10, 10 + len(first)))


def test_a_seed_or_a_temperature_in_the_extra_body_is_one_as_well():
    with Provider(varies=True) as provider:
        votes(["x"], provider, params={"extra_body": {"seed": 10}}, samples=3)
        seeds = [body["seed"] for body in provider.bodies]
        assert sorted(seeds) == list(range(10, 10 + len(seeds)))
        with pytest.raises(llmframe.UsageError, match="temperature"):
            votes(["x"], provider, params={"extra_body": {"temperature": 0}})


def test_the_sum_of_what_rows_took_is_what_the_provider_saw():
    with Provider(varies=True) as provider:
        out = votes([f"text-{number % 11}" for number in range(40)], provider, meta=True)
        meta = out["llm_meta"].struct
        assert meta.field("attempts").sum() == provider.requests == llmframe.last_run().requests
        assert meta.field("output_tokens").sum() == llmframe.last_run().output_tokens


def test_votes_of_no_known_price_cost_an_unknown_sum_beside_kept_ones(tmp_path: Path):
    given: dict[str, Any] = {"cache": tmp_path / "s", "meta": True}
    with Provider(answer=scripted({"x": ["good"] * 4})) as provider:
        votes(["x"], provider, **given)
        # 3 of one mind are enough of 5, and of 7 it takes 4: the first three are kept
        more = votes(["x"], provider, samples=7, **given)["llm_meta"][0]
        assert (provider.requests, more["attempts"], more["usd"]) == (4, 1, None)
        kept = votes(["x"], provider, samples=7, **given)["llm_meta"][0]
        assert (kept["attempts"], kept["usd"]) == (0, 0.0)


def test_by_auto_only_rows_without_log_probabilities_are_put_to_the_vote():
    with Provider(probabilities={"good": 0.7, "bad": 0.2, "mixed": 0.1}) as provider:
        told = votes(["a", "b"], provider, confidence="auto")
        assert provider.requests == 2
        assert told["confidence_source"].to_list() == ["logprobs"] * 2
    with Provider(ignores=("logprobs",), answer=scripted({"a": ["good", "bad", "good", "good"]})) as provider:
        out = votes(["a"], provider, confidence="auto")
        assert provider.requests == 4
        assert out.row(0)[1:4] == ("good", 0.75, "votes")


@pytest.mark.parametrize("refused", ["logprobs", "top_logprobs"])
def test_by_auto_an_endpoint_that_refuses_them_is_asked_for_votes(refused: str):
    with Provider(refuses_params=(refused,), varies=True) as provider:
        out = votes([f"text-{number}" for number in range(20)], provider, confidence="auto")
    assert set(out["confidence_source"]) <= {"votes", "tie"}
    assert out["error"].null_count() == 20


def test_by_auto_without_chance_there_is_nothing_to_vote_on():
    with Provider(ignores=("logprobs",)) as provider:
        with pytest.warns(LlmframeWarning, match="no_logprobs"):
            out = votes(["a"], provider, confidence="auto", params={"temperature": 0})
        assert provider.requests == 1
    assert out["confidence_source"].to_list() == ["no_logprobs"]


def test_a_budget_ends_the_vote_and_the_next_run_goes_on(tmp_path: Path):
    texts = [f"text-{number}" for number in range(20)]
    with Provider(varies=True) as provider:
        with pytest.warns(LlmframeWarning, match="budget"):
            out = votes(texts, provider, cache=tmp_path / "s", budget={"calls": 30}, max_concurrency=1)
        assert provider.requests == 30
        unfinished = out["error"].drop_nulls()
        assert unfinished.len() > 0
        assert unfinished.str.starts_with("budget").all()
        whole = votes(texts, provider, cache=tmp_path / "s")
        assert whole["error"].null_count() == 20
        calm = votes(texts, provider, cache=tmp_path / "s")
        assert calm.equals(whole)
        samples = Counter(json.dumps(body["messages"]) for body in provider.bodies)
        assert max(samples.values()) <= 5


def test_a_sample_that_a_stop_left_unanswered_is_no_invalid_vote():
    with Provider(answer=scripted({"x": ["good"] * 6})) as provider:
        with pytest.warns(LlmframeWarning, match="1 budget"):
            out = votes(["x"], provider, samples=6, budget={"calls": 3}, max_concurrency=1)
        assert provider.requests == 3
    # 3 of 6 may still come to 3 against 3; they are settled only when one of the others is taken for invalid
    assert out["response"].to_list() == [None]
    assert out["error"][0].startswith("budget")


def interrupt(provider: Provider, *, in_flight: int) -> threading.Thread:
    """Ctrl-C as soon as so many requests are held."""
    main = threading.get_ident()

    def press() -> None:
        provider.wait_in_flight(in_flight)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def test_after_ctrl_c_rows_tell_what_all_of_their_samples_took():
    with Provider() as provider:
        provider.hold()
        thread = interrupt(provider, in_flight=6)
        with pytest.raises(KeyboardInterrupt) as caught:
            votes([f"text-{number}" for number in range(20)], provider, meta=True, max_concurrency=6)
        thread.join()
        attempts: Any = caught.value.frame["llm_meta"].struct.field("attempts")  # type: ignore[attr-defined]
        assert attempts.sum() == provider.requests == llmframe.last_run().requests == 6


def test_votes_for_rows_that_the_first_sample_has_not_reached_are_laid_to_no_other(tmp_path: Path):
    texts = ["a"] * 512 + ["b"] * 8  # rows are drawn 512 at a time
    with Provider(answer=scripted({"a": ["good"] * 9, "b": ["bad"] * 9}), ignores=("logprobs",)) as provider:
        options: dict[str, Any] = {"cache": tmp_path / "s", "max_concurrency": 1, "meta": True}
        votes(texts, provider, confidence="auto", **options)  # keeps samples 1 and 2 as votes ask them, and not the 0th
        before = provider.requests
        provider.hold()
        thread = interrupt(provider, in_flight=1)
        with pytest.raises(KeyboardInterrupt) as caught:
            votes(texts, provider, **options)
        thread.join()
        out: Any = caught.value.frame  # type: ignore[attr-defined]
        assert out["response"].null_count() == 520
        assert out["llm_meta"].struct.field("attempts").sum() == provider.requests - before == 1


def test_on_error_raise_names_the_row_that_has_no_vote():
    says = {"a": ["good"] * 5, "b": ["awful"] * 5}
    with Provider(answer=scripted(says)) as provider, pytest.raises(llmframe.RowError, match="row 1 failed: invalid"):
        votes(["a", "b"], provider, on_error="raise", reask=0)


@pytest.mark.parametrize("said", [{"response": "awful"}, Refusal("no")])
def test_on_error_raise_stops_by_auto_at_the_first_failed_row(said: object):
    with Provider(answer=lambda _prompt, _request: said) as provider:  # type: ignore[arg-type]
        texts = [f"text-{number}" for number in range(20)]
        with pytest.raises(llmframe.RowError, match=r"row 0 failed: (invalid|refusal)"):
            votes(texts, provider, confidence="auto", on_error="raise", reask=0, max_concurrency=1)
        assert provider.requests == 1


def test_pandas_lazy_queries_and_streams_vote_alike():
    says = {"a": ["good", "bad", "good", "good"], "b": ["bad"] * 3}
    expected = [("good", 0.75), ("bad", 1.0)]

    def told(frame: Any) -> list[tuple[object, object]]:
        return list(zip(list(frame["response"]), list(frame["confidence"]), strict=True))

    options = {"schema": Label, "cache": False, "progress": False, "confidence": "votes"}
    frame = pl.DataFrame({"text": ["a", "b"]})
    for run in (
        lambda provider: llmframe.map(frame.to_pandas(), "Judge {text}", client=provider, **options),
        lambda provider: llmframe.map(frame.lazy(), "Judge {text}", client=provider, **options).collect(),
        lambda provider: pl.concat(
            llmframe.stream(frame, "Judge {text}", client=provider, rows=1, ordered=True, **options)
        ),
        lambda provider: frame.llm.submit("Judge {text}", client=provider, **options).result(),
    ):
        with Provider(answer=scripted(says)) as provider:
            assert told(run(provider)) == expected
            assert provider.requests == 7


def test_files_vote_alike(tmp_path: Path):
    pd.DataFrame({"text": ["a", "b"]}).to_parquet(tmp_path / "in.parquet")
    with Provider(answer=scripted({"a": ["good", "bad", "good", "good"], "b": ["bad"] * 3})) as provider:
        llmframe.map_file(
            tmp_path / "in.parquet",
            tmp_path / "out.parquet",
            "Judge {text}",
            Label,
            client=provider,
            confidence="votes",
            cache=False,
            progress=False,
        )
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert out["confidence"].tolist() == [0.75, 1.0]
    assert out["confidence_source"].tolist() == ["votes", "votes"]


def test_by_auto_nothing_is_asked_live_beside_a_batch(tmp_path: Path):
    with Provider(ignores=("logprobs",)) as provider:
        with pytest.warns(LlmframeWarning, match="2 no_logprobs"):
            out = votes(["a", "b"], provider, confidence="auto", mode="batch", cache=tmp_path / "s", meta=True)
        assert provider.requests == 0
    assert out["confidence_source"].to_list() == ["no_logprobs"] * 2
    assert out["llm_meta"].struct.field("source").to_list() == ["batch"] * 2


def test_the_plan_says_between_how_many_requests_it_will_be():
    with Provider(varies=True) as provider:
        frame = pl.DataFrame({"text": [f"text-{number % 7}" for number in range(20)]})
        plan = llmframe.plan(frame, "Judge {text}", Label, client=provider, confidence="votes")
        assert provider.requests == 0
        votes(frame["text"].to_list(), provider)
        assert plan.requests >= provider.requests
        assert plan.requests == 7 * 5
        # a batch can't stop when votes are settled, and refuses them: nothing is said of one
        assert plan.batches is None
        assert "batch" not in repr(plan)
        auto = llmframe.plan(frame, "Judge {text}", Label, client=provider, confidence="auto")
        assert "batch" in repr(auto)


class Scripted:
    """Asks nobody: every request of its sample is answered alike, one after the other."""

    def __init__(self, plan: Plan, outcomes: list[Outcome | None], seen: Callable[[], None]) -> None:
        self._plan, self._outcomes, self._seen = plan, outcomes, seen

    async def work(self) -> None:
        for chunk in self._plan.draw():
            for planned in chunk:
                self._outcomes.append(Outcome(result=Answer('{"response": "good"}', ("good",))))
                self._plan.finish(planned.index)
                self._seen()

    def look(self) -> None: ...

    async def landed(self) -> None: ...

    async def kept(self) -> None: ...


def test_a_request_is_done_when_its_own_votes_settle_it():
    said = arguments("Judge {text}", Label, {"model": "m", "base_url": "http://localhost:1/v1", "confidence": "votes"})
    prepared = prepare(asking(said), wrap(pl.DataFrame({"text": ["a", "b", "a"]})), verb="map")
    plan, run = prepared.plan(), new_run(model="m", provider=None, rows=3)
    outcomes: list[Outcome | None] = []
    done: list[int] = []

    async def asker(_sample: int, plan_: Plan, votes: list[Outcome | None]) -> Scripted:
        return Scripted(plan_, votes, lambda: done.append(plan.rows_done))

    async def close() -> None: ...

    scoring = prepared.asking.schema.scoring
    assert scoring is not None
    poll = Poll(
        run,
        plan,
        outcomes,
        scoring=scoring,
        samples=5,
        plan_of=lambda sample, rows: prepared.plan(sample=sample, asked=rows),
        asker=asker,
        close=close,
    )
    asyncio.run(poll.work())
    # three samples of two requests, the first of which has two rows: nothing, nothing, then one by one
    assert done == [0, 0, 0, 0, 2, 3]
    assert all(outcome is not None and isinstance(outcome.result, Answer) for outcome in outcomes)
