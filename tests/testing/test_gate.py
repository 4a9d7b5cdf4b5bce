from __future__ import annotations

from collections.abc import Callable

from llmframe.testing.gate import Gate


def delivery(log: list[str], name: str, *, wanted: bool = True) -> Callable[[], bool]:
    def deliver() -> bool:
        if wanted:
            log.append(name)
        return wanted

    return deliver


def test_an_open_gate_lets_pass_at_once():
    log: list[str] = []
    Gate().passes(delivery(log, "a"))
    assert log == ["a"]


def test_a_shut_gate_keeps_the_order_until_it_opens():
    gate, log = Gate(), list[str]()
    gate.hold()
    for name in "abc":
        gate.passes(delivery(log, name))
    assert log == []
    gate.release(None)
    gate.passes(delivery(log, "d"))
    assert log == ["a", "b", "c", "d"]


def test_some_pass_and_the_gate_stays_shut():
    gate, log = Gate(), list[str]()
    gate.hold()
    for name in "abc":
        gate.passes(delivery(log, name))
    gate.release(2)
    gate.passes(delivery(log, "d"))
    assert log == ["a", "b"]


def test_deliveries_that_nobody_wants_any_more_do_not_count():
    gate, log = Gate(), list[str]()
    gate.hold()
    gate.passes(delivery(log, "gone", wanted=False))
    gate.passes(delivery(log, "a"))
    gate.release(1)
    assert log == ["a"]
