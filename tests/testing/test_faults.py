from __future__ import annotations

import random
from collections import Counter

import pytest

from llmframe.errors import UsageError
from llmframe.testing import Cut, Hang, Object, Provider, Status, StreamError, Text, ToolCalls
from llmframe.testing.faults import Faults

SHARES = {Status(500): 0.05, Hang(): 0.02, Cut(): 0.01, Text("no json"): 0.03}


def test_the_order_of_arrival_changes_no_draw():
    keys = [key for key in range(500) for _ in range(3)]  # each comes three times
    straight, shuffled = Faults(SHARES, seed=1), Faults(SHARES, seed=1)
    mixed = random.Random(7).sample(keys, len(keys))
    drawn = {(key, n): straight.draw(key) for key in range(500) for n in range(3)}
    again: Counter[int] = Counter()
    for key in mixed:
        assert shuffled.draw(key) == drawn[key, again[key]]
        again[key] += 1


def test_shares_are_kept_and_another_seed_draws_others():
    n = 20_000
    faults = Faults(SHARES, seed=1)
    first = [faults.draw(key) for key in range(n)]
    counts = Counter(first)
    # The spread of a count is at most √(n · p · (1 - p)) = 31; five of them.
    assert all(abs(counts[step] - share * n) < 5 * 31 for step, share in SHARES.items())
    other = Faults(SHARES, seed=2)
    assert [other.draw(key) for key in range(n)] != first
    faults.forget()
    assert [faults.draw(key) for key in range(n)] == first


def test_the_same_messages_may_fare_otherwise_the_next_time():
    faults = Faults({Status(500): 0.5}, seed=0)
    assert len({faults.draw(1) for _ in range(50)}) == 2


def test_a_share_of_one_is_always_and_none_is_never():
    assert Faults({Hang(): 1.0}, seed=0).draw(1) == Hang()
    assert Faults({Hang(): 0.0}, seed=0).draw(1) is None
    assert Faults({}, seed=0).draw(1) is None


def test_every_step_may_have_a_share():
    steps = [Status(429, headers={"x": "1"}), Object({"a": [1]}), ToolCalls([("a", {"b": 1})]), StreamError()]
    assert Faults(dict.fromkeys(steps, 0.25), seed=0).draw(1) in steps


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ({Hang(): 1.5}, r"Hang\(\) the share 1.5"),
        ({Hang(): -0.1}, r"shares lie in \[0, 1\]"),
        ({Hang(): 0.7, Cut(): 0.4}, "add up to 1.1"),
        ({"500": 0.1}, "'500', which is no step"),
    ],
)
def test_wrong_shares_are_told_when_the_provider_is_made(shares, told):
    with pytest.raises(UsageError, match=told):
        Provider(faults=shares)


def test_scripted_steps_go_first_and_every_step_is_counted(make_provider, http_kit):
    provider = make_provider(faults={Status(500): 1.0})
    provider.script(Text("scripted"))
    provider.when("row-2", Status(503))
    assert [http_kit.ask(provider, f"row-{i}").status for i in (1, 2, 3, 3)] == [200, 503, 500, 500]
    assert provider.faults == {Text("scripted"): 1, Status(503): 1, Status(500): 2}
    provider.reset()
    assert provider.faults == {}


def test_what_answer_returns_is_counted_as_a_step_only_when_it_is_one(make_provider, http_kit):
    given = {"a": "plain text", "b": {"label": "pos"}, "c": Status(500)}
    provider = make_provider(answer=lambda prompt, request: given.get(prompt))
    for prompt in ("a", "b", "c", "d"):
        http_kit.ask(provider, prompt)
    assert provider.faults == {Status(500): 1}
