"""What a cascade promises of rows: who answered each, what was asked of whom, and what is certified of it."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind

Label = Literal["good", "bad"]
Shares = Callable[[str], Mapping[str, float]]


def sure_of(text: str) -> Mapping[str, float]:
    """`good 0.9`: the cheap model's label and how sure of it."""
    label, sure = text.rpartition("of ")[2].split()
    return {label: float(sure), other(label): 1 - float(sure)}


def other(label: str) -> str:
    return "bad" if label == "good" else "good"


def always_bad(text: str) -> Mapping[str, float]:
    return {"bad": 0.8, "good": 0.2}


@dataclass(frozen=True)
class Two:
    """A cheap and a strong provider."""

    cheap: Provider
    strong: Provider

    @property
    def models(self) -> dict[str, dict[str, object]]:
        return {
            "cheap": {"model": "small", "client": self.cheap},
            "strong": {"model": "large", "client": self.strong},
        }

    @property
    def requests(self) -> tuple[int, int]:
        return self.cheap.requests, self.strong.requests


@contextmanager
def two(cheap: Shares = sure_of, strong: Shares = always_bad, **said: Any) -> Iterator[Two]:
    with Provider(probabilities=cheap, **said) as first, Provider(probabilities=strong) as second:
        yield Two(first, second)


GIVEN: dict[str, Any] = {"confidence": "logprobs", "cache": False, "progress": False, "into": "label"}


def by_hand(frame: Any, found: Two, **said: Any) -> Any:
    given = {**GIVEN, "threshold": 0.8, **said}
    return llmframe.cascade(frame, "Label of {t}", Label, found.models, **given)


def test_rows_below_the_threshold_are_asked_again_and_no_others(any_kind: Kind):
    texts = ["good 0.9", "good 0.7", "bad 0.8", "good 0.9", "good 0.7"]
    with two() as found:
        out = any_kind.to_dict(by_hand(any_kind.make({"t": texts}), found))
        assert found.requests == (3, 1)
    confidence = out.pop("confidence")
    assert confidence == pytest.approx([0.9, None, 0.8, 0.9, None])
    assert out == {
        "t": texts,
        "label": ["good", "bad", "bad", "good", "bad"],
        "confidence_source": ["logprobs", None, "logprobs", "logprobs", None],
        "tier": ["cheap", "strong", "cheap", "cheap", "strong"],
        "error": [None] * 5,
    }


def test_the_report_tells_rows_requests_and_errors_by_tier():
    frame = pd.DataFrame({"t": ["good 0.9", "good 0.7", "bad 0.9", "good 0.9"], "gold": ["good"] * 3 + [None]})
    with two() as found:
        by_hand(frame, found, gold="gold")
    told = llmframe.last_cascade()
    cheap, strong = told.tiers
    assert (cheap.name, cheap.asked, cheap.answered, cheap.requests) == ("cheap", 4, 3, 3)
    assert (strong.name, strong.asked, strong.answered, strong.requests) == ("strong", 1, 1, 1)
    # of two cheap answers with gold one is wrong, the strong one's is
    assert (cheap.error.value, cheap.error.n) == (0.5, 2)
    assert (strong.error.value, strong.error.n, told.error.n) == (1.0, 1, 3)
    assert not told.certified
    assert "cheap: the threshold 0.8 was said by hand, so nothing is certified." in repr(told)


def test_the_tier_has_an_enum_of_the_models(library: Kind):
    with two() as found:
        out = by_hand(library.make({"t": ["good 0.9"]}), found)
    dtypes = dict(zip(out.columns, library.dtypes(out), strict=True))
    assert dtypes["tier"] in ("category", "Enum(categories=['cheap', 'strong'])")
    assert dtypes["label"] in ("category", "Enum(categories=['good', 'bad'])")
    assert dtypes["confidence"].casefold() == "float64"


# --- certified ----------------------------------------------------------------------------------------------------


def judged(seed: int, rows: int) -> pd.DataFrame:
    """Texts that name the cheap model's label and confidence, which is right as often as it says, above 0.5."""
    draw = random.Random(seed)
    texts, gold = [], []
    for _ in range(rows):
        sure = round(1 - draw.random() ** 2 / 2, 3)
        label = draw.choice(["good", "bad"])
        texts.append(f"{label} {sure}")
        gold.append(label if draw.random() < sure else other(label))
    return pd.DataFrame({"t": texts, "truth": gold})


def test_a_threshold_is_certified_on_a_random_sample_and_holds_on_the_rest():
    frame = judged(3, 900)
    sample = set(random.Random(4).sample(range(900), 400))
    frame["gold"] = [truth if at in sample else None for at, truth in enumerate(frame["truth"])]
    right = dict(zip(frame["t"], frame["truth"], strict=True))
    with two(strong=lambda text: {right[text.rpartition("of ")[2]]: 1.0}) as found:
        out = llmframe.cascade(
            frame, "Label of {t}", Label, found.models, gold="gold", target_error=0.1, delta=0.1, **GIVEN
        )
        told = llmframe.last_cascade()
        cheap, strong = told.tiers
        stays = frame["t"].str.split().str[1].astype(float) >= cheap.threshold - 1e-9
        assert found.requests == (frame["t"].nunique(), frame["t"][~stays].nunique())
    assert (out["tier"] == "cheap").tolist() == stays.tolist()
    assert (cheap.requests, strong.requests) == found.requests
    assert cheap.certificate is not None
    assert cheap.certificate.holds
    assert (cheap.certificate.n, cheap.answered, strong.answered) == (400, stays.sum(), 900 - stays.sum())
    assert 0.3 < stays.mean() < 1
    wrong = (out["label"].astype(str) != frame["truth"])[stays]
    assert wrong.mean() <= 0.1
    assert told.certified
    assert "with 90 % confidence" in repr(told)
    assert "This holds if the 400 rows with gold are a random sample of all rows" in repr(told)


def test_where_nothing_is_certified_all_rows_go_on_and_it_is_said():
    frame = pd.DataFrame({"t": [f"good 0.{800 + at}" for at in range(60)], "gold": ["good", "bad"] * 30})
    with two() as found:
        with pytest.warns(LlmframeWarning, match="all rows of 'cheap' go on to 'strong'. No threshold is certified"):
            out = llmframe.cascade(frame, "Label of {t}", Label, found.models, gold="gold", **GIVEN)
        assert found.requests == (60, 60)
    assert set(out["tier"]) == {"strong"}
    told = llmframe.last_cascade()
    assert not told.certified
    assert told.tiers[0].answered == 0
    assert "So all its rows went on to 'strong'." in repr(told)


def test_three_tiers_have_gold_and_delta_of_their_own():
    frame = judged(5, 700)
    frame["gold"] = frame["truth"]
    with two() as found, Provider(probabilities=always_bad) as best:
        models = {**found.models, "best": {"model": "best", "client": best}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LlmframeWarning)  # the second one is wrong about every second row
            out = llmframe.cascade(frame, "Label of {t}", Label, models, gold="gold", target_error=0.15, **GIVEN)
    told = llmframe.last_cascade()
    first, second, third = told.tiers
    assert (first.certificate.n, first.certificate.delta) == (350, 0.05)
    assert second.certificate.n == 350 - sum(tier == "cheap" for tier in out["tier"][second_half(frame)])
    assert (second.asked, third.asked) == (700 - first.answered, 700 - first.answered)
    assert set(out["tier"]) == {"cheap", "best"}


def second_half(frame: pd.DataFrame) -> list[int]:
    from llmframe.frames import wrap
    from llmframe.judge.thresholds import Gold

    return [at for at, part in enumerate(Gold.of(wrap(frame), "gold", tiers=2).parts) if part == 1]


# --- failures -----------------------------------------------------------------------------------------------------


def test_what_the_first_model_fails_at_the_next_is_asked():
    with two() as found:
        found.cheap.when("unlucky", Status(400))
        frame = pd.DataFrame({"t": ["good 0.9", "good unlucky"]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LlmframeWarning)
            out = by_hand(frame, found, max_attempts=1)
        assert found.requests == (2, 1)
    assert out["label"].tolist() == ["good", "bad"]
    assert out["error"].isna().all()


def test_a_row_with_a_null_is_asked_of_nobody(library: Kind):
    with two() as found:
        with pytest.warns(LlmframeWarning, match="1 of 2 rows failed: 1 null"):
            out = library.to_dict(by_hand(library.make({"t": ["good 0.7", None]}), found))
        assert found.requests == (1, 1)
    assert out["tier"] == ["strong", None]
    assert out["error"] == [None, "null: missing value in 't'"]


def test_what_the_last_model_fails_at_has_no_label():
    with two() as found:
        found.strong.always(Status(400))
        with pytest.warns(LlmframeWarning, match="failed"):
            out = by_hand(pd.DataFrame({"t": ["good 0.7"]}), found, max_attempts=1)
    assert out["label"].isna().all()
    assert out["tier"].tolist() == ["strong"]
    assert out["error"][0].startswith("bad_request")
    assert (llmframe.last_cascade().tiers[1].answered, llmframe.last_cascade().tiers[1].failed) == (0, 1)


def test_a_wrong_key_isn_t_paid_for_with_the_strong_model():
    with two() as found:
        found.cheap.always(Status(401))
        with pytest.warns(LlmframeWarning, match="auth"):
            out = by_hand(pd.DataFrame({"t": ["good 0.9", "good 0.7"]}), found)
        assert found.strong.requests == 0
    assert [error.partition(":")[0] for error in out["error"]] == ["auth", "auth"]
    assert out["tier"].tolist() == ["cheap", "cheap"]


# --- with other options -------------------------------------------------------------------------------------------


def test_rows_outside_where_are_asked_of_nobody():
    frame = pd.DataFrame({"t": ["good 0.7", "good 0.6", "good 0.9"]})
    with two() as found:
        out = by_hand(frame, found, where=[True, False, True])
        assert found.requests == (2, 1)
    assert out["tier"].tolist()[::2] == ["strong", "cheap"]
    assert out.loc[1, ["label", "tier", "error"]].isna().all()


def test_gold_that_where_leaves_unasked_is_told_before_anything_is_paid(any_kind: Kind):
    texts = [f"good 0.9{number}" for number in range(120)]
    frame = any_kind.make({"t": texts, "gold": ["good", None] * 60})
    said = {"gold": "gold", "threshold": None}
    with two() as found:
        with pytest.raises(
            UsageError, match="takes 45 or more known answers of rows that are asked, and `where` leaves"
        ):
            by_hand(frame, found, where=[False, True] * 60, **said)
        assert found.requests == (0, 0)
        by_hand(frame, found, where=[True] * 100 + [False] * 20, **said)
        assert found.requests[0] == 100
    assert llmframe.last_cascade().gold_rows == 50


def test_gold_that_was_picked_with_unequal_probabilities_certifies_nothing(any_kind: Kind):
    texts = [f"good 0.9{number}" for number in range(120)]
    chances: list[float | None] = [0.5, 0.9, None] * 40
    frame = any_kind.make({"t": texts, "gold": ["good", "good", None] * 40, "review_probability": chances})
    with two() as found:
        with pytest.raises(UsageError, match="`pick_for_review` picked these with unequal probabilities"):
            by_hand(frame, found, gold="gold", threshold=None)
        assert found.requests == (0, 0)
        by_hand(frame, found, gold="gold")  # by a threshold that was said nothing is certified


def test_no_row_to_ask_needs_no_gold(any_kind: Kind):
    frame = any_kind.make({"t": ["good 0.9"], "gold": [None]})
    said = {"gold": "gold", "threshold": None}
    with two() as found, warnings.catch_warnings():
        warnings.simplefilter("error")
        out = any_kind.to_dict(by_hand(frame, found, where=[False], **said))
        assert found.requests == (0, 0)
    assert (out["label"], out["tier"]) == ([None], [None])


def test_a_plan_has_a_least_and_a_most_and_sends_nothing():
    frame = pd.DataFrame({"t": ["good 0.9", "good 0.7", "good 0.7"]})
    with two() as found:
        plan = by_hand(frame, found, plan=True)
        assert found.requests == (0, 0)
    assert (plan.least, plan.requests, plan.model) == (2, 4, "small, large")
    assert "2 to 4 to send, 0 answered already; rows that an earlier tier is sure of end there" in repr(plan)


def test_what_each_tier_took_is_its_own():
    prices = {"small": {"input": 1, "output": 1}, "large": {"input": 10, "output": 10}}
    frame = pd.DataFrame({"t": ["good 0.9", "good 0.7", "good 0.7"]})
    with two() as found:
        out = by_hand(frame, found, prices=prices, meta=True)
    cheap, strong = llmframe.last_cascade().tiers
    for tier, name in ((cheap, "cheap_llm_meta"), (strong, "strong_llm_meta")):
        assert tier.usd == pytest.approx(sum(cell["usd"] for cell in out[name] if isinstance(cell, dict)))
        assert tier.usd > 0
    assert strong.usd / strong.requests == pytest.approx(10 * cheap.usd / cheap.requests, rel=0.2)
    assert llmframe.last_cascade().usd == pytest.approx(cheap.usd + strong.usd)
    assert llmframe.last_cascade().usd_alone == pytest.approx(strong.usd / 2 * 3)


def test_what_the_last_model_alone_would_take_is_no_less_after_a_budget_and_after_a_rerun(tmp_path: Path):
    said = {"prices": {"large": {"input": 10, "output": 10}, "small": {"input": 0, "output": 0}}}
    said |= {"cache": tmp_path / "answers.db"}
    frame = pd.DataFrame({"t": [f"good 0.7{number}" for number in range(20)]})
    told: list[float | None] = []
    with two() as found:
        for budget in ({"calls": 25}, None):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LlmframeWarning)  # of the rows that the budget leaves
                by_hand(frame, found, budget=budget, **said)
            told.append(llmframe.last_cascade().usd_alone)
        assert found.requests == (20, 20)
        by_hand(frame, found, **{**said, "cache": "refresh"})
    assert told == pytest.approx([llmframe.last_cascade().usd_alone] * 2)


def test_votes_are_asked_of_the_first_model_only():
    with two() as found:
        out = by_hand(pd.DataFrame({"t": ["good 0.7"]}), found, confidence="votes", samples=3, threshold=1.0)
        assert found.requests == (2, 0)
    assert out["tier"].tolist() == ["cheap"]
    assert llmframe.last_cascade().tiers[0].requests == 2


def test_a_second_run_replaces_the_first_ones_columns():
    with two() as found:
        once = by_hand(pd.DataFrame({"t": ["good 0.9", "good 0.7"]}), found)
        with pytest.raises(UsageError, match=r"already has columns 'label', 'confidence', .*'tier', 'error'"):
            by_hand(once, found)
        again = by_hand(once, found, overwrite=True, threshold=0.95)
    assert list(again.columns) == list(once.columns)
    assert again["tier"].tolist() == ["strong", "strong"]


def test_answers_are_kept_and_nothing_is_paid_twice(tmp_path: Any):
    frame = pd.DataFrame({"t": ["good 0.9", "good 0.7"]})
    with two() as found:
        for _ in range(2):
            by_hand(frame, found, cache=tmp_path / "answers.sqlite")
        assert found.requests == (2, 1)
    assert [tier.requests for tier in llmframe.last_cascade().tiers] == [0, 0]


def test_a_lazy_query_takes_a_threshold_by_hand():
    frame = pl.LazyFrame({"t": ["good 0.9", "good 0.7"]})
    with two() as found:
        lazy = by_hand(frame, found)
        assert isinstance(lazy, pl.LazyFrame)
        out = lazy.collect()
        assert found.requests == (2, 1)
        with pytest.raises(UsageError, match=r"`\.collect\(\)` first, or say one by hand"):
            by_hand(frame, found, threshold=None, gold="gold")
    assert out["tier"].to_list() == ["cheap", "strong"]


def test_a_list_without_rows_stays_one():
    with two() as found:
        assert by_hand([], found) == []
        assert len(by_hand(pd.DataFrame({"t": pd.Series([], dtype=str)}), found)) == 0


async def test_the_async_twin_does_the_same():
    with two() as found:
        given = {**GIVEN, "threshold": 0.8}
        frame = pd.DataFrame({"t": ["good 0.9", "good 0.7"]})
        out = await frame.llm.acascade("Label of {t}", Label, found.models, **given)
        assert found.requests == (2, 1)
    assert out["tier"].tolist() == ["cheap", "strong"]
