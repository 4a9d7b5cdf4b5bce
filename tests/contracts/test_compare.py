"""Two runs of map compared, from any library each."""

from __future__ import annotations

import json
from typing import Literal

import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.judge.compare import compare_runs
from llmframe.testing import Provider
from tests.contracts.kinds import ALL_KINDS, KINDS, Kind

Label = Literal["pos", "neg"]
TEXTS = [f"text {number}" for number in range(12)]
GOLD = ["pos"] * 8 + ["neg"] * 4


def opinion(message: str) -> dict[str, float]:
    """The first prompt takes all for negative, the second the first eight for positive."""
    number = int(message.rsplit(" ", 1)[1])
    sure = 0.9 if message.startswith("Second") and number < 8 else 0.2
    return {"pos": sure, "neg": 1 - sure}


def asked(kind: Kind, prompt: str, provider: Provider, **options):
    frame = kind.make({"text": TEXTS, "gold": GOLD})
    options = {"cache": False, "meta": True, "confidence": "logprobs"} | options
    return llmframe.map(frame, prompt + " {text}", schema=Label, client=provider, into="label", **options)


@pytest.mark.parametrize("other", [KINDS[0], ALL_KINDS[-1]], ids=lambda kind: kind.name)
def test_runs_are_compared_across_libraries(other: Kind, library: Kind):
    with Provider(probabilities=opinion) as provider:
        first, second = asked(library, "First", provider), asked(other, "Second", provider)
    found = compare_runs(first, second, gold="gold")
    [column] = found.columns
    assert (column.name, column.both, column.flips, column.rows) == ("label", 12, 8, tuple(range(8)))
    # eight flips one way: 2 / 2**8
    assert column.shift.p == column.gold.mcnemar_p == pytest.approx(2 / 256)
    assert (column.gold.a, column.gold.b) == (pytest.approx(4 / 12), 1.0)
    # .8 becomes .9 in eight rows, .8 stays in four
    assert column.confidence.mean == pytest.approx(0.1 * 8 / 12, abs=1e-6)
    assert "b is better on gold" in found.verdict
    assert (found.spending_a.asked, found.spending_a.cached, found.latency.n) == (12, 0, 12)
    assert json.loads(found.to_json())["columns"][0]["flips"] == 8
    assert library.to_dict(found.flipped(first))["text"] == TEXTS[:8]


def test_a_second_run_from_the_cache_is_told_apart(library: Kind, tmp_path):
    with Provider(probabilities=opinion) as provider:
        store = {"cache": tmp_path / "answers"}
        first, second = asked(library, "First", provider, **store), asked(library, "First", provider, **store)
    found = compare_runs(first, second)
    assert (found.spending_b.asked, found.spending_b.cached, found.usd_difference) == (0, 12, None)
    assert found["label"].flips == 0
    assert found.latency.n == 0


def test_runs_over_other_rows_are_refused(library: Kind):
    with Provider(probabilities=opinion) as provider:
        first = asked(library, "First", provider)
        other = library.make({"text": ["text 99", *TEXTS[1:]], "gold": GOLD})
        second = llmframe.map(other, "First {text}", schema=Label, client=provider, into="label", cache=False)
    with pytest.raises(UsageError, match="column 'text' differs in row 0"):
        compare_runs(first, second, on="label")
