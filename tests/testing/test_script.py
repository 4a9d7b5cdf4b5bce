from __future__ import annotations

from llmframe.testing import Status, Text
from llmframe.testing.script import Script

A, B, C = Text("a"), Text("b"), Text("c")


def test_queued_steps_go_one_a_request_in_order():
    script = Script()
    script.add((A, B))
    assert [script.take("x") for _ in range(3)] == [A, B, None]


def test_a_rule_takes_its_steps_in_turn_for_matching_prompts_only():
    script = Script()
    script.add_rule("bad", (A, B), times=None, per_prompt=False)
    assert [script.take(prompt) for prompt in ("bad 1", "good", "bad 2", "bad 3")] == [A, None, B, A]


def test_a_rule_may_be_a_function_of_the_prompt():
    script = Script()
    script.add_rule(lambda prompt: len(prompt) > 3, (A,), times=None, per_prompt=False)
    assert [script.take("abc"), script.take("abcd")] == [None, A]


def test_times_counts_all_matching_requests_or_those_of_each_prompt():
    over_all, of_each = Script(), Script()
    over_all.add_rule("row", (A,), times=2, per_prompt=False)
    of_each.add_rule("row", (A,), times=1, per_prompt=True)
    prompts = ["row-1", "row-1", "row-2", "row-2"]
    assert [over_all.take(prompt) for prompt in prompts] == [A, A, None, None]
    assert [of_each.take(prompt) for prompt in prompts] == [A, None, A, None]


def test_the_queue_comes_before_rules_and_rules_before_the_standing_step():
    script = Script()
    script.stand(C)
    script.add_rule("x", (B,), times=1, per_prompt=False)
    script.add((A,))
    assert [script.take("x") for _ in range(4)] == [A, B, C, C]
    script.stand(None)
    assert script.take("x") is None


def test_an_exhausted_rule_gives_way_to_the_next():
    script = Script()
    script.add_rule("x", (A,), times=1, per_prompt=False)
    script.add_rule("x", (B,), times=None, per_prompt=False)
    assert [script.take("x") for _ in range(3)] == [A, B, B]


def test_steps_are_values():
    assert Status(429, retry_after=2) == Status(429, retry_after=2)
